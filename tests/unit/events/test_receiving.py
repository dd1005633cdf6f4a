"""Requests that the queue delivers: each becomes a command, or gets one answer and leaves the ledger as it is."""

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

import pytest

from lamplighter.application.events import receiving
from lamplighter.application.events.receiving import receive
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.events import orders
from lamplighter.domain.events.asked import AskedByEvent
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.lab.model import Lab
from tests.unit.events.bus import ARNS, EIGHT, EVENT, LAB, MINUTE, LabWithBus, event, lease


def close(detail: object = None, /, **more: object) -> str:
    return json.dumps(event(detail, **{"detail-type": "close", "id": "close-1", **more}))


def test_a_request_starts_the_workflow_once_and_waits_for_its_answer(bus: LabWithBus) -> None:
    body = json.dumps(event({"nodes": 2}))
    receive(body, bus.services)
    receive(body, bus.services)

    [start] = bus.workflows.started
    assert (start.workflow, start.name) == (ARNS["OpenLab"], EVENT)
    [asked] = bus.services.ledger.asked("gpu")
    assert (asked.event, asked.command, asked.verb) == (EVENT, EVENT, Verb.OPEN)
    assert asked.lease == start.command.lease_id
    assert (bus.eventbridge.put, bus.woken) == ([], [])


def test_a_repeated_request_that_is_decided_wakes_who_answers(bus: LabWithBus) -> None:
    bus.workflows.decide = bus.grants
    receive(json.dumps(event()), bus.services)
    assert bus.woken == ["gpu"]


def test_a_workflow_that_does_not_start_leaves_the_request_to_come_again(bus: LabWithBus) -> None:
    bus.workflows.fails = TryLater("throttled")
    with pytest.raises(TryLater):
        receive(json.dumps(event()), bus.services)
    bus.workflows.fails = None
    receive(json.dumps(event()), bus.services)

    assert [command.id for command in bus.workflows.commands] == [EVENT]
    assert len(bus.services.ledger.asked("gpu")) == 1


def refused(bus: LabWithBus, body: str) -> dict[str, Any]:
    """The one answer to a request that changes nothing."""
    before = bus.kept()
    receive(body, bus.services)
    assert bus.kept() == before
    assert bus.workflows.started == []
    [(kind, detail)] = bus.eventbridge.told
    assert kind == "lease-refused"
    bus.eventbridge.put.clear()
    return detail


def test_a_refused_request_is_answered_once_and_the_ledger_stays_as_it_is(bus: LabWithBus) -> None:
    answer = refused(bus, json.dumps(event({"pool": "big"})))

    assert answer["in_reply_to"] == EVENT
    assert answer["version"] == "1"
    assert (answer["lab"], answer["lease"]) == ("gpu-lab", None)
    assert answer["at"] == "2026-11-20T20:00:00Z"
    assert answer["reason"]["code"] == "command.event.pool-not-allowed"
    assert answer["reason"]["text"] == "entry training may not use pool big; it may use gpu"


@pytest.mark.parametrize(("sent", "pool", "owner"), [
    (event({"pool": "gpu", "hours": 2}), "gpu", "ci-training"),
    (event({"hours": 2}), "gpu", "ci-training"),
    (event({"pool": "big"}), "big", "ci-training"),
    (event({"pool": "no pool!"}), None, "ci-training"),
    (event({"pool": ["gpu"]}), None, "ci-training"),
    (event({"pool": "gpu"}, source="ci.nobody"), None, None),
])  # fmt: skip
def test_a_refusal_repeats_the_pool_and_the_owner_of_its_request(
    bus: LabWithBus, sent: dict[str, Any], pool: str | None, owner: str | None
) -> None:
    answer = refused(bus, json.dumps(sent))
    assert (answer["pool"], answer["owner"]) == (pool, owner)


def test_a_detail_of_256_kilobytes_is_refused(bus: LabWithBus) -> None:
    answer = refused(bus, json.dumps(event({"because": "x" * 256 * 1024})))
    assert answer["reason"]["code"] == "command.event.too-large"


def test_json_that_python_cannot_read_is_answered_where_its_id_can_be(bus: LabWithBus) -> None:
    nested = json.dumps(event({"pool": "?"})).replace('"?"', "[" * 100_000)
    assert refused(bus, nested)["in_reply_to"] == EVENT
    assert refused(bus, nested)["reason"]["code"] == "command.event.no-json"


SURROGATE = "\ud800"


@pytest.mark.parametrize(
    "sent",
    [
        event({SURROGATE: 1}),
        event({"because": SURROGATE * 3}),
        event(SURROGATE),
        event(source=SURROGATE),
        event(**{"detail-type": SURROGATE}),
    ],
    ids=range(5),
)
def test_half_a_character_is_refused_and_the_answer_is_utf_8(bus: LabWithBus, sent: dict[str, Any]) -> None:
    """JSON may name one half of a pair of UTF-16, which no UTF-8 has."""
    answer = refused(bus, json.dumps(sent))
    assert answer["in_reply_to"] == EVENT


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "null", "7", '"text"', "{}", '{"id": 7}', "\x00", '{"id": "a b"}']
)
def test_what_nobody_could_hear_an_answer_to_gets_a_line_in_the_log_and_no_answer(
    bus: LabWithBus, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        receive(body, bus.services)
    assert [each.message for each in caplog.records][-1:] == ["turned away"]
    assert bus.eventbridge.put == []
    assert bus.kept() == {}


def test_an_answer_that_the_bus_does_not_take_lets_the_request_come_again(bus: LabWithBus) -> None:
    bus.eventbridge.refuses = lambda _: "ThrottlingException"
    with pytest.raises(OutsideFailed, match="ThrottlingException"):
        receive(json.dumps(event({"pool": "big"})), bus.services)
    bus.eventbridge.refuses = lambda _: None
    assert refused(bus, json.dumps(event({"pool": "big"})))["in_reply_to"] == EVENT


# --- tokens --------------------------------------------------------------------------------------


def open_(token: str, **more: object) -> str:
    return json.dumps(event({"token": token}, **more))


def test_extend_and_close_by_the_token_of_the_open_are_about_its_lease(bus: LabWithBus) -> None:
    bus.workflows.decide = bus.grants
    for token in ("run-7", "run-8"):
        receive(open_(token, id=token), bus.services)
    bus.workflows.decide = lambda _: None
    first = bus.workflows.commands[0].lease_id

    receive(json.dumps(event({"token": "run-7"}, **{"id": "e", "detail-type": "extend"})), bus.services)
    receive(close({"token": "run-7"}), bus.services)

    extended, closed = bus.workflows.commands[2:]
    assert (extended.verb, extended.lease) == (Verb.EXTEND, first)
    assert (closed.verb, closed.lease) == (Verb.CLOSE, first)


def refusals(bus: LabWithBus) -> list[str]:
    """The codes of the answers so far, all of them refusals."""
    assert {kind for kind, _ in bus.eventbridge.told} == {"lease-refused"}
    return [detail["reason"]["code"] for _, detail in bus.eventbridge.told]


def test_a_close_before_its_open_is_refused_and_the_open_opens_nothing(bus: LabWithBus) -> None:
    receive(close({"token": "run-7"}), bus.services)
    receive(open_("run-7"), bus.services)
    assert bus.workflows.started == []
    assert [detail["in_reply_to"] for _, detail in bus.eventbridge.told] == ["close-1", EVENT]
    assert refusals(bus) == ["command.event.nothing-opened", "command.event.closed-before"]


def test_a_close_before_its_open_leaves_other_work_of_the_owner_alone(bus: LabWithBus) -> None:
    bus.keep(lease("event-other"))
    for verb in ("close", "extend"):
        receive(json.dumps(event({"token": "run-7"}, **{"id": verb, "detail-type": verb})), bus.services)
    assert bus.workflows.started == []
    assert refusals(bus) == ["command.event.nothing-opened"] * 2


def test_a_close_while_the_open_is_undecided_comes_again(bus: LabWithBus) -> None:
    receive(open_("run-7"), bus.services)
    with pytest.raises(TryLater):
        receive(close({"token": "run-7"}), bus.services)

    assert bus.eventbridge.put == []
    bus.grants(bus.workflows.commands[0])
    receive(close({"token": "run-7"}), bus.services)
    assert bus.workflows.commands[1].lease == bus.workflows.commands[0].lease_id


def test_a_close_waits_a_little_for_the_decision_on_its_open(
    bus: LabWithBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive(open_("run-7"), bus.services)
    slept: list[float] = []

    def decided_meanwhile(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            bus.grants(bus.workflows.commands[0])

    monkeypatch.setattr(receiving, "sleep", decided_meanwhile)
    monkeypatch.setattr(receiving, "DECISION_SECONDS", 10)
    receive(close({"token": "run-7"}), bus.services)

    assert bus.workflows.commands[1].lease == bus.workflows.commands[0].lease_id
    assert len(slept) == 3


def test_a_close_finds_the_decision_that_is_answered_while_it_looks(
    bus: LabWithBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive(open_("run-7"), bus.services)
    asks = bus.services.ledger.asked

    def meanwhile(pool: str) -> list[AskedByEvent]:
        found = asks(pool)
        bus.grants(bus.workflows.commands[0])
        patch.undo()
        for each in found:
            bus.services.ledger.forget(each)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(bus.services.ledger, "asked", meanwhile)
        receive(close({"token": "run-7"}), bus.services)

    assert bus.workflows.commands[1].lease == bus.workflows.commands[0].lease_id


def test_a_close_of_an_open_that_was_refused_has_nothing_to_close(bus: LabWithBus) -> None:
    bus.keep(lease("event-other"))
    receive(open_("run-7"), bus.services)
    bus.decides(bus.workflows.commands[0], "refused")
    receive(close({"token": "run-7"}), bus.services)
    assert len(bus.workflows.started) == 1
    assert refusals(bus) == ["command.event.opened-nothing"]


def test_a_close_that_comes_while_its_open_is_being_read_keeps_the_open_from_opening(
    bus: LabWithBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The open has seen that no close was noted, and is not in the ledger yet, as the close looks for it."""
    reads, closes = orders.opening, iter([close({"token": "run-7"})])

    def meanwhile(*given: Any) -> Any:
        for body in closes:
            receive(body, bus.services)
        return reads(*given)

    monkeypatch.setattr(orders, "opening", meanwhile)
    receive(open_("run-7"), bus.services)

    assert bus.workflows.started == []
    assert refusals(bus) == ["command.event.nothing-opened", "command.event.closed-before"]
    assert bus.services.ledger.asked("gpu") == []


def test_a_close_while_its_open_looks_waits_for_it(bus: LabWithBus, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = bus.services.ledger.close_noted

    def meanwhile(pool: str, opening: str, now: datetime) -> bool:
        found = looks(pool, opening, now)
        with pytest.raises(TryLater):
            receive(close({"token": "run-7"}), bus.services)
        return found

    monkeypatch.setattr(bus.services.ledger, "close_noted", meanwhile)
    receive(open_("run-7"), bus.services)

    assert [command.verb for command in bus.workflows.commands] == [Verb.OPEN]
    assert bus.eventbridge.put == []


@pytest.mark.parametrize("at", range(1, 8))
def test_an_open_that_died_on_its_way_still_heeds_the_close_before_it(bus: LabWithBus, at: int) -> None:
    receive(close({"token": "run-7"}), bus.services)
    receive_and_die(bus, open_("run-7"), at)
    receive(open_("run-7"), bus.services)
    assert bus.workflows.started == []
    assert bus.services.ledger.asked("gpu") == []
    assert "command.event.closed-before" in refusals(bus)


@pytest.mark.parametrize("at", range(1, 8))
def test_a_close_that_comes_after_its_open_died_waits_for_it(bus: LabWithBus, at: int) -> None:
    receive_and_die(bus, open_("run-7"), at)
    with suppress(TryLater):
        receive(close({"token": "run-7"}), bus.services)
    for command in bus.workflows.commands:
        bus.grants(command)
    bus.workflows.decide = bus.grants
    for body in (open_("run-7"), close({"token": "run-7"})):
        receive(body, bus.services)

    opened = [command for command in bus.workflows.commands if command.verb is Verb.OPEN]
    closed = [command.lease for command in bus.workflows.commands if command.verb is Verb.CLOSE]
    assert closed == [command.lease_id for command in opened]


class Died(BaseException):
    """The function's process is gone."""


def receive_and_die(bus: LabWithBus, body: str, at: int) -> None:
    """The function ends after its n-th call of the table, if it makes so many; the queue will deliver it again."""
    left = iter(range(at - 1))

    def deadly(act: Callable[..., Any]) -> Callable[..., Any]:
        def call(**given: Any) -> Any:
            answer = act(**given)
            if next(left, None) is None:
                raise Died
            return answer

        return call

    with pytest.MonkeyPatch.context() as patch, suppress(Died):
        for name in ("get_item", "query", "put_item", "delete_item"):
            patch.setattr(bus.dynamodb, name, deadly(getattr(bus.dynamodb, name)))
        receive(body, bus.services)


def test_a_note_of_a_close_is_gone_once_no_open_command_is_good_any_more(bus: LabWithBus) -> None:
    receive(close({"token": "run-7"}), bus.services)
    [note] = bus.kept().values()
    assert int(note["ttl"]["N"]) == (EIGHT + 60 * MINUTE).timestamp()


# --- without a token -----------------------------------------------------------------------------


def test_without_a_token_several_leases_are_refused_with_advice(bus: LabWithBus) -> None:
    bus.keep(lease())
    bus.keep(lease("event-2"))
    answer = refused(bus, close())
    assert "event-1 (ci-training), event-2 (ci-training)" in answer["reason"]["text"]
    assert "the token of the open" in answer["reason"]["text"]


# --- what the queue hands out again ----------------------------------------------------------------


def test_a_token_is_of_one_pool(bus: LabWithBus) -> None:
    document = LAB.model_dump()
    document["events"]["allow"]["training"]["pools"] = None
    bus.services.lab = Lab.model_validate(document)
    for number, pool in enumerate(bus.services.lab.pools):
        receive(json.dumps(event({"token": "run-7", "pool": pool}, id=f"open-{number}")), bus.services)

    commands = bus.workflows.commands
    assert len({command.id for command in commands}) == len(commands) == len(bus.services.lab.pools)


def test_an_answered_event_that_comes_again_does_nothing(bus: LabWithBus) -> None:
    bus.workflows.decide = bus.grants
    bus.keep(lease())
    receive(close(), bus.services)
    [asked] = bus.services.ledger.asked("gpu")
    bus.services.ledger.forget(asked)
    started, before = len(bus.workflows.started), bus.kept()

    receive(close(), bus.services)

    assert (len(bus.workflows.started), bus.kept(), bus.eventbridge.put) == (started, before, [])


def test_a_waiting_close_that_comes_again_late_is_about_the_same_lease(bus: LabWithBus) -> None:
    bus.keep(lease())
    receive(close(), bus.services)
    bus.keep(lease("event-2"))
    bus.at(20)
    receive(close(), bus.services)

    assert {command.lease for command in bus.workflows.commands} == {"event-1"}
    assert bus.eventbridge.put == []
