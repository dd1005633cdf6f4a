"""One act of the demo: starts the embedded cloud, lets people act, watches from outside, and makes the report.

This file has clock, watch and view. The acts (day.py, trouble.py) say who does what. day_reading.py and observations.py
read the state.
"""

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import boto3

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.view_reading import ViewReading
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.capacity.kinds import identity
from lamplighter.reasons.document import drawn, read
from lamplighter.values.clock_time import clock_time
from lamplighter.values.instant import written
from local.cloud import Cloud
from local.demo import laws, pages
from local.demo.day_reading import DayReading
from local.demo.observations import NODE_GROUP, NODE_POOL, NodeReader, Outside, Pool, Sample
from local.demo.script import Act, Answers, LabAccess
from local.demo.view import DayEvent, Now, View
from local.endpoints import Endpoints

LOOK_EVERY = timedelta(seconds=30)
POOL = "gpu"


@dataclass
class DayRecord:
    """The observations so far, shared between the watching thread and the acting thread."""

    samples: list[Sample] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    failure: Exception | None = None


@dataclass(frozen=True)
class Stage:
    """Where an act is played: the cloud with its lab, and the ways in which people reach it."""

    cloud: Cloud
    pool: Pool
    ledger: Ledger
    doors: LabAccess
    look: DayReading
    api: Callable[[str], Any]


class Play(ABC):
    """One run; without a `rate`, as fast as the machine can. The same `seed` gives the same day.

    `begun` is time.monotonic() at the start of the command, for elapsed_seconds.
    """

    def __init__(self, view: View, rate: float | None, begun: float, seed: int = 0) -> None:
        self._view, self._rate, self._begun, self._seed = view, rate, begun, seed
        self.watch = DayRecord()
        self.answers = Answers()
        #: Other reads of an act, made with each sample.
        self.observers: list[Callable[[datetime], None]] = []
        self._done = threading.Event()

    #: Whether time flows as the machine's from the first instant to the last.
    real_time = False

    @property
    @abstractmethod
    def lab(self) -> Path:
        """The lab that is deployed."""

    @property
    @abstractmethod
    def start(self) -> datetime:
        """The first instant."""

    @abstractmethod
    def perform(self, stage: Stage) -> None:
        """What people do, in order, while the demo watches. Returns when there is nothing more to see."""

    @abstractmethod
    def report(self, stage: Stage) -> dict[str, Any]:
        """The report of the contract, after the act."""

    def play(self) -> dict[str, Any]:
        """Plays the whole act and returns its report."""
        with Cloud(
            self.lab, rate=self._rate, start=self.start, progress=self._view.progress, seed=self._seed
        ) as cloud:
            stage = self._stage(cloud, cloud.up())
            with self._watching(stage):
                self.perform(stage)
            self._look(stage)  # the changes of the last workflow, read after its end
            written = pages.write(stage.ledger, cloud.lab, cloud.clock, pages.folder())
            return {**self.report(stage), "pages": written}

    def do(self, act: Act) -> None:
        """Does what a person does, and shows it."""
        self.tell(DayEvent(act.at, act.kind, act.who, act.what))
        act.do()

    def tell(self, line: DayEvent) -> None:
        self._view.line(line)

    def until(self, stage: Stage, seen: Callable[[], bool], end: datetime) -> bool:
        """Lets time pass until something is observed; False if it was not by `end`."""
        clock = stage.cloud.clock
        while not self.watch.failure and not seen():
            if clock.now() >= end:
                return False
            clock.sleep(LOOK_EVERY.total_seconds())
        return not self.watch.failure

    def day(self, stage: Stage) -> laws.Day:
        """The observations to judge."""
        return laws.Day(
            samples=self.watch.samples,
            interval=LOOK_EVERY,
            entries=self.watch.entries,
            receipts=stage.ledger.receipts(stage.pool.name),
            budget=stage.cloud.lab.guard.budget.amount,
            over_budget_answer=self.answers.over_budget,
            stale_answer=self._stale_answer(stage),
        )

    def document(
        self, day: laws.Day, verdicts: list[laws.LawVerdict], kinds: tuple[str, ...]
    ) -> dict[str, Any]:
        """The report of both acts. The timeline shows the entries of `kinds` in the audit trail."""
        total = sum((Fraction(receipt["cost"]["amount"]) for receipt in day.receipts), Fraction(0))
        # Two programs that ran at once may have written their entries in the other order.
        told = sorted(self.watch.entries, key=lambda entry: entry.at)
        return {
            "timeline": [_event(entry) for entry in told if entry.kind in kinds],
            "laws": [verdict.to_json() for verdict in verdicts],
            "receipts": drawn(list(day.receipts), ENGLISH, clock_time),
            "cost": {"amount": f"{float(total):.4f}", "currency": "USD"},
            "failures": self.answers.failures,
            "elapsed_seconds": round(time.monotonic() - self._begun, 1),
        }

    def _stage(self, cloud: Cloud, endpoints: Endpoints) -> Stage:
        session = boto3.session.Session(
            aws_access_key_id=endpoints.access_key_id,
            aws_secret_access_key=endpoints.secret_access_key,
            region_name=endpoints.region,
        )

        def api(service: str) -> Any:
            return session.client(service, endpoint_url=endpoints.endpoint)  # type: ignore[call-overload]

        stacks = api("cloudformation").describe_stacks(StackName=f"{cloud.lab.name}-controller")["Stacks"]
        outputs = {output["OutputKey"]: output["OutputValue"] for output in stacks[0]["Outputs"]}
        kind = NODE_POOL if cloud.lab.pools[POOL].has("node pool") else NODE_GROUP
        name = identity(cloud.lab, POOL).name
        pool = Pool(POOL, cloud.lab.cluster_name, name, cloud.lab.name, kind)
        ledger = Ledger(outputs["LedgerTable"], api("dynamodb"))
        outside = Outside(session, endpoints.endpoint, ledger, NodeReader(cloud.control_plane.admin()))
        look = DayReading(
            cloud=cloud,
            outside=outside,
            ledger=ledger,
            pool=pool,
            stepfunctions=api("stepfunctions"),
            since=self.start - timedelta(days=1),
        )
        doors = LabAccess(cloud.played(), api("eks"), api("stepfunctions"), outputs["OpenLabArn"])
        return Stage(cloud, pool, ledger, doors, look, api)

    @contextmanager
    def _watching(self, stage: Stage) -> Iterator[None]:
        watcher = threading.Thread(
            target=self._watch_until_done, args=(stage,), name="demo-watch", daemon=True
        )
        watcher.start()
        try:
            yield
        except BaseException:  # the cloud goes down, and the watching thread ends with it
            self._done.set()
            raise
        self._done.set()
        with stage.cloud.clock.idle():
            watcher.join()
        if self.watch.failure:
            raise self.watch.failure

    def _watch_until_done(self, stage: Stage) -> None:
        clock = stage.cloud.clock
        try:
            with clock.busy():
                while not self._done.is_set():
                    self._look(stage)
                    clock.hurry(not self.real_time and (self._rate is None or stage.look.idle()))
                    clock.sleep(LOOK_EVERY.total_seconds())
        except Exception as error:  # noqa: BLE001 - handed to the acting thread, which raises it
            self.watch.failure = error

    def _look(self, stage: Stage) -> None:
        sample = stage.look.sample()
        self.watch.samples.append(sample)
        for observe in self.observers:
            observe(sample.at)
        for entry in stage.look.news():
            self.watch.entries.append(entry)
            self.tell(DayEvent(entry.at, entry.kind, entry.who, entry.what))
        self._view.now(
            Now(
                at=sample.at,
                instances=len(sample.instances),
                justified=sample.justified(),
                steps=stage.look.steps(),
                pool=lambda: ViewReading(stage.ledger, stage.cloud.lab, sample.at).pool(stage.pool.name),
            )
        )

    def _stale_answer(self, stage: Stage) -> str | None:
        if self.answers.stale_execution is None:
            return None
        done = stage.doors.stepfunctions.describe_execution(executionArn=self.answers.stale_execution)
        found: Mapping[str, Any] = json.loads(done.get("output") or "{}").get("results", {}).get("Admit", {})
        if found.get("outcome") == "refused":
            return str(read(found["reason"]))
        return str(done["cause"]) if done.get("error") == "Stale" else None


def _event(entry: Entry) -> dict[str, Any]:
    said: dict[str, object] = {
        "at": written(entry.at),
        "kind": entry.kind,
        "actor": entry.who,
        "what": str(entry.what),
        "pool": entry.pool,
    }
    if entry.lease is not None:
        said["lease"] = entry.lease
    if entry.nodes is not None:
        said["nodes"] = entry.nodes
    return said
