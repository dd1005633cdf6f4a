"""What is told of each kind of entry of the audit trail, and in answer to each decision."""

import dataclasses
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.data.texts import Texts
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Decision, Verb
from lamplighter.domain.events import lab_event, telling
from lamplighter.domain.events.asked import DECIDED_WITHIN, AskedByEvent
from lamplighter.domain.events.telling import Known
from lamplighter.domain.leases.lease import LeaseState, MovedLease
from lamplighter.domain.notices.phrases import clock_and_date
from lamplighter.reasons.reason import Sentences, reason
from lamplighter.values import zones
from tests.unit.events.bus import EIGHT, EVENT, MINUTE, lease

LEASE = lease(nodes=2)
WHY = reason("lease.closed-by", by="alice")
ENGLISH = Texts("en")


def known(*leases: Any, **more: Any) -> Known:
    said: dict[str, Any] = {
        "leases": {each.id: each for each in leases or (LEASE,)},
        "replies": {LEASE.id: EVENT},
    }
    return Known("gpu-lab", ENGLISH, clock_and_date(ENGLISH, zones.zone("Asia/Seoul")), **(said | more))


def entry(kind: str, **more: Any) -> Entry:
    said: dict[str, Any] = {"who": "leases", "what": "it happened", "why": WHY, "lease": LEASE.id}
    return Entry(EIGHT, "gpu", kind, **(said | more))


def told(kind: str, of: Known | None = None, **more: Any) -> dict[str, Any] | None:
    """The detail of the event of one entry, with its detail-type."""
    [only] = telling.of_trail([("key", entry(kind, **more))], of or known())
    assert only.keys == ("key",)
    return None if not only.events else {"type": only.events[0].TYPE, **only.events[0].detail()}


def detail(kind: str, of: Known | None = None, **more: Any) -> dict[str, Any]:
    """What is told of an entry that is told."""
    found = told(kind, of, **more)
    assert found is not None
    return found


COMMON = {
    "version": "1", "lab": "gpu-lab", "pool": "gpu", "at": "2026-11-20T20:00:00Z", "lease": LEASE.id,
    "owner": "ci-training", "in_reply_to": EVENT,
}  # fmt: skip
ENDS, OPENS = "2026-11-20T21:00:00Z", "2026-11-20T19:59:00Z"
DEGRADED = {"type": "pool-degraded", "nodes": 2, "closes": ENDS, "cause": None, "available": None}


@pytest.mark.parametrize(
    ("kind", "details", "expected"),
    [
        (
            "lease-granted",
            {},
            {"type": "lease-granted", "nodes": 2, "opens": OPENS, "closes": ENDS, "moved_from": None},
        ),
        ("refused", {}, {"type": "lease-refused", "earliest": None}),
        ("announced", {"notice": "open"}, {"type": "pool-open", "nodes": 2, "closes": ENDS}),
        ("announced", {"notice": "degraded"}, DEGRADED),
        ("announced", {"notice": "failed"}, DEGRADED),
        (
            "announced",
            {"notice": "short", "cause": "vcpu-quota"},
            DEGRADED
            | {
                "cause": "vcpu-quota",
                "available": {"zones": [], "instance_types": []},
            },
        ),
        ("warned", {"notice": "warned"}, {"type": "warned", "closes": ENDS}),
        ("extended", {}, {"type": "extended", "closes": ENDS}),
        ("shortened", {}, {"type": "extended", "closes": ENDS}),
        ("closing", {"from": ENDS}, {"type": "pool-closing", "moved_to": None}),
        ("breach", {"rule": "r", "action": "close"}, {"type": "breach", "rule": "r", "action": "close"}),
        ("breach", {}, {"type": "breach", "rule": None, "action": None}),
        ("leaked", {"rule": "leaked"}, {"type": "leaked", "rule": "leaked"}),
    ],
)
def test_each_kind_is_told_as_its_event(kind: str, details: dict[str, str], expected: dict[str, Any]) -> None:
    event = detail(kind, details=details)
    assert event.pop("reason") == {
        "text": "alice closed it",
        "code": "lease.closed-by",
        "values": {"by": "alice"},
        "parts": [],
    }
    assert event == COMMON | expected


EXPLAINS = "planned answered failsafe-armed scaled node-ready drained metered kept of-a-later-release"


@pytest.mark.parametrize("kind", EXPLAINS.split())
def test_what_only_explains_is_not_told(kind: str) -> None:
    assert told(kind) is None


@pytest.mark.parametrize("notice", ["closed", "checks", "of-a-later-release", None])
def test_a_notice_of_another_kind_is_not_told(notice: str | None) -> None:
    assert told("announced", details={"notice": notice} if notice else {}) is None


@pytest.mark.parametrize("kind", ["lease-granted", "refused", "extended", "shortened", "closing"])
def test_what_answers_a_request_is_told_by_the_answer_alone(kind: str) -> None:
    assert told(kind, who="training (event)") is None
    assert told(kind, who="alice") is not None


def test_a_lease_that_moved_is_told_with_the_pool_that_it_left_and_the_pool_that_took_it() -> None:
    there = MovedLease("other", "evening-2")
    moved, taken = {"pool": there.pool, "lease": there.lease}, known(replace(LEASE, moved_from=there))
    # Nobody asked for it by an event of its own, whoever gave the command of the first one.
    granted = detail("lease-granted", taken, who="training (event)")
    assert (granted["type"], granted["moved_from"]) == ("lease-granted", moved)
    assert detail("closing", known(replace(LEASE, moved_to=there)))["moved_to"] == moved


@pytest.mark.parametrize("kind", ["announced", "warned", "closed", "breach", "leaked", "receipt"])
def test_what_follows_a_request_is_told_whoever_it_names(kind: str) -> None:
    assert told(kind, who="training (event)", details={"notice": "open"}) is not None


def test_what_a_lease_is_not_known_for_is_told_without_it() -> None:
    for kind in ("announced", "warned", "extended", "closing", "closed", "receipt", "refused"):
        event = detail(kind, known(lease("other")), details={"notice": "open"})
        assert (event["lease"], event["owner"]) == (LEASE.id, None)


def test_a_pool_is_closed_with_the_nodes_that_granted_leases_still_have() -> None:
    ended = lease(state=LeaseState.CLOSED, closes=EIGHT + 10 * MINUTE)
    others = (
        lease("event-2", nodes=1),
        lease("planned", nodes=4, state=LeaseState.PLANNED),
        lease("refused", nodes=4, state=LeaseState.REFUSED),
        lease("later", nodes=4, opens=EIGHT + 30 * MINUTE),
        lease("closing", nodes=4, state=LeaseState.CLOSING),
    )

    for leases, nodes in (((ended,), 0), ((ended, *others), 1)):
        event = detail("closed", known(*leases))
        assert (event["type"], event["nodes"]) == ("pool-closed", nodes)


def test_a_proof_of_zero_of_a_whole_pool_is_told_and_one_of_a_lease_by_its_close() -> None:
    event = detail("zero-proven", lease=None, nodes=0)
    assert (event["type"], event["nodes"], event["lease"]) == ("pool-closed", 0, None)
    assert told("zero-proven", nodes=0) is None


def test_the_receipt_says_what_the_lease_cost() -> None:
    cost = {"amount": "2.474", "currency": "USD"}
    receipt = {"node_seconds": 7200, "cost": cost, "closed": "2026-11-20T21:05:00Z"}
    event = detail("receipt", known(receipt=lambda _: receipt))
    assert {key: event[key] for key in ("type", "nodes", *receipt)} == {
        "type": "receipt",
        "nodes": 2,
        **receipt,
    }
    without = detail("receipt")
    assert (without["node_seconds"], without["cost"], without["closed"]) == (0, None, None)


# --- verdicts ------------------------------------------------------------------------------------


def verdict(check: str, node: str, came_to: str, **more: Any) -> Entry:
    what = reason("audit.verdict", check=check, verdict=came_to, node=node)
    return dataclasses.replace(entry("verdict", what=what), **more)


def test_the_verdicts_of_one_run_are_one_event() -> None:
    rows = [
        ("a", verdict("vectoradd", "n1", "passed")),
        ("b", verdict("vectoradd", "n2", "failed", why="no output")),
        ("c", verdict("dcgm", "n1", "passed")),
        ("d", verdict("dcgm", "n2", "not-proven")),
    ]
    [only] = telling.of_trail(rows, known())

    assert only.keys == ("a", "b", "c", "d")
    [event] = only.events
    said = event.detail()
    assert (event.TYPE, said["reason"]["text"]) == ("verdict", "checks: 2, not passed: 2")  # type: ignore[index,call-overload]
    assert said["checks"] == [
        {"check": "vectoradd", "passed": 1, "failed": 1, "not_proven": 0},
        {"check": "dcgm", "passed": 1, "failed": 0, "not_proven": 1},
    ]
    failed: Any = said["failed"]
    assert [(each["check"], each["node"], each["verdict"], each["reason"]["text"]) for each in failed] == [
        ("vectoradd", "n2", "failed", "no output"),
        ("dcgm", "n2", "not-proven", "alice closed it"),
    ]


def test_verdicts_of_another_lease_or_another_run_are_another_event() -> None:
    rows = [
        ("a", verdict("dcgm", "n1", "passed")),
        ("b", verdict("dcgm", "n1", "passed", lease="event-2")),
        ("c", verdict("dcgm", "n1", "passed", at=EIGHT + MINUTE)),
    ]
    assert [each.keys for each in telling.of_trail(rows, known())] == [("a",), ("b",), ("c",)]


def test_a_verdict_names_twenty_that_failed_and_counts_all() -> None:
    rows = [(f"{number}", verdict("dcgm", f"n{number}", "failed")) for number in range(50)]
    [only] = telling.of_trail(rows, known())
    [event] = only.events
    assert isinstance(event, lab_event.Verdict)
    assert len(event.failed) == telling.MOST_FAILED
    assert event.checks[0].failed == 50


# --- reasons -------------------------------------------------------------------------------------


def test_a_reason_is_drawn_by_the_labs_clock_and_has_its_values_for_programs() -> None:
    event = told(
        "refused", why=reason("lease.close-is-stale", closes=EIGHT, lease="it", until=EIGHT + MINUTE)
    )
    assert event is not None
    assert "05:00 on 2026-11-21 (Asia/Seoul)" in event["reason"]["text"]
    assert event["reason"]["code"] == "lease.close-is-stale"


def test_several_reasons_are_parts_and_words_of_people_have_no_code() -> None:
    several = detail("refused", why=Sentences((WHY, "words")))
    assert (several["reason"]["code"], several["reason"]["text"]) == (None, "alice closed it; words")
    assert [part if isinstance(part, str) else part["code"] for part in several["reason"]["parts"]] == [
        "lease.closed-by",
        "words",
    ]
    words = detail("refused", why="x" * 5000)
    assert (words["reason"]["code"], len(words["reason"]["text"])) == (None, lab_event.LONGEST_TEXT)


# --- answers -------------------------------------------------------------------------------------

ASKED = AskedByEvent(EVENT, "command-1", Verb.OPEN, "gpu", "ci-training", LEASE.id, EIGHT + 15 * MINUTE)


def answer(outcome: str, of: Any = LEASE, ago: timedelta = timedelta(), **more: Any) -> dict[str, Any]:
    decision = Decision("command-1", outcome, WHY, EIGHT - ago, **more)
    event = telling.of_answer(ASKED, decision, of, known(), EIGHT + MINUTE)
    assert event is not None
    answered = {"type": event.TYPE, **event.detail()}
    answered.pop("reason")
    return answered


@pytest.mark.parametrize(
    ("outcome", "more", "expected"),
    [
        (
            "granted",
            {"lease": LEASE.id},
            {"type": "lease-granted", "nodes": 2, "opens": OPENS, "closes": ENDS, "moved_from": None},
        ),
        ("extended", {}, {"type": "extended", "closes": ENDS}),
        ("shortened", {}, {"type": "extended", "closes": ENDS}),
        ("closing", {}, {"type": "pool-closing", "moved_to": None}),
        ("over", {}, {"type": "lease-refused", "earliest": None}),
        ("refused", {}, {"type": "lease-refused", "earliest": None, "lease": None}),
        (
            "refused",
            {"earliest": EIGHT + 60 * MINUTE},
            {"type": "lease-refused", "earliest": ENDS, "lease": None},
        ),
    ],
)
def test_each_decision_has_its_answer(outcome: str, more: dict[str, Any], expected: dict[str, Any]) -> None:
    assert answer(outcome, **more) == COMMON | expected


def test_an_open_that_is_put_again_after_its_lease_ended_is_refused() -> None:
    again = answer("granted", lease(state=LeaseState.CLOSED), MINUTE)
    assert (again["type"], again["lease"]) == ("lease-refused", None)


def test_what_is_not_decided_is_not_answered_until_no_decision_can_come() -> None:
    last = ASKED.expires + DECIDED_WITHIN
    assert telling.of_answer(ASKED, None, None, known(), last) is None
    event = telling.of_answer(ASKED, None, None, known(), last + timedelta(seconds=1))
    assert event is not None
    assert (event.TYPE, event.reason.code, event.lease) == ("lease-refused", "command.event.undecided", None)


def test_every_class_of_an_event_has_a_type_of_its_own() -> None:
    types = [kind.TYPE for kind in lab_event.KINDS]
    assert " ".join(sorted(types)) == (
        "breach extended leaked lease-granted lease-refused pool-closed pool-closing pool-degraded pool-open"
        " receipt verdict warned"
    )


def test_a_close_of_a_whole_pool_is_told_of_each_of_its_leases() -> None:
    other = lease("event-2")
    [only] = telling.of_trail(
        [("key", entry("closing", details={"leases": f"{LEASE.id},{other.id}"}))], known(LEASE, other)
    )

    assert [(event.TYPE, event.lease) for event in only.events] == [
        ("pool-closing", LEASE.id),
        ("pool-closing", other.id),
    ]


def test_time_without_a_lease_has_a_receipt_too() -> None:
    details = {"node_seconds": "25", "amount": "0.0086", "currency": "USD", "closed": ENDS}
    receipt = detail("receipt", lease=None, details=details)
    assert (receipt["lease"], receipt["node_seconds"], receipt["closed"]) == (None, 25, ENDS)
    assert receipt["cost"] == {"amount": "0.0086", "currency": "USD"}
