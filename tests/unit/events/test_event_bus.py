"""Putting events: at most ten and 200 KB a call, and what EventBridge does not take is named by its place."""

from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from lamplighter.adapters.aws.event_bus import AT_ONCE, MOST_BYTES, EventBus
from lamplighter.domain.events.lab_event import EventReason, PoolClosing
from lamplighter.errors import LamplighterError, OutsideFailed, TryLater
from tests.unit.events.bus import EIGHT, MINUTE, EventBridge


def closing(number: int, text: str = "over") -> PoolClosing:
    return PoolClosing(
        lab="gpu-lab", pool=f"gpu{number}", at=EIGHT + number * MINUTE, reason=EventReason(text=text)
    )


def bus_on(eventbridge: Any) -> EventBus:
    return EventBus("gpu-lab", eventbridge)


def test_an_event_is_the_labs_own_with_its_type_and_its_time() -> None:
    eventbridge = EventBridge()
    assert bus_on(eventbridge).put([closing(1, "끝")]) == {}

    [entry] = eventbridge.put
    assert (entry["EventBusName"], entry["Source"], entry["DetailType"], entry["Time"]) == (
        "gpu-lab",
        "lamplighter.gpu-lab",
        "pool-closing",
        EIGHT + MINUTE,
    )
    assert "끝" in entry["Detail"]


def test_nothing_to_tell_is_no_call() -> None:
    eventbridge = EventBridge()
    assert (bus_on(eventbridge).put([]), eventbridge.calls) == ({}, [])


def test_ten_go_in_a_call() -> None:
    eventbridge = EventBridge()
    bus_on(eventbridge).put([closing(number) for number in range(25)])
    assert eventbridge.calls == [AT_ONCE, AT_ONCE, 5]
    assert [detail["pool"] for _, detail in eventbridge.told] == [f"gpu{number}" for number in range(25)]


def test_no_call_has_more_than_eventbridge_takes() -> None:
    """Three bytes a character: what counts is how long it is in UTF-8."""
    eventbridge = EventBridge()
    long = "끝" * (MOST_BYTES // 3 // 3)
    bus_on(eventbridge).put([closing(number, long) for number in range(7)])
    assert eventbridge.calls == [2, 2, 2, 1]


@pytest.mark.parametrize("answered", [[], [{"ErrorCode": "InternalFailure"}] * 2])
def test_an_answer_about_other_events_than_were_put_is_not_known(answered: list[dict[str, str]]) -> None:
    class Strange:
        def put_events(self, **_: Any) -> Any:
            return {"Entries": answered}

    with pytest.raises(OutsideFailed):
        bus_on(Strange()).put([closing(1)])


def test_what_is_not_taken_is_named_by_its_place_over_all_calls() -> None:
    eventbridge = EventBridge(
        refuses=lambda entry: (
            "InternalFailure" if '"gpu3"' in entry["Detail"] or '"gpu21"' in entry["Detail"] else None
        )
    )
    failed = bus_on(eventbridge).put([closing(number) for number in range(25)])

    assert failed == {3: "InternalFailure", 21: "InternalFailure"}
    assert len(eventbridge.put) == 23


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}}, "PutEvents")


@pytest.mark.parametrize(
    ("fails", "error"),
    [
        (refused("ThrottlingException"), TryLater),
        (refused("AccessDeniedException"), OutsideFailed),
        (ReadTimeoutError(endpoint_url="https://events"), OutsideFailed),
    ],
)
def test_a_call_that_fails_is_an_error_with_its_name(fails: Exception, error: type[LamplighterError]) -> None:
    eventbridge = EventBridge(fails=[fails])
    with pytest.raises(error, match="PutEvents"):
        bus_on(eventbridge).put([replace(closing(1))])
