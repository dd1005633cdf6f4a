"""A deployed lab with a bus, in this process: what the command line puts there, and the logs of its two functions."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from cli import deployment
from cli.deployment import Deployment
from cli.use import orders
from lamplighter.adapters.aws.logs import function_logs
from lamplighter.domain.commands.caller import Caller
from lamplighter.domain.events import log_line
from lamplighter.domain.events.lab_event import EventReason, LabEvent
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.unit import aws_calls
from tests.unit.aws_says import Says
from tests.unit.lab_on_moto import LEDGER, LabOnMoto, lab_on_moto

CI = "arn:aws:iam::111122223333:role/ci"
CALLER = "arn:aws:sts::111122223333:assumed-role/ci/run-17"
ALLOW = {"training": {"source": "ci.training", "principals": [CI], "pools": ["gpu"], "owner": "ci-training"}}
WHY = EventReason(text="as asked")


class AwsClock(Says):
    """Asking again costs no call here."""

    def now(self) -> datetime:
        return self.last()


@dataclass
class Bus:
    """The bus and the logs, as AWS has them."""

    made: LabOnMoto
    put: list[dict[str, Any]] = field(default_factory=list)
    """The entries that reached PutEvents."""
    lines: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {"events": [], "lifecycle": []})
    page: int = 2
    """Lines in an answer of CloudWatch."""

    def heard(self, _service: str, operation: str, given: Mapping[str, Any]) -> None:
        if operation == "PutEvents":
            self.put.extend(given["Entries"])

    def deploy(self, allow: Mapping[str, object] | None) -> None:
        """Deploy the lab with these entries; None: without a bus."""
        events = {} if allow is None else {"events": {"allow": allow}}
        lab = Lab.model_validate({"name": "lab", "time_zone": "Asia/Seoul", **events})
        self.made.capacity.ledger.put_document(lab.to_json(), EIGHT)

    def log(self, function: str, minutes: float, message: str, **keys: object) -> None:
        """A line of a function, so many minutes after eight."""
        at = EIGHT + timedelta(minutes=minutes)
        text = json.dumps({"level": "INFO", "message": message, "service": f"lab-{function}", **keys})
        lines = self.lines[function]
        name = f"{function}-{len(lines)}"
        lines.append({"eventId": name, "timestamp": int(at.timestamp() * 1000), "message": text})

    def tell(self, event: LabEvent, minutes: float = 0) -> None:
        """The lab tells an event."""
        self.log("lifecycle", minutes, log_line.TOLD, **log_line.told(event).keys())

    def get_paginator(self, operation: str) -> "Bus":
        assert operation == "filter_log_events"
        return self

    def paginate(self, **given: Any) -> Iterator[dict[str, Any]]:
        """CloudWatch's answer, a page at a time."""
        function = given["logGroupName"].removeprefix("/aws/lambda/lab-")
        lines = [line for line in self.lines[function] if line["timestamp"] >= given["startTime"]]
        for first in range(0, len(lines), self.page):
            yield {"events": lines[first : first + self.page]}


def about(**more: Any) -> dict[str, Any]:
    """What every event says."""
    said = {
        "lab": "lab", "pool": "gpu", "at": EIGHT, "reason": WHY, "lease": "event-1",
        "owner": "ci-training",
    }  # fmt: skip
    return {**said, **more}


@contextmanager
def lab_with_a_bus(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Bus]:
    """The lab `lab` with one entry, `training`, and a caller who is its principal."""
    with lab_on_moto(monkeypatch, folder) as made:
        bus = Bus(made)
        bus.deploy(ALLOW)
        boto3.client("events").create_event_bus(Name="lab")
        monkeypatch.setattr(
            deployment, "find", lambda _name: Deployment("lab", {"LedgerTable": LEDGER}, AwsClock(EIGHT))
        )
        monkeypatch.setattr(orders, "caller", lambda: Caller(CALLER))
        monkeypatch.setattr(function_logs, "client", lambda _service: bus)
        with aws_calls.heard(bus.heard):
            yield bus
