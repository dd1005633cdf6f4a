"""The functions `events` and `lifecycle`: one bad message or pool keeps no other from its turn."""

import json
from typing import Any

import pytest

from handlers import events, lifecycle
from lamplighter.application.events.changed_pools import changed_pools
from lamplighter.errors import LamplighterError, TryLater
from tests.unit.events.bus import LabWithBus, event


@pytest.fixture
def functions(bus: LabWithBus, monkeypatch: pytest.MonkeyPatch) -> LabWithBus:
    monkeypatch.setattr(events, "event_services", lambda: bus.services)
    monkeypatch.setattr(lifecycle, "lifecycle_services", lambda: bus.services)
    return bus


def messages(*bodies: str) -> dict[str, Any]:
    """A batch as the event source mapping hands it over."""
    return {
        "Records": [
            {"messageId": f"m-{number}", "receiptHandle": "r", "body": body, "attributes": {}}
            for number, body in enumerate(bodies)
        ]
    }


def test_what_fails_comes_again_and_the_rest_is_done(functions: LabWithBus) -> None:
    opens = json.dumps(event({"token": "t"}, id="open-1"))
    early = json.dumps(event({"token": "t"}, **{"id": "close-1", "detail-type": "close"}))
    bad = "no json"
    last = json.dumps(event({"pool": "big"}, id="refused-1"))

    answer = events.handler(messages(opens, early, bad, last), None)

    assert answer == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}
    assert [command.id for command in functions.workflows.commands] != []
    assert [detail["in_reply_to"] for _, detail in functions.eventbridge.told] == ["refused-1"]


def test_a_workflow_that_does_not_start_fails_its_own_message(functions: LabWithBus) -> None:
    functions.workflows.fails = TryLater("throttled")
    answer = events.handler(messages(json.dumps(event()), json.dumps(event({"pool": "big"}, id="x"))), None)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m-0"}]}
    assert len(functions.eventbridge.put) == 1


def test_every_pool_is_tried_before_the_function_fails(functions: LabWithBus) -> None:
    for pool in ("gpu", "big"):
        lifecycle.handler({"pools": [pool]}, None)
        functions.happens("breach", 1, pool=pool)
    functions.at(2)
    functions.eventbridge.refuses = lambda entry: "Full" if '"gpu"' in entry["Detail"] else None
    with pytest.raises(LamplighterError, match="Full"):
        lifecycle.handler({"source": "rule"}, None)
    assert [detail["pool"] for _, detail in functions.eventbridge.told] == ["big"]
    functions.eventbridge.refuses = lambda _: None

    assert lifecycle.handler({}, None) == {"told": {"gpu": ["breach"], "big": []}}


def record(pk: object, sk: object) -> dict[str, Any]:
    return {"dynamodb": {"Keys": {"pk": {"S": pk}, "sk": {"S": sk}}, "SequenceNumber": "1"}}


@pytest.mark.parametrize(
    ("woken", "pools"),
    [
        ({"Records": [record("POOL#big", "AUDIT#2026"), record("POOL#big", "COMMAND#1")]}, ["big"]),
        ({"Records": [record("POOL#gone", "AUDIT#2026")]}, []),
        ({"Records": []}, []),
        ({"Records": [{}, record(7, None)]}, []),
        ({"pools": ["gpu", "gone", 7]}, ["gpu"]),
        ({"pools": []}, []),
        ({"pools": "gpu"}, ["gpu", "big"]),
        ({}, ["gpu", "big"]),
        ({"source": "aws.events"}, ["gpu", "big"]),
    ],
)
def test_the_pools_that_an_event_is_about(woken: dict[str, object], pools: list[str]) -> None:
    assert changed_pools(woken, ["gpu", "big"]) == pools
