"""Why a pool is as it is, from what was decided at the time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from cli.understand.why import document
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.audit.why import explain
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.reasons.reason import draw
from lamplighter.values.clock_time import clock_time

EIGHT = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def lease(closes: int = 120, state: LeaseState = LeaseState.OPEN) -> Lease:
    return Lease(
        id="evening-2026-11-20",
        pool="gpu",
        nodes=2,
        owner="evening-class",
        source="window",
        state=state,
        opens=EIGHT,
        closes=EIGHT + closes * MINUTE,
        hold=Money.of(1, "USD"),
        window="evening",
    )


def entry(minutes: int, kind: str, what: str, why: str) -> Entry:
    return Entry(EIGHT + minutes * MINUTE, "gpu", kind, "alice", what, why)


GRANTED = entry(0, "lease-granted", "granted the evening lease", "2 of 2 nodes were free")
CLOSING = entry(60, "closing", "closes the evening lease", "the exam is over")


def by_clock(at: datetime) -> str:
    return f"{at:%H:%M}"


def test_while_a_lease_is_in_force_it_is_the_reason_by_one_clock() -> None:
    found = explain([lease()], [GRANTED], EIGHT + 30 * MINUTE, max_nodes=2)

    assert found.nodes == 2
    assert found.target.reason_by(by_clock) == "the evening lease justifies 2 until 22:00"
    assert document(found, by_clock)["reason"] == "the evening lease justifies 2 until 22:00"


def test_the_decision_is_named_unless_it_is_the_last_row_anyway() -> None:
    ready = entry(4, "node-ready", "node a is ready", "its GPUs are validated")

    after = explain([lease()], [GRANTED, ready], EIGHT + 30 * MINUTE, max_nodes=2)
    assert draw(after.last_decision, ENGLISH, by_clock) == (
        "Last decided at 20:00: alice granted the evening lease, because 2 of 2 nodes were free."
    )
    assert explain([lease()], [GRANTED], EIGHT + 30 * MINUTE, max_nodes=2).last_decision is None
    assert explain([], [], EIGHT, max_nodes=2).last_decision is None


def test_a_past_instant_knows_nothing_of_a_later_extension_or_close() -> None:
    extended = replace(entry(90, "extended", "extended it", "more time"), lease=lease().id)
    extended = replace(extended, details={"from": "2026-11-20T22:00:00Z"})
    closing = replace(CLOSING, at=EIGHT + 150 * MINUTE, lease=lease().id)
    closing = replace(closing, details={"from": "2026-11-20T23:00:00Z"})
    closed = lease(closes=150, state=LeaseState.CLOSED)

    def reason(minutes: int) -> str:
        found = explain([closed], [GRANTED, extended, closing], EIGHT + minutes * MINUTE, max_nodes=2)
        return found.target.reason_by(by_clock)

    assert reason(60) == "the evening lease justifies 2 until 22:00"
    assert reason(120) == "the evening lease justifies 2 until 23:00"
    assert reason(155) == "no lease is in force, so no node is justified"


def test_after_a_close_the_close_is_the_reason() -> None:
    closed = lease(closes=60, state=LeaseState.CLOSED)

    found = explain([closed], [GRANTED, CLOSING], EIGHT + 90 * MINUTE, max_nodes=2)

    assert found.nodes == 0
    assert found.decision == CLOSING


def test_a_past_instant_is_explained_by_what_was_known_then() -> None:
    closed = lease(closes=60, state=LeaseState.CLOSED)

    found = explain([closed], [GRANTED, CLOSING], EIGHT + 30 * MINUTE, max_nodes=2)

    assert (found.nodes, found.decision) == (2, GRANTED)
    assert document(found, clock_time)["trail"] == [
        {
            "at": "2026-11-20T20:00:00Z",
            "kind": "lease-granted",
            "who": "alice",
            "what": "granted the evening lease",
            "why": "2 of 2 nodes were free",
            "lease": None,
            "nodes": None,
        }
    ]


def test_a_window_that_was_open_without_a_lease_is_named_with_the_reason() -> None:
    refused = replace(lease(state=LeaseState.REFUSED), because="only 1 USD are left", date="2026-11-20")
    opens = int(EIGHT.timestamp())
    window = PlannedWindow(
        "evening", "gpu", EIGHT.date(), 2, opens, opens + 7200, (), "evening-class", order=0
    )

    found = explain([refused], [], EIGHT + 30 * MINUTE, max_nodes=2, windows=[window])

    assert found.nodes == 0
    assert [str(unmet.reason) for unmet in found.unmet] == [
        "window evening asks for 2 nodes until 22:00 UTC on 2026-11-20; its lease was refused: only 1 USD are left"
    ]
