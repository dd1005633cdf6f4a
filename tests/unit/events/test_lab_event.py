"""What a lab tells, as JSON; and the judge of the tests that looks at every event can see what is wrong."""

import json
from typing import Any

import pytest

from lamplighter.domain.events.lab_event import Amount, EventReason, PoolOpen, Receipt
from tests import lab_events
from tests.unit.events.bus import EIGHT, MINUTE, EventBridge

COMMON: dict[str, Any] = {"lab": "gpu-lab", "pool": "gpu", "at": EIGHT, "reason": EventReason(text="because")}
OPEN = PoolOpen(**COMMON, nodes=2, closes=EIGHT + 60 * MINUTE)


def test_an_event_has_every_key_and_its_instants_are_in_utc() -> None:
    assert OPEN.detail() == {
        "lab": "gpu-lab",
        "pool": "gpu",
        "at": "2026-11-20T20:00:00Z",
        "reason": {"text": "because", "code": None, "values": {}, "parts": []},
        "lease": None,
        "owner": None,
        "in_reply_to": None,
        "version": "1",
        "nodes": 2,
        "closes": "2026-11-20T21:00:00Z",
    }


def test_money_is_a_decimal_string_with_its_currency() -> None:
    receipt = Receipt(
        **COMMON, nodes=1, node_seconds=60, cost=Amount(amount="0.02", currency="USD"), closed=None
    )
    assert receipt.detail()["cost"] == {"amount": "0.02", "currency": "USD"}


def entry(**more: Any) -> dict[str, Any]:
    said = {
        "Source": "lamplighter.gpu-lab",
        "EventBusName": "gpu-lab",
        "DetailType": "pool-open",
        "Time": EIGHT,
    }
    return {**said, "Detail": json.dumps(OPEN.detail() | more.pop("detail", {})), **more}


def test_the_judge_finds_nothing_wrong_with_an_event_that_is_right() -> None:
    assert lab_events.faults(entry(), "gpu-lab") == []


@pytest.mark.parametrize(
    "more",
    [
        {"Source": "ci.training"},
        {"EventBusName": "default"},
        {"DetailType": "pool-closing"},
        {"DetailType": "nothing"},
        {"Time": EIGHT + MINUTE},
        {"detail": {"more": 1}},
        {"detail": {"nodes": True}},
        {"detail": {"nodes": "2"}},
        {"detail": {"closes": "21:00"}},
        {"detail": {"at": "2026-11-20T20:00:00+00:00"}},
        {"detail": {"version": "2"}},
        {"detail": {"lab": "other"}},
        {"detail": {"reason": "because"}},
        {"detail": {"reason": {"text": "", "code": None, "values": {}, "parts": []}}},
        {"detail": {"owner": 7}},
    ],
)
def test_the_judge_finds_what_is_wrong_with_an_event(more: dict[str, Any]) -> None:
    assert len(lab_events.faults(entry(**more), "gpu-lab")) > 0


def test_no_event_that_is_wrong_gets_on_the_bus_of_the_tests() -> None:
    with pytest.raises(AssertionError):
        EventBridge().put_events(Entries=[entry(DetailType="warned")])
