"""A lease as a value: in which states and instants it means what, and what is kept of it."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.domain.leases.lease import Lease, LeaseState, MovedLease
from lamplighter.domain.money.node_time import NodeTime
from tests.builders.leases import EIGHT, HOUR, MINUTE, SECOND, persons, usd

PLAIN = persons(nodes=3, closes=60, state=LeaseState.ADMITTED, period="")
MORE: dict[str, tuple[Any, object]] = {
    "window": ("evening", "evening"),
    "date": ("2026-11-20", "2026-11-20"),
    "by": ("tom", "tom"),
    "because": ("the exam", "the exam"),
    "generation": (7, 7),
    "period": ("2026-11", "2026-11"),
    "order": (4, 4),
    "refusal": ("the pool is full", "the pool is full"),
    "asked_until": (EIGHT + 10 * MINUTE, "2026-11-20T20:10:00Z"),
    "ready_by": (EIGHT + 11 * MINUTE, "2026-11-20T20:11:00Z"),
    "missing": (1, 1),
    "wanted_before": (
        ((EIGHT, 0), (EIGHT + MINUTE, 2)),
        [["2026-11-20T20:00:00Z", 0], ["2026-11-20T20:01:00Z", 2]],
    ),
    "ordered": (EIGHT + 12 * MINUTE, "2026-11-20T20:12:00Z"),
    "ready": (EIGHT + 13 * MINUTE, "2026-11-20T20:13:00Z"),
    "closed": (EIGHT + 14 * MINUTE, "2026-11-20T20:14:00Z"),
    "node_seconds": (0, 0),
    "cost": (usd(5), {"amount": "5.0000", "currency": "USD"}),
    "overrun": (
        NodeTime(MINUTE, usd(2)),
        {"node_microseconds": 60_000_000, "amount": "2.0000", "currency": "USD"},
    ),
    "price_per_hour": (Decimal("1.50"), "1.50"),
    "instance_types": (("g6.xlarge", "g5.xlarge"), ["g6.xlarge", "g5.xlarge"]),
    "run": ("open-1", "open-1"),
    "kept": ("bob", "bob"),
    "replaced": (("i-1", "i-2"), ["i-1", "i-2"]),
    "moved_to": (MovedLease("big", "cli-2"), {"pool": "big", "lease": "cli-2"}),
    "moved_from": (MovedLease("old", "cli-0"), {"pool": "old", "lease": "cli-0"}),
    "taken": (("i-3",), ["i-3"]),
}
"""What a lease may have, and how that is written."""
NOTHING_MORE = {**dict.fromkeys(MORE), "generation": 0, "period": "", "order": 0, "missing": 0}
FULL = replace(PLAIN, state=LeaseState.CLOSED, **{name: value for name, (value, _) in MORE.items()})


def test_a_lease_that_has_nothing_more_is_written_and_read_back() -> None:
    written = PLAIN.to_json()

    assert written == {
        "id": "cli-1",
        "pool": "gpu",
        "nodes": 3,
        "owner": "alice",
        "source": "cli",
        "state": "admitted",
        "opens": "2026-11-20T20:00:00Z",
        "closes": "2026-11-20T21:00:00Z",
        "hold": {"amount": "1.0000", "currency": "USD"},
        **NOTHING_MORE,
    }
    assert Lease.from_json(written) == PLAIN
    # An early release wrote nothing of what came later.
    early = {key: value for key, value in written.items() if key not in NOTHING_MORE}
    assert Lease.from_json(early) == PLAIN


def test_all_that_a_lease_has_is_written_and_read_back() -> None:
    written = FULL.to_json()

    assert {name: written[name] for name in MORE} == {name: text for name, (_, text) in MORE.items()}
    assert Lease.from_json(written) == FULL


def test_a_hold_that_is_no_money_is_named() -> None:
    with pytest.raises(TypeError, match="4 is no Money"):
        Lease.from_json({**PLAIN.to_json(), "hold": 4})


@pytest.mark.parametrize(
    ("after", "in_force"), [(-SECOND, False), (0 * SECOND, True), (HOUR - SECOND, True), (HOUR, False)]
)
def test_a_lease_is_in_force_from_its_opening_and_not_at_its_end(after: timedelta, in_force: bool) -> None:
    assert PLAIN.in_force(EIGHT + after) is in_force
    assert not replace(PLAIN, state=LeaseState.PLANNED).in_force(EIGHT + after)


@pytest.mark.parametrize(
    ("opens", "closes", "overlaps"), [(-60, 0, False), (-60, 1, True), (59, 90, True), (60, 90, False)]
)
def test_leases_that_only_touch_do_not_overlap(opens: int, closes: int, overlaps: bool) -> None:
    assert PLAIN.overlaps(EIGHT + opens * MINUTE, EIGHT + closes * MINUTE) is overlaps


def test_a_lease_that_is_granted_a_minute_late_takes_over_what_runs_and_a_later_one_had_nothing() -> None:
    assert PLAIN.granted_at(EIGHT + MINUTE) == PLAIN
    late = EIGHT + MINUTE + SECOND
    assert PLAIN.granted_at(late) == replace(PLAIN, wanted_before=((late, 0),))


def test_what_a_lease_wanted_before_is_kept_where_it_wants_another_number() -> None:
    short = PLAIN.wanting(3, 1, EIGHT)
    assert short == replace(PLAIN, missing=1, wanted_before=((EIGHT, 3),))
    assert short.wanting(2, 0, EIGHT + MINUTE) == replace(PLAIN, nodes=2, wanted_before=((EIGHT, 3),))
    assert short.wanting(3, 3, EIGHT + MINUTE).wanted_before == ((EIGHT, 3), (EIGHT + MINUTE, 2))


def test_a_lease_is_its_owner_s_and_the_asker_s_and_is_called_by_its_window() -> None:
    asked = replace(PLAIN, by="tom")
    assert [asked.is_of(name) for name in ("alice", "tom", "bob")] == [True, True, False]
    assert (str(PLAIN.called()), str(FULL.called())) == ("alice's lease", "the evening lease")
    assert (PLAIN.begins, FULL.begins) == (EIGHT, EIGHT + 11 * MINUTE)
