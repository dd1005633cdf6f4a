"""How many nodes a pool should have: which leases count from when to when, and the reason."""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pytest

from lamplighter.domain.leases.curfew import Curfew
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.money import Money
from lamplighter.domain.pool.target import Target, begun, due, target_at
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import reason
from lamplighter.values.zones import zone
from tests.builders.leases import EIGHT, HOUR, SECOND, lease
from tests.drawn import sentence

OPENS = EIGHT
LEASE = lease("evening", hold=Money.zero("USD"))
ALICES = replace(LEASE, id="cli-1", window=None, owner="alice", nodes=1, closes=OPENS + HOUR)
GRANTED = (LeaseState.ADMITTED, LeaseState.OPENING, LeaseState.OPEN)


@pytest.mark.parametrize(
    ("seconds", "target"),
    [(-1, Target(0, ())), (0, Target(2, (LEASE,))), (7199, Target(2, (LEASE,))), (7200, Target(0, ()))],
)
def test_a_lease_justifies_its_nodes_from_its_opening_to_its_end(seconds: int, target: Target) -> None:
    assert target_at([LEASE], OPENS + seconds * SECOND, 3) == target


@pytest.mark.parametrize("state", list(LeaseState))
def test_only_a_granted_lease_justifies_nodes(state: LeaseState) -> None:
    assert target_at([replace(LEASE, state=state)], OPENS, 3).nodes == (2 if state in GRANTED else 0)


def test_several_leases_add_up_to_the_pools_most_the_first_to_end_first() -> None:
    assert target_at([LEASE, ALICES], OPENS, 4) == Target(3, (ALICES, LEASE))
    assert target_at([LEASE, ALICES], OPENS, 2) == Target(2, (ALICES, LEASE))
    assert target_at([LEASE], OPENS, 1) == Target(1, (LEASE,))
    assert target_at([replace(LEASE, missing=1)], OPENS, 3).nodes == 1
    assert target_at([LEASE, ALICES], OPENS, 4).leases == ("cli-1", "evening")


def test_at_the_instant_of_a_handover_only_the_lease_that_begins_counts() -> None:
    ends, begins = replace(LEASE, closes=OPENS + HOUR), replace(ALICES, opens=OPENS + HOUR)
    following = replace(begins, closes=OPENS + 2 * HOUR)
    longer = replace(LEASE, id="day", nodes=1)

    def at(seconds: int) -> Target:
        return target_at([ends, following], OPENS + HOUR + seconds * SECOND, 4)

    assert (at(-1), at(0), at(3599), at(3600)) == (
        Target(2, (ends,)),
        Target(1, (following,)),
        Target(1, (following,)),
        Target(0, ()),
    )
    assert target_at([ends, following, longer], OPENS + HOUR, 4) == Target(2, (following, longer))
    assert target_at([ends, ALICES, longer], OPENS + HOUR, 4) == Target(1, (longer,))


def test_a_target_says_which_leases_justify_it() -> None:
    both = (
        "alice's lease justifies 1 until 21:00 UTC on 2026-11-20 and "
        "the evening lease justifies 2 until 22:00 UTC on 2026-11-20"
    )

    assert str(Target(3, (ALICES, LEASE)).reason) == both
    assert str(Target(2, (ALICES, LEASE)).reason) == f"{both}; the pool has at most 2"
    assert str(Target(0, ()).reason) == "no lease is in force, so no node is justified"


def test_a_lease_that_no_run_has_come_to_is_ordered_by_its_own_run_alone() -> None:
    waiting = replace(LEASE, state=LeaseState.ADMITTED)
    ordered = replace(waiting, id="ordered", ordered=OPENS)
    opened = replace(LEASE, id="opened")

    assert begun([waiting, ordered, opened], None) == [ordered, opened]
    assert begun([waiting, ordered, opened], "evening") == [waiting, ordered, opened]
    assert begun([waiting, ordered, opened], "ordered") == [ordered, opened]


@pytest.mark.parametrize(("seconds", "waits"), [(-1, False), (0, True), (7199, True), (7200, False)])
def test_a_planned_lease_is_due_from_its_opening_until_before_its_end(seconds: int, *, waits: bool) -> None:
    planned = replace(LEASE, state=LeaseState.PLANNED)
    assert due([planned, LEASE], OPENS + seconds * SECOND) == ([planned] if waits else [])


def test_what_is_due_comes_by_opening_then_by_the_order_of_the_windows() -> None:
    planned = replace(LEASE, state=LeaseState.PLANNED)
    late, second, first = (
        replace(planned, id="a", opens=OPENS + SECOND),
        replace(planned, id="b", order=2),
        replace(planned, id="c", order=1),
    )

    assert due([late, second, first], OPENS + HOUR) == [first, second, late]


TERMS = Terms(
    pool="gpu",
    max_nodes=3,
    price_per_hour=Decimal(2),
    budget=Money.of(10, "USD"),
    per="month",
    zone=zone("Asia/Seoul"),
    longest=12 * HOUR,
    default=HOUR,
)


def test_terms_hold_at_the_price_at_which_a_lease_was_granted() -> None:
    granted = replace(LEASE, price_per_hour=Decimal(1))
    assert TERMS.hold(2, OPENS, OPENS + HOUR) == Money.of(4, "USD")
    assert TERMS.as_granted(granted).hold(2, OPENS, OPENS + HOUR) == Money.of(2, "USD")
    assert TERMS.as_granted(LEASE) == TERMS


def test_terms_end_a_lease_at_the_curfew_and_say_so() -> None:
    # 06:00 in Seoul is 21:00 UTC.
    curfew = replace(TERMS, curfew=Curfew(6 * 60, zone("Asia/Seoul")))
    nine = OPENS + HOUR

    assert (curfew.ends(OPENS, OPENS + 2 * HOUR), TERMS.ends(OPENS, OPENS + 2 * HOUR)) == (nine, nine + HOUR)
    assert (curfew.curfew_at(nine), curfew.curfew_at(nine - SECOND), TERMS.curfew_at(nine)) == (
        nine,
        None,
        None,
    )
    assert told_until(curfew, nine) == "06:00 on 2026-11-21 (Asia/Seoul), the curfew"
    assert told_until(curfew, nine + SECOND) == "06:00 on 2026-11-21 (Asia/Seoul)"
    assert told_until(curfew, nine - HOUR) == "05:00 on 2026-11-21 (Asia/Seoul)"
    assert told_until(TERMS, nine) == "06:00 on 2026-11-21 (Asia/Seoul)"


def told_until(terms: Terms, closes: datetime) -> str:
    return sentence(document(reason("words.reason", reason=terms.until(closes))))
