"""One day in a lab on the embedded cloud, with the actions from which scenarios are built.

This file waits in virtual time and observes from outside. People act as on AWS: with the command line, or with AWS and
a person's key. The scenarios and local/demo/laws.py judge.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import period_of
from local.background_task import BackgroundTask
from local.cloud import Cloud
from local.demo import laws
from local.demo.observations import NodeReader, Outside, Pool, Sample
from tests.scenarios.account import Account
from tests.scenarios.command_line.commands import commands
from tests.steady.hang import HANG_SECONDS

Done = TypeVar("Done")
LOOK_EVERY = timedelta(seconds=30)
#: While only sweeps run.
IDLE_LOOK = timedelta(minutes=3)
#: Steps that only wait.
IDLE = {"WaitForCapacity"}
WORKFLOWS = ("open", "close", "extend")


@dataclass(frozen=True)
class Said:
    code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.stdout)
        return found

    @property
    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.stdout)
        return found


class LabDay:
    """A running cloud with its lab, of which one pool is looked at. `samples` are all samples so far, taken while
    waiting.
    """

    def __init__(self, cloud: Cloud, pool: str = "gpu") -> None:
        self.cloud = cloud
        self.clock = cloud.clock
        self.lab = cloud.lab
        self._environment = cloud.played()
        account = Account(cloud)
        self.api = account.api
        self.pool = Pool(pool, self.lab.cluster_name, self.lab.nodegroup_name(pool), self.lab.name)
        self.ledger = Ledger(f"{self.lab.name}-ledger", self.api("dynamodb"))
        nodes = NodeReader(cloud.control_plane.admin())
        self._outside = Outside(account.session, account.endpoint, self.ledger, nodes)
        self.samples: list[Sample] = []

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def _pause(self, busy: timedelta) -> timedelta:
        """The time until the next sample; `busy` if a workflow is running."""
        return IDLE_LOOK if {*self._running().values()} <= IDLE else busy

    # what people do

    def command(self, *words: str, **environment: str) -> Said:
        """The command line, as a program of its own. Time passes only while it waits.

        It has the credentials of the account, unless the environment names others.
        """
        done = commands().run(words, {**os.environ, **self._environment, **environment})
        return Said(done.returncode, done.stdout, done.stderr)

    def program(self, *words: str, **environment: str) -> Said:
        """Any program of the played lab, as `command`."""
        done = subprocess.run(
            words,
            env={**os.environ, **self._environment, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_SECONDS,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def doctor(self) -> dict[str, Any]:
        """The monthly visit of the doctor's function, with its own rights."""
        request = {"FunctionName": f"{self.cloud.lab.name}-doctor", "Payload": b"{}"}
        reply = self.cloud.aws.around.call("lambda", "invoke", request)
        assert "FunctionError" not in reply, self.cloud.logs(f"{self.cloud.lab.name}-doctor")
        visit: dict[str, Any] = json.loads(reply["Payload"].read())
        return visit

    def beside(self, work: Callable[[], Done]) -> BackgroundTask[Done]:
        """Runs something while people do something else."""
        return BackgroundTask(self.clock, "beside", work)

    def open(self, nodes: int, length: str, *more: str) -> Lease:
        """Opens a lease by the command line; it must be granted."""
        said = self.command("open", self.pool.name, str(nodes), "for", length, "--json", *more)
        assert said.code == 0, said
        return self.lease(str(said.document["lease"]["id"]))

    # what is there

    def lease(self, name: str) -> Lease:
        found = self.ledger.lease(self.pool.name, name)
        assert found is not None, f"the ledger has no lease {name}"
        return found

    def look(self) -> Sample:
        """Reads everything from outside, at one virtual instant, and keeps it among the samples."""
        now = self.now
        guard = self.lab.guard.budget
        period = period_of(now, guard.period, ZoneInfo(self.lab.time_zone))
        used = self.ledger.budget(period.key, guard.currency).used
        sample = self._outside.look(self.pool, now, str(used.rounded()))
        self.samples.append(sample)
        return sample

    def live(self) -> tuple[str, ...]:
        """Instances of the pool that EC2 still has."""
        return self.look().instances

    def code(self) -> str:
        """The code version that the leases function runs."""
        found = self.api("lambda").get_function(FunctionName=f"{self.lab.name}-leases")
        return str(
            found["Code"]["Location"] if "Location" in found["Code"] else found["Configuration"]["CodeSha256"]
        )

    def running(self) -> list[str]:
        """Executions that have not ended, of existing workflows: a destroy deletes one after the other."""
        return list(self._running())

    def _running(self) -> dict[str, str]:
        # Not over HTTP: a call for each workflow at each look would take longer than the look itself.
        return self.cloud.aws.moto_additions.running()

    def entries(self, since: datetime, kind: str | None = None) -> list[Entry]:
        found = self.ledger.audit(self.pool.name, since)
        return [entry for entry in found if kind is None or entry.kind == kind]

    def receipt(self, lease: str) -> dict[str, Any]:
        """The receipt of a lease; there must be exactly one.

        The last step of a workflow writes it, some time after the lease is closed.
        """
        self.until(
            f"there is a receipt of {lease}", lambda _: bool(self._receipts(lease)), timedelta(hours=1)
        )
        found = self._receipts(lease)
        assert len(found) == 1, f"{len(found)} receipts of {lease}"
        return found[0]

    def _receipts(self, lease: str) -> list[dict[str, Any]]:
        return [receipt for receipt in self.ledger.receipts(self.pool.name) if receipt["lease"] == lease]

    # time

    def until(
        self,
        what: str,
        condition: Callable[[Sample], bool],
        within: timedelta,
        every: timedelta = LOOK_EVERY,
    ) -> Sample:
        """Lets time pass until a sample fulfils the condition; an hour without events takes a moment.

        The condition is checked at the instant of the sample.
        """
        deadline = self.now + within
        while True:
            sample = self.look()
            if condition(sample):
                return sample
            assert sample.at < deadline, f"{what}: not within {within}\n{self.story(sample)}"
            self.clock.sleep(self._pause(every).total_seconds())

    def until_state(self, lease: str, *states: LeaseState, within: timedelta = timedelta(hours=1)) -> Lease:
        """Waits until a lease is in one of the states. Later writes of the workflow may still follow."""
        names = " or ".join(states)
        self.until(f"{lease} is {names}", lambda _: self.lease(lease).state in states, within)
        return self.lease(lease)

    def until_quiet(self, within: timedelta = timedelta(hours=1)) -> Sample:
        """Waits until no node exists, none is ordered and no workflow runs. Returns the last sample."""

        def quiet(sample: Sample) -> bool:
            return not (sample.instances or sample.desired or sample.kubernetes_nodes or self.running())

        self.until("zero nodes and no workflow running", quiet, within)
        return self.look()

    def until_updated(self) -> Sample:
        """Waits until EKS has no running update of the node group, because EKS accepts no other one during it."""
        eks, whose = self.api("eks"), {"name": self.pool.cluster, "nodegroupName": self.pool.nodegroup}

        def idle(_: Sample) -> bool:
            found = (
                eks.describe_update(**whose, updateId=each) for each in eks.list_updates(**whose)["updateIds"]
            )
            return all(each["update"]["status"] != "InProgress" for each in found)

        return self.until("EKS is done", idle, timedelta(minutes=30))

    def pass_until(self, instant: datetime) -> None:
        """Lets idle time pass: only sweeps and the planner run in it."""
        self.clock.sleep_until(instant.timestamp())

    # judging

    def verdicts(self, since: datetime, *only: int) -> Mapping[int, laws.LawVerdict]:
        """The laws, judged by the samples since an instant."""
        samples = [sample for sample in self.samples if sample.at >= since]
        judged = laws.judge(
            laws.Day(
                samples=samples,
                interval=_longest(samples),
                entries=self.entries(since),
                receipts=[r for r in self.ledger.receipts(self.pool.name) if _closed(r) >= since],
                budget=Decimal(self.lab.guard.budget.amount),
            )
        )
        unleased = any(sample.instances and not sample.justified() for sample in samples)
        # A node that disappeared between two samples at the end of its lease is no unanswered breach.
        seen = {verdict.law: verdict for verdict in judged if verdict.law != 1 or unleased}
        return {law: verdict for law, verdict in seen.items() if law in only}

    def story(self, sample: Sample) -> str:
        """Details for a failed test: the last sample, the trail, running steps and failed executions."""
        trail = self.entries(sample.at - timedelta(hours=2))[-60:]
        there = f"instances {sample.instances}, desired {sample.desired}, nodes {sample.kubernetes_nodes}"
        lines = [f"{sample.at:%H:%M:%S} {there}"]
        lines += [f"  lease {lease.id} {lease.state} until {lease.closes:%H:%M}" for lease in sample.leases]
        lines += [f"  {entry.at:%H:%M:%S} {entry.kind} {entry.what}: {entry.why}" for entry in trail]
        lines += [f"  running {arn.split(':', 6)[-1]}" for arn in self.running()]
        return "\n".join(lines)

    @contextmanager
    def faults(self) -> Iterator[Any]:
        """Breaks something outside, and repairs it afterwards."""
        faults = self.cloud.aws.moto_additions.faults
        try:
            yield faults
        finally:
            faults.clear()


def lost(samples: Sequence[Sample], instances: Sequence[str]) -> list[str]:
    """The instances that were missing in any of the samples."""
    return [name for name in instances if any(name not in sample.instances for sample in samples)]


def _longest(samples: Sequence[Sample]) -> timedelta:
    """The longest time between two samples with unleased nodes: an observed time may be too long by this much."""
    unleased = [pair for pair in pairwise(samples) if pair[0].instances and not pair[0].justified()]
    return max([IDLE_LOOK, *(after.at - before.at for before, after in unleased)])


def _closed(receipt: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(str(receipt["closed"]))
