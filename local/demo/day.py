"""Plays the day of day.yaml: starts the embedded cloud, lets the clock run, acts, watches, and judges.

Owns the order of it all; the acts are script.py's, seeing is observations.py's, judging laws.py's.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import boto3

from lamplighter.adapters.aws.ledger import Ledger
from lamplighter.domain.audit import TIMELINE, Entry
from lamplighter.domain.instant import written
from lamplighter.domain.money import period_of
from local.cloud import Cloud
from local.demo import laws
from local.demo.observations import NodeReader, Outside, Pool, Sample
from local.demo.script import Act, Answers, Doors, acts
from local.demo.view import Line, Now, View
from local.endpoints import Endpoints

DAY_LAB = Path(__file__).with_name("day.yaml")
START = datetime(2026, 12, 1, 10, 52, tzinfo=UTC)  # Tuesday 19:52 in Seoul
OPENS = datetime(2026, 12, 1, 11, 0, tzinfo=UTC)
CLOSES = datetime(2026, 12, 1, 11, 45, tzinfo=UTC)
LOOK_EVERY = timedelta(seconds=30)
END_AFTER_BREACH = timedelta(minutes=40)


@dataclass
class Watch:
    """What was seen so far, shared between the watching thread and the acting one."""

    samples: list[Sample] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    failure: Exception | None = None


class Day:
    """One run; `begun` is time.monotonic() at the verb's start, for elapsed_seconds."""

    def __init__(self, view: View, rate: float, begun: float) -> None:
        self._view, self._rate, self._begun = view, rate, begun
        self._watch = Watch()
        self._answers = Answers()
        self._done = threading.Event()

    def play(self) -> dict[str, Any]:
        """The whole day; returns the contract's report."""
        with Cloud(DAY_LAB, rate=self._rate, start=START, progress=self._view.progress) as cloud:
            endpoints = cloud.up()
            return self._play(cloud, endpoints)

    def _play(self, cloud: Cloud, endpoints: Endpoints) -> dict[str, Any]:
        session = boto3.session.Session(
            aws_access_key_id=endpoints.access_key_id,
            aws_secret_access_key=endpoints.secret_access_key,
            region_name=endpoints.region,
        )

        def api(service: str) -> Any:
            return session.client(service, endpoint_url=endpoints.endpoint)  # type: ignore[call-overload]

        stacks = api("cloudformation").describe_stacks(StackName=f"{cloud.lab.name}-controller")["Stacks"]
        outputs = {output["OutputKey"]: output["OutputValue"] for output in stacks[0]["Outputs"]}
        pool = Pool("gpu", cloud.lab.cluster_name, cloud.lab.nodegroup_name("gpu"), cloud.lab.name)
        ledger = Ledger(outputs["LedgerTable"], api("dynamodb"))
        outside = Outside(session, endpoints.endpoint, ledger, NodeReader(cloud.control_plane.admin()))
        sfn = api("stepfunctions")
        doors = Doors(endpoints.environment(), api("eks"), sfn, outputs["OpenLabArn"])
        machines = [outputs[name] for name in ("OpenLabArn", "CloseLabArn", "ExtendLeaseArn")]
        look = _Look(cloud=cloud, outside=outside, ledger=ledger, pool=pool, sfn=sfn, machines=machines)
        with self._watching(cloud, look):
            for act in acts(OPENS, CLOSES, pool, doors, self._answers):
                cloud.clock.sleep_until(act.at.timestamp())
                self._do(act)
            self._await_zero(cloud, look)
        self._look(look)  # what the last workflow left, seen after its end
        stale = self._stale_answer(sfn)
        return self._report(ledger, pool, cloud.lab.guard.budget.amount, stale)

    def _do(self, act: Act) -> None:
        self._view.line(Line(act.at, act.kind, act.who, act.what))
        act.do()

    @contextmanager
    def _watching(self, cloud: Cloud, look: "_Look") -> Iterator[None]:
        watcher = threading.Thread(
            target=self._watch_until_done, args=(cloud, look), name="demo-watch", daemon=True
        )
        watcher.start()
        try:
            yield
        finally:
            self._done.set()
            cloud.clock.hurry(False)
            watcher.join()
        if self._watch.failure:
            raise self._watch.failure

    def _watch_until_done(self, cloud: Cloud, look: "_Look") -> None:
        try:
            while not self._done.is_set():
                with cloud.clock.busy():
                    self._look(look)
                cloud.clock.hurry(not look.running())
                cloud.clock.sleep(LOOK_EVERY.total_seconds())
        except Exception as error:  # noqa: BLE001 - handed to the acting thread, which raises it
            self._watch.failure = error

    def _look(self, look: "_Look") -> None:
        sample = look.sample()
        self._watch.samples.append(sample)
        for entry in look.news():
            self._watch.entries.append(entry)
            self._view.line(Line(entry.at, entry.kind, entry.who, entry.what))
        in_force = [lease for lease in sample.leases if lease.in_force(sample.at)]
        self._view.now(
            Now(
                at=sample.at,
                instances=len(sample.instances),
                justified=sample.justified(),
                until=max((lease.closes for lease in in_force), default=None),
                owners=", ".join(dict.fromkeys(lease.owner for lease in in_force)),
                steps=look.steps(),
                failsafe=min(sample.failsafe, default=None),
            )
        )

    def _await_zero(self, cloud: Cloud, look: "_Look") -> None:
        """Until the breach is answered: nodes were seen, are gone, and no workflow runs any more."""
        breach = cloud.clock.now()
        end = (breach + END_AFTER_BREACH).timestamp()

        def answered() -> bool:
            after = [sample for sample in self._watch.samples if sample.at > breach]
            seen = any(sample.instances for sample in after)
            return bool(self._watch.failure) or (
                seen and not after[-1].instances and not after[-1].desired and not look.running()
            )

        while not answered() and cloud.clock.time() < end:
            cloud.clock.sleep(LOOK_EVERY.total_seconds())

    def _stale_answer(self, sfn: Any) -> str | None:
        if self._answers.stale_execution is None:
            return None
        done = sfn.describe_execution(executionArn=self._answers.stale_execution)
        found: Mapping[str, Any] = json.loads(done.get("output") or "{}").get("results", {}).get("Admit", {})
        if found.get("outcome") == "refused":
            return str(found["reason"])
        return str(done["cause"]) if done.get("error") == "Stale" else None

    def _report(self, ledger: Ledger, pool: Pool, budget: Decimal, stale: str | None) -> dict[str, Any]:
        receipts = ledger.receipts(pool.name)
        verdicts = laws.judge(
            laws.Day(
                samples=self._watch.samples,
                interval=LOOK_EVERY,
                entries=self._watch.entries,
                receipts=receipts,
                budget=budget,
                over_budget_answer=self._answers.over_budget,
                stale_answer=stale,
            )
        )
        total = sum((Fraction(receipt["cost"]["amount"]) for receipt in receipts), Fraction(0))
        # Two that were at work at once may have written the other way round.
        told = sorted(self._watch.entries, key=lambda entry: entry.at)
        return {
            "timeline": [_event(entry) for entry in told if entry.kind in TIMELINE],
            "laws": [verdict.to_json() for verdict in verdicts],
            "receipts": receipts,
            "cost": {"amount": f"{float(total):.4f}", "currency": "USD"},
            "failures": self._answers.failures,
            "elapsed_seconds": round(time.monotonic() - self._begun, 1),
        }


class _Look:
    """Everything one look reads, bound to this run's cloud."""

    def __init__(
        self, *, cloud: Cloud, outside: Outside, ledger: Ledger, pool: Pool, sfn: Any, machines: list[str]
    ) -> None:
        self._cloud, self._outside, self._ledger, self._pool = cloud, outside, ledger, pool
        self._sfn, self._machines = sfn, machines
        self._heard = START - timedelta(days=1)
        self._known: set[tuple[object, ...]] = set()

    def sample(self) -> Sample:
        now = self._cloud.clock.now()
        guard = self._cloud.lab.guard.budget
        period = period_of(now, guard.period, ZoneInfo(self._cloud.lab.time_zone))
        used = self._ledger.budget(period.key, guard.currency).used
        return self._outside.look(self._pool, now, str(used.rounded()))

    def news(self) -> list[Entry]:
        found = self._outside.entries(self._pool.name, self._heard)
        fresh = [entry for entry in found if self._key(entry) not in self._known]
        self._known |= {self._key(entry) for entry in fresh}
        return fresh

    def running(self) -> list[str]:
        return [arn for machine in self._machines for arn in self._executions(machine)]

    def steps(self) -> str:
        return " · ".join(self._step(arn) for arn in self.running())

    def _executions(self, machine: str) -> list[str]:
        found = self._sfn.list_executions(stateMachineArn=machine, statusFilter="RUNNING")["executions"]
        return [str(one["executionArn"]) for one in found]

    def _step(self, arn: str) -> str:
        history = self._sfn.get_execution_history(executionArn=arn, reverseOrder=True, maxResults=20)[
            "events"
        ]
        entered = (event.get("stateEnteredEventDetails", {}).get("name") for event in history)
        machine = arn.split(":")[-2].rsplit("-", 1)[-1]
        return f"{machine}: {next((name for name in entered if name), 'starting')}"

    @staticmethod
    def _key(entry: Entry) -> tuple[object, ...]:
        return entry.at, entry.kind, entry.who, entry.what, entry.lease


def _event(entry: Entry) -> dict[str, Any]:
    said: dict[str, object] = {
        "at": written(entry.at),
        "kind": entry.kind,
        "actor": entry.who,
        "what": entry.what,
        "pool": entry.pool,
    }
    if entry.lease is not None:
        said["lease"] = entry.lease
    if entry.nodes is not None:
        said["nodes"] = entry.nodes
    return said
