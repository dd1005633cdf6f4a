"""Everything that the demo reads at one instant of a run: the pool, the audit trail, the running workflows."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.money.money import period_of
from local.cloud import Cloud
from local.demo.observations import Outside, Pool, Sample

#: Steps of a workflow that only wait.
IDLE = frozenset({"WaitForCapacity"})


class DayReading:
    """`since` is the instant from which entries of the audit trail are new."""

    def __init__(
        self,
        *,
        cloud: Cloud,
        outside: Outside,
        ledger: Ledger,
        pool: Pool,
        stepfunctions: Any,
        since: datetime,
    ) -> None:
        self._cloud, self._outside, self._ledger, self._pool = cloud, outside, ledger, pool
        self._stepfunctions, self._heard = stepfunctions, since
        self._known: set[tuple[object, ...]] = set()

    def sample(self) -> Sample:
        now = self._cloud.clock.now()
        guard = self._cloud.lab.guard.budget
        period = period_of(now, guard.period, ZoneInfo(self._cloud.lab.time_zone))
        used = self._ledger.budget(period.key, guard.currency).used
        return self._outside.look(self._pool, now, str(used.rounded()))

    def news(self) -> list[Entry]:
        """The entries of the audit trail that are new since the last call."""
        found = self._outside.entries(self._pool.name, self._heard)
        fresh = [entry for entry in found if _key(entry) not in self._known]
        self._known |= {_key(entry) for entry in fresh}
        return fresh

    def idle(self) -> bool:
        """Whether no workflow of the lab does any work."""
        return {step for _, step in self._under_way()} <= IDLE

    def running(self) -> bool:
        """Whether a workflow of the lab has not ended."""
        return bool(self._executions())

    def steps(self) -> str:
        return " · ".join(f"{workflow}: {step}" for workflow, step in self._under_way())

    def _under_way(self) -> list[tuple[str, str]]:
        return [(arn.split(":")[-2].rsplit("-", 1)[-1], self._step(arn)) for arn in self._executions()]

    def _executions(self) -> list[str]:
        machines = self._stepfunctions.list_state_machines()["stateMachines"]
        return [
            str(execution["executionArn"])
            for machine in machines
            for execution in self._stepfunctions.list_executions(
                stateMachineArn=machine["stateMachineArn"], statusFilter="RUNNING"
            )["executions"]
        ]

    def _step(self, arn: str) -> str:
        history = self._stepfunctions.get_execution_history(
            executionArn=arn, reverseOrder=True, maxResults=20
        )["events"]
        entered = (event.get("stateEnteredEventDetails", {}).get("name") for event in history)
        return str(next((name for name in entered if name), "starting"))


def _key(entry: Entry) -> tuple[object, ...]:
    return entry.at, entry.kind, entry.who, entry.what, entry.lease
