"""How long the guard waits for others: at the last second in which it waits, and at the first in which it acts."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.capacity.calls import AFTER_END
from lamplighter.domain.capacity.evidence import Change, Changing
from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.budget import SWEEP_EVERY
from lamplighter.domain.guard.facts import END_PATIENCE, UNCLOSED_PATIENCE, waited_for
from lamplighter.domain.guard.guard import judge
from lamplighter.domain.guard.incident import Incident
from lamplighter.domain.guard.nodes import leases_past_their_end, surplus
from lamplighter.domain.guard.runs import closings, openings
from lamplighter.domain.guard.sizes import sizes
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.schedules.schedule import RunEnd
from lamplighter.reasons.reason import Reason, Sentences, reason
from tests.builders.guard_facts import after, earlier, lease, pool, seen
from tests.builders.leases import EIGHT, MINUTE, SECOND

EVENING = reason("lease.of-window", window="evening")


def test_after_a_lease_each_way_to_zero_has_its_time_before_the_next() -> None:
    """The close's schedule, a close that the guard starts, a sweep later its own order, and then AWS without our code.

    A failsafe that begins while the guard still waits would hide that our own ways failed.
    """
    assert END_PATIENCE + SWEEP_EVERY <= UNCLOSED_PATIENCE < AFTER_END


@pytest.mark.parametrize(
    ("age", "waits"), [(timedelta(), True), (10 * MINUTE - SECOND, True), (10 * MINUTE, False)]
)
def test_a_close_has_ten_minutes_to_give_its_order(age: timedelta, waits: bool) -> None:
    assert waited_for(after(replace(pool(), closing_since=EIGHT), age)) is waits


@pytest.mark.parametrize(
    ("age", "waits"),
    [(-SECOND, False), (timedelta(), True), (7 * MINUTE - SECOND, True), (7 * MINUTE, False)],
)
def test_the_close_of_a_lease_is_waited_for_seven_minutes(age: timedelta, waits: bool) -> None:
    assert waited_for(after(pool(lease(closes=0)), age)) is waits


@pytest.mark.parametrize(
    "state", [LeaseState.CLOSING, LeaseState.CLOSED, LeaseState.PLANNED, LeaseState.REFUSED]
)
def test_only_a_granted_lease_has_a_close_to_wait_for(state: LeaseState) -> None:
    assert not waited_for(after(pool(lease(closes=0, state=state)), MINUTE))


@pytest.mark.parametrize(("age", "waits"), [(15 * MINUTE - SECOND, True), (15 * MINUTE, False)])
def test_an_update_of_an_unleased_pool_has_a_quarter_of_an_hour(age: timedelta, waits: bool) -> None:
    rolling = Change(Changing.REPLACING, EIGHT)
    assert waited_for(after(seen(pool(), change=rolling), age)) is waits


@pytest.mark.parametrize(("age", "waits"), [(60 * MINUTE - SECOND, True), (60 * MINUTE, False)])
def test_an_update_of_a_leased_pool_has_an_hour(age: timedelta, waits: bool) -> None:
    rolling = Change(Changing.REPLACING, EIGHT)
    assert waited_for(after(seen(pool(lease()), change=rolling), age)) is waits


def test_an_update_whose_beginning_is_not_known_is_waited_for_and_one_that_replaces_nothing_is_not() -> None:
    begun = Change(Changing.REPLACING, None)

    assert waited_for(seen(pool(), change=begun))
    assert not waited_for(seen(pool(), change=Change(Changing.UPDATING)))
    assert not waited_for(seen(pool(), change=None, exists=False))
    for kind in (Changing.CREATING, Changing.DELETING):
        assert waited_for(seen(pool(), change=Change(kind)))


def test_a_lease_past_its_end_has_two_minutes_for_its_own_schedule() -> None:
    facts = pool(lease("late", nodes=1), lease(closes=0), running=["i-1"])

    assert judge(leases_past_their_end, after(facts, 2 * MINUTE - SECOND)) == ()
    why = reason("guard.past-its-end", lease=EVENING, pool="gpu", at=EIGHT)
    assert judge(leases_past_their_end, after(facts, 2 * MINUTE)) == (
        Breach(Rule.LEASE_PAST_ITS_END, why, GuardAction.CLOSE, lease="evening", target=1),
    )


def test_of_leases_that_are_over_the_last_that_really_had_time_is_named() -> None:
    """A lease that was closed before it opened ends where it begins: nothing of it ran."""
    ended = [
        lease("first", opens=-90, closes=-60, state=LeaseState.CLOSED),
        lease("second", opens=-60, closes=-5, state=LeaseState.CLOSED),
        lease("never", opens=0, closes=0, state=LeaseState.CLOSED),
        lease("next", opens=30, closes=60, state=LeaseState.PLANNED),
    ]

    assert judge(
        surplus,
        replace(pool(*ended, running=["i-1"]), raised_by=reason("guard.raised.directly"), over_since=EIGHT),
    ) == (
        Breach(
            Rule.NODE_WITHOUT_LEASE,
            Sentences(
                (
                    reason("guard.no-lease", pool="gpu", nodes=1),
                    reason("lease.ended-at", lease=ended[1].called(), at=ended[1].closes),
                    reason("guard.raised.directly"),
                )
            ),
            GuardAction.CLOSE,
            target=0,
            since=EIGHT,
        ),
    )


def test_a_surplus_beside_leases_is_told_with_its_number_and_taken_back_to_what_they_justify() -> None:
    facts = pool(lease(nodes=1), running=["i-1", "i-2", "i-3"])
    why = reason("guard.more-nodes", pool="gpu", nodes=3, more=2, target=facts.target.reason)

    assert judge(surplus, facts) == (Breach(Rule.MORE_NODES_THAN_LEASES, why, GuardAction.CLOSE, target=1),)


def test_an_opening_that_was_given_up_leaves_the_other_leases_their_nodes() -> None:
    one, other = lease(nodes=1, state=LeaseState.OPENING), lease("other", nodes=2)
    facts = replace(pool(other, one), max_nodes=4, opening_ended={"evening": RunEnd.FAILED})

    [breach] = judge(openings, facts)
    over = judge(openings, replace(facts, now=EIGHT + 120 * MINUTE))

    assert (breach.lease, breach.target) == ("evening", 2)
    assert over == ()


def test_an_opening_that_was_given_up_on_a_pool_that_became_smaller_takes_it_to_zero() -> None:
    one = lease(nodes=2, state=LeaseState.OPENING)
    [breach] = judge(openings, replace(pool(one), max_nodes=1, opening_ended={"evening": RunEnd.FAILED}))
    assert breach.target == 0


@pytest.mark.parametrize(("kept", "patience"), [([], 20 * MINUTE), (["i-1"], 75 * MINUTE)])
def test_a_closing_has_its_time_from_the_end_of_its_lease(kept: list[str], patience: timedelta) -> None:
    facts = pool(lease(closes=0, state=LeaseState.CLOSING), leaving=kept, desired=0)

    assert judge(closings, after(facts, patience - SECOND)) == ()
    assert judge(closings, after(replace(facts, incident=Incident(EIGHT)), patience)) == ()
    why = reason("guard.closing-abandoned", lease=EVENING, pool="gpu", since=EIGHT)
    assert judge(closings, after(facts, patience)) == (
        Breach(Rule.CLOSING_ABANDONED, why, GuardAction.CLOSE, lease="evening", target=0),
    )


@pytest.mark.parametrize(
    ("age", "action"),
    [
        (timedelta(), None),
        (10 * MINUTE - SECOND, None),
        (10 * MINUTE, GuardAction.RESTORE_SIZES),
        (30 * MINUTE - SECOND, GuardAction.RESTORE_SIZES),
        (30 * MINUTE, GuardAction.NOTE),
    ],
)
def test_a_maximum_is_put_back_ten_minutes_after_its_note(age: timedelta, action: GuardAction | None) -> None:
    changed = replace(
        seen(pool(), maximum=4), earlier=(earlier(Rule.SIZES_CHANGED, 0, GuardAction.NOTE, None),)
    )
    assert [breach.action for breach in judge(sizes, after(changed, age))] == ([action] if action else [])


@pytest.mark.parametrize(
    ("minimum", "maximum", "desired", "drift"),
    [
        (0, 2, 2, None),
        (1, 2, 2, reason("guard.sizes.minimum", pool="gpu", minimum=1)),
        (1, 3, 2, reason("guard.sizes.both", pool="gpu", minimum=1, maximum=3, most=2)),
        # A maximum that nodes still need is no drift: EKS would refuse a smaller one.
        (1, 3, 3, reason("guard.sizes.minimum", pool="gpu", minimum=1)),
        (0, 3, 3, None),
    ],
)
def test_changed_sizes_are_named(minimum: int, maximum: int, desired: int, drift: Reason | None) -> None:
    facts = pool(lease())
    changed = seen(facts, minimum=minimum, maximum=maximum, ordered=desired)

    assert [(breach.reason, breach.action) for breach in judge(sizes, changed)] == (
        [(drift, GuardAction.RESTORE_SIZES)] if drift else []
    )
