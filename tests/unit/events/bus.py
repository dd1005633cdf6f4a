"""A lab's bus in memory: its ledger, EventBridge as it takes and refuses events, and workflows that decide or do not.

EventBridge here checks what PutEvents checks: at most ten entries of a call, and 256 KB of text that is UTF-8.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from lamplighter.adapters.aws.event_bus import EventBus
from lamplighter.adapters.aws.ledger.events import LedgerEvents
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.application.events import receiving
from lamplighter.application.events.services import EventServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Command, Decision
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.schedules.schedule import Start
from lamplighter.lab.model import Lab
from lamplighter.values import instant
from tests import lab_events
from tests.stopped_clock import stop_at
from tests.world.aws.dynamodb import DynamoDB

EIGHT = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
CI, TRAINING, OTHER = "111122223333", "ci.training", "night.jobs"
EVENT = "6a7e8feb-b491-4cf7-a9f1-bf3703467718"
LAB = Lab.model_validate(
    {
        "name": "gpu-lab",
        "time_zone": "Asia/Seoul",
        "pools": {"gpu": {"max_nodes": 4}, "big": {"max_nodes": 2}},
        "events": {
            "allow": {
                "training": {
                    "source": TRAINING, "principals": [f"arn:aws:iam::{CI}:role/ci"], "pools": ["gpu"],
                    "max_nodes": 2, "longest": "3h", "owner": "ci-training",
                },
                "jobs": {
                    "source": OTHER,
                    "principals": ["arn:aws:iam::123456789012:user/jobs"],
                    "may": ["open", "close"],
                },
            }
        },
    }
)  # fmt: skip
MOST_ENTRIES, MOST_BYTES = 10, 256 * 1024
"""https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html"""
ARNS = {name: f"arn:{name}" for name in ("OpenLab", "CloseLab", "ExtendLease")}
Json = dict[str, Any]


def event(detail: object = None, /, **more: object) -> Json:
    """An event as EventBridge delivers it: the entry `training` asks to open."""
    return {
        "version": "0", "id": EVENT, "detail-type": "open", "source": TRAINING, "account": CI,
        "time": instant.written(EIGHT), "region": "ap-northeast-2", "resources": [],
        "detail": {} if detail is None else detail,
    } | more  # fmt: skip


@dataclass
class EventBridge:
    """The bus, `put` is what it took; `refuses` says which events it does not take, and with which error."""

    put: list[Json] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    """The number of entries of each call."""
    refuses: Callable[[Json], str | None] = lambda _: None
    fails: list[Exception] = field(default_factory=list)
    """What the next calls fail with."""

    def put_events(self, **asked: list[Json]) -> Json:
        entries = asked["Entries"]
        assert 1 <= len(entries) <= MOST_ENTRIES
        assert sum(len(entry["Detail"].encode()) for entry in entries) < MOST_BYTES
        self.calls.append(len(entries))
        if self.fails:
            raise self.fails.pop(0)
        answers: list[Json] = []
        for entry in entries:
            assert lab_events.faults(entry, "gpu-lab") == []
            code = self.refuses(entry)
            if code is None:
                self.put.append(entry)
            answers.append({"ErrorCode": code, "ErrorMessage": code} if code else {"EventId": EVENT})
        return {"FailedEntryCount": sum(1 for each in answers if "ErrorCode" in each), "Entries": answers}

    @property
    def told(self) -> list[tuple[str, Json]]:
        """The detail-type and the detail of what was put."""
        return [(entry["DetailType"], json.loads(entry["Detail"])) for entry in self.put]


@dataclass
class Workflows:
    """Each name starts once; `decide` does what the workflow does."""

    decide: Callable[[Command], None] = lambda _: None
    started: list[Start] = field(default_factory=list)
    fails: Exception | None = None

    def start(self, start: Start) -> bool:
        if self.fails is not None:
            raise self.fails
        if any(start.name == before.name for before in self.started):
            return False
        self.started.append(start)
        self.decide(start.command)
        return True

    @property
    def commands(self) -> list[Command]:
        return [start.command for start in self.started]


@dataclass
class LabWithBus:
    """The lab, its bus, and the hands of its workflows."""

    clock: Path
    lab: Lab = LAB
    eventbridge: EventBridge = field(default_factory=EventBridge)
    workflows: Workflows = field(default_factory=Workflows)
    dynamodb: Any = field(default_factory=DynamoDB)
    woken: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dynamodb.exceptions = SimpleNamespace(ClientError=ClientError)
        self.ledger = Ledger("ledger", self.dynamodb)
        bus: Any = self.eventbridge
        self.services = EventServices(
            self.lab, LedgerEvents("ledger", self.dynamodb), EventBus(self.lab.name, bus),
            self.workflows, ARNS, self.woken.append,
        )  # fmt: skip
        self.at(0)

    def at(self, minutes: float) -> datetime:
        """Stops the clock so many minutes after eight."""
        now = EIGHT + minutes * MINUTE
        stop_at(self.clock, now)
        return now

    def kept(self) -> Json:
        """Every item of the ledger."""
        return {f"{pk} {sk}": item for (pk, sk), item in self.dynamodb.items.items()}

    def grants(self, command: Command) -> None:
        """What OpenLab does: a lease, and the decision."""
        lease = Lease(
            id=command.lease_id,
            pool=command.pool,
            nodes=command.nodes or 1,
            owner=command.owner,
            source=command.source,
            state=LeaseState.ADMITTED,
            opens=self.services.now(),
            closes=self.services.now() + (command.lasting or timedelta(hours=1)),
            hold=Money.of(1, "USD"),
            by=command.by,
        )
        self.keep(lease)
        self.decides(command, "granted", lease=lease.id)

    def decides(self, command: Command, outcome: str, **more: Any) -> None:
        """The decision on a command."""
        decision = Decision(command.id, outcome, f"{outcome} for a reason", self.services.now(), **more)
        self.ledger.decide(command.pool, decision)

    def keep(self, lease: Lease) -> None:
        """Puts a lease into the ledger as it is."""
        self.ledger.plan(replace(lease, state=LeaseState.PLANNED))
        key, state = (f"POOL#{lease.pool}", f"LEASE#{lease.id}"), {"S": lease.state.value}
        self.dynamodb.items[key] = {**self.dynamodb.items[key], "state": state}

    def happens(self, kind: str, minutes: float = 0, **more: Any) -> Entry:
        """An entry of the audit trail."""
        said: dict[str, Any] = {"who": "guard", "what": f"{kind} happened", "why": "for a reason"} | more
        entry = Entry(EIGHT + minutes * MINUTE, said.pop("pool", "gpu"), kind, **said)
        self.ledger.append_audit(entry)
        return entry


def lease(name: str = "event-1", **more: Any) -> Lease:
    """An open lease of the owner of the entry `training`."""
    said: dict[str, Any] = {
        "pool": "gpu", "nodes": 1, "owner": "ci-training", "source": "event", "by": "training (event)",
        "state": LeaseState.OPEN, "opens": EIGHT - MINUTE, "closes": EIGHT + 60 * MINUTE,
        "hold": Money.of(1, "USD"),
    }  # fmt: skip
    return Lease(id=name, **(said | more))


def lab_with_bus(monkeypatch: pytest.MonkeyPatch, folder: Path) -> LabWithBus:
    """A lab at eight in the evening in UTC."""
    monkeypatch.setenv("LAMPLIGHTER_INSTANT", str(folder / "clock"))
    # What is not decided yet comes again at once: nothing is decided while a test waits.
    monkeypatch.setattr(receiving, "DECISION_SECONDS", -1)
    return LabWithBus(folder / "clock")
