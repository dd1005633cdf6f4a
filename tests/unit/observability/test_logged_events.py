"""Each request that arrives on a lab's bus, and each event that the bus takes, is one line of a log, whole."""

import io
import json
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from lamplighter.adapters.aws.event_bus import EventBus
from lamplighter.adapters.aws.ledger.events import LedgerEvents
from lamplighter.application import logs
from lamplighter.application.events.putting import put
from lamplighter.application.events.receiving import receive
from lamplighter.application.events.services import EventServices
from lamplighter.domain.events import log_line
from lamplighter.domain.events.lab_event import EventReason, LabEvent, PoolClosing, Warned
from lamplighter.domain.events.request import MOST_BYTES
from lamplighter.lab.model import Lab

AT = datetime(2026, 11, 20, 20, tzinfo=UTC)
ENTRY = {"source": "ci.training", "principals": ["arn:aws:iam::111122223333:role/ci"]}
LAB = Lab.model_validate({"name": "lab", "events": {"allow": {"training": ENTRY}}})
REQUEST = {"id": "11-22", "source": "nobody", "detail-type": "open", "detail": {"nodes": 2, "token": "t"}}


class Bus:
    """Takes every event but those at these places."""

    def __init__(self, *lost: int) -> None:
        self.lost = lost

    def put(self, events: list[LabEvent]) -> dict[int, str]:
        return {place: "InternalFailure" for place in self.lost if place < len(events)}


def services(bus: Bus) -> EventServices:
    return EventServices(LAB, cast("LedgerEvents", None), cast("EventBus", bus), cast("Any", None))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the function logs from now on."""
    stream = io.StringIO()
    monkeypatch.setattr(logs.logger().registered_handler, "stream", stream)
    return stream


def events(written: io.StringIO) -> list[log_line.LoggedEvent]:
    read = [log_line.read(line) for line in written.getvalue().splitlines()]
    return [event for event in read if event is not None]


def test_what_the_bus_took_is_logged_and_what_it_did_not_take_is_not(written: io.StringIO) -> None:
    said: Any = {"lab": "lab", "pool": "gpu", "at": AT, "reason": EventReason(text="as asked"), "lease": "l"}
    closing, warned = PoolClosing(**said), Warned(**said, closes=AT)

    put([closing, warned], services(Bus(1)))

    assert events(written) == [log_line.told(closing)]
    assert log_line.told(closing).source == "lamplighter.lab"


def test_a_refused_request_is_logged_with_its_answer(written: io.StringIO) -> None:
    receive(json.dumps(REQUEST), services(Bus()))

    request, answer = events(written)
    assert (request.event, request.source, request.detail) == ("11-22", "nobody", REQUEST["detail"])
    assert (answer.detail_type, answer.detail["in_reply_to"]) == ("lease-refused", "11-22")


@pytest.mark.parametrize(
    "body",
    ["no json", "[]", '{"id": "11-22"}', json.dumps({**REQUEST, "detail": {"because": "x" * MOST_BYTES}})],
    ids=["text", "list", "no request", "too large"],
)
def test_what_is_no_request_is_not_logged_whole(written: io.StringIO, body: str) -> None:
    receive(body, services(Bus()))

    assert [event for event in events(written) if event.message == log_line.RECEIVED] == []
    assert len(written.getvalue()) < MOST_BYTES


@pytest.mark.parametrize("line", ["", "INIT_START", "[]", '{"message": "event told"}', "[" * 100_000])
def test_other_lines_are_no_events(line: str) -> None:
    assert log_line.read(line) is None
