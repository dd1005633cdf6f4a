"""What ends a lease early: at which second the guard warns its people and why, and when it closes the lease."""

from dataclasses import replace
from datetime import datetime

import pytest

from lamplighter.domain.capacity.evidence import Seen
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.guard.breach import Breach, EarlierBreach, GuardAction, Rule
from lamplighter.domain.guard.budget import reached
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.failsafe import failsafe
from lamplighter.domain.guard.guard import judge
from lamplighter.domain.guard.leases import idle, too_long
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.money.overdraft import Overdraft
from lamplighter.reasons.reason import Sentences, reason
from tests.builders.guard_facts import earlier, lease, pool
from tests.builders.leases import EIGHT, HOUR, MINUTE, SECOND

ALICES = reason("lease.of-owner", owner="alice")
TOO_LONG = reason("guard.too-long", lease=ALICES, pool="gpu", since=EIGHT, longest=4 * HOUR)


def outlasting(window: str | None, closes: int) -> PoolFacts:
    """A lease that began at eight, on a pool whose leases may last four hours."""
    one = replace(lease(nodes=1, opens=0, closes=closes), window=window)
    return replace(
        pool(one, lease("other", nodes=2, opens=120, closes=440)), max_nodes=4, longest_lease=4 * HOUR
    )


def test_who_has_a_lease_that_is_too_long_is_told_a_quarter_of_an_hour_before_its_longest_end() -> None:
    facts = outlasting(None, closes=241)
    due = EIGHT + 225 * MINUTE

    assert judge(too_long, replace(facts, now=due - SECOND)) == ()
    why = reason("guard.ends-early", why=TOO_LONG, at=EIGHT + 240 * MINUTE)
    assert judge(too_long, replace(facts, now=due)) == (
        Breach(Rule.LEASE_TOO_LONG, why, GuardAction.WARN, lease="evening"),
    )


def test_it_is_closed_a_quarter_of_an_hour_after_it_was_told_and_the_other_leases_keep_their_nodes() -> None:
    due = EIGHT + 225 * MINUTE
    facts = replace(outlasting(None, closes=300), earlier=(earlier(Rule.LEASE_TOO_LONG, 225),))

    assert judge(too_long, replace(facts, now=due + 15 * MINUTE - SECOND)) == ()
    why = reason("guard.ends-now", why=TOO_LONG, warned=due)
    assert judge(too_long, replace(facts, now=due + 15 * MINUTE)) == (
        Breach(Rule.LEASE_TOO_LONG, why, GuardAction.CLOSE, lease="evening", target=2),
    )


def test_what_was_told_before_a_lease_became_too_long_was_about_something_else() -> None:
    due = EIGHT + 225 * MINUTE
    facts = replace(outlasting(None, closes=300), earlier=(earlier(Rule.LEASE_TOO_LONG, 225 - 1 / 60),))
    [breach] = judge(too_long, replace(facts, now=due + 15 * MINUTE))
    assert breach.action is GuardAction.WARN


def test_on_a_pool_that_became_smaller_the_close_of_a_lease_takes_what_there_is() -> None:
    one = replace(lease(nodes=2, opens=0, closes=300), window=None)
    said = (earlier(Rule.LEASE_TOO_LONG, 225),)
    facts = replace(pool(one), max_nodes=1, longest_lease=4 * HOUR, earlier=said)
    assert [breach.target for breach in judge(too_long, replace(facts, now=EIGHT + 240 * MINUTE))] == [0]


@pytest.mark.parametrize(("closes", "warned"), [(330, False), (331, True)])
def test_a_window_has_ninety_minutes_more(closes: int, warned: bool) -> None:
    facts = replace(outlasting("evening", closes), now=EIGHT + 315 * MINUTE)
    assert bool(judge(too_long, facts)) is warned


def test_only_a_lease_in_force_is_too_long_and_only_where_a_longest_is_known() -> None:
    facts = replace(outlasting(None, closes=300), now=EIGHT + 300 * MINUTE)
    assert judge(too_long, facts) == ()
    assert judge(too_long, replace(facts, now=EIGHT + 240 * MINUTE, longest_lease=None)) == ()
    # One that ends when the longest does is left alone.
    assert judge(too_long, replace(outlasting(None, closes=240), now=EIGHT + 230 * MINUTE)) == ()


def resting(**more: object) -> PoolFacts:
    """A lease since seven that may be idle for an hour, with its node; nothing has used it since eight."""
    one = replace(lease(nodes=1, closes=300), ready=EIGHT - 50 * MINUTE)
    facts = replace(pool(one, running=["i-1"]), idle_since=EIGHT, idle_after={"evening": HOUR})
    return replace(facts, **more)  # type: ignore[arg-type]


def test_an_idle_lease_is_told_of_as_its_time_is_up_with_what_keeps_it() -> None:
    why = reason("guard.idle", pool="gpu", since=EIGHT)
    ends_early = reason("guard.ends-early", why=why, at=EIGHT + 75 * MINUTE)

    assert judge(idle, resting(now=EIGHT + HOUR - SECOND)) == ()
    assert judge(idle, resting(now=EIGHT + HOUR)) == (
        Breach(
            Rule.IDLE_LEASE,
            Sentences((ends_early, reason("guard.idle.keep", lease="evening"))),
            GuardAction.WARN,
            lease="evening",
        ),
    )


@pytest.mark.parametrize(
    "later",
    [
        {"idle_since": EIGHT + SECOND},
        {"extended_at": {"evening": EIGHT + SECOND}},
        {"leases": (replace(lease(nodes=1, closes=300), ready=EIGHT + SECOND),)},
        {"leases": (lease(nodes=1, opens=1, closes=300),)},
    ],
)
def test_idle_counts_from_the_last_of_use_opening_readiness_and_extension(later: dict[str, object]) -> None:
    assert judge(idle, resting(now=EIGHT + HOUR, **later)) == ()


@pytest.mark.parametrize(
    "kept",
    [
        {"leases": (replace(lease(nodes=1, closes=300), kept="alice"),)},
        {"leases": (lease(nodes=1, closes=60),)},
        {"leases": (lease(nodes=1, closes=300, state=LeaseState.CLOSING),)},
        {"idle_after": {}},
        {"idle_since": None},
        {"seen": Seen(NODE_GROUP)},
    ],
)
def test_a_lease_that_is_kept_over_or_of_an_empty_pool_is_not_idle(kept: dict[str, object]) -> None:
    assert judge(idle, resting(now=EIGHT + HOUR, **kept)) == ()


def test_a_lease_that_may_not_be_idle_is_found_behind_one_that_may() -> None:
    facts = resting(now=EIGHT + HOUR)
    busy = replace(lease("busy", closes=300), ready=EIGHT + MINUTE)
    free = lease("free", closes=300)

    both = replace(facts, leases=(free, busy, *facts.leases), idle_after={"busy": HOUR, "evening": HOUR})

    assert [breach.lease for breach in judge(idle, both)] == ["evening"]


def spending(at: datetime, *said: EarlierBreach) -> PoolFacts:
    """A lease whose budget is used up at an instant, behind one whose budget lasts."""
    facts = pool(lease("rich", nodes=1), lease(nodes=1), running=["i-1", "i-2"])
    return replace(facts, overdrafts={"evening": Overdraft(at, "it is used up")}, earlier=said)


def test_people_are_told_in_the_last_sweep_that_leaves_them_a_quarter_of_an_hour() -> None:
    assert judge(reached, spending(EIGHT + 20 * MINUTE + SECOND)) == ()
    assert judge(reached, replace(spending(EIGHT), now=EIGHT + 120 * MINUTE)) == ()
    why = reason("guard.ends-early", why="it is used up", at=EIGHT + 15 * MINUTE)
    assert judge(reached, spending(EIGHT + 20 * MINUTE)) == (
        Breach(Rule.BUDGET_REACHED, why, GuardAction.WARN, lease="evening"),
    )


def test_a_lease_that_was_told_is_closed_in_the_sweep_before_its_money_ends() -> None:
    before = earlier(Rule.BUDGET_REACHED, -15)

    assert judge(reached, spending(EIGHT + 5 * MINUTE + SECOND, before)) == ()
    why = reason("guard.ends-now", why="it is used up", warned=EIGHT - 15 * MINUTE)
    assert judge(reached, spending(EIGHT + 5 * MINUTE, before)) == (
        Breach(Rule.BUDGET_REACHED, why, GuardAction.CLOSE, lease="evening", target=1),
    )


def test_what_was_told_counts_for_half_an_hour() -> None:
    def actions(minutes: int, told: float) -> list[GuardAction]:
        facts = spending(EIGHT + minutes * MINUTE, earlier(Rule.BUDGET_REACHED, told))
        return [breach.action for breach in judge(reached, facts)]

    long_ago = -30 - 1 / 60
    assert (actions(0, -30), actions(0, long_ago)) == ([GuardAction.CLOSE], [GuardAction.WARN])
    assert (actions(10, -30), actions(10, long_ago)) == ([], [GuardAction.WARN])


def unarmed(*said: EarlierBreach) -> PoolFacts:
    """A leased pool without its failsafe, beside a lease that is still to begin."""
    facts = pool(lease("next", opens=60, closes=90), lease(nodes=1), running=["i-1"])
    return replace(facts, failsafe_found=(), earlier=said)


def failed(minutes: int) -> EarlierBreach:
    return earlier(Rule.FAILSAFE_WRONG, minutes, GuardAction.FAILED, None)


def warned(*said: EarlierBreach, now: datetime = EIGHT) -> list[Breach]:
    return [
        breach
        for breach in judge(failsafe, replace(unarmed(*said), now=now))
        if breach.action is GuardAction.WARN
    ]


def test_a_lease_whose_failsafe_cannot_be_set_for_a_quarter_of_an_hour_is_told_of_its_end() -> None:
    assert warned(failed(-15), failed(-5), now=EIGHT - SECOND) == []
    why = reason("guard.failsafe.cannot-be-set", pool="gpu", since=EIGHT - 15 * MINUTE)
    ends_early = reason("guard.ends-early", why=why, at=EIGHT + 15 * MINUTE)
    assert warned(failed(-15), failed(-5)) == [
        Breach(Rule.FAILSAFE_WRONG, ends_early, GuardAction.WARN, lease="evening")
    ]


def test_a_failsafe_that_was_set_in_between_counts_anew() -> None:
    rearmed = earlier(Rule.FAILSAFE_WRONG, -10, GuardAction.REARM, None)
    other = earlier(Rule.SIZES_CHANGED, -10, GuardAction.REARM, None)
    assert warned(failed(-20), rearmed, failed(-5)) == []
    assert len(warned(failed(-20), other, failed(-5))) == 1
    # A failure counts until it is a quarter of an hour old.
    assert len(warned(failed(-30), failed(-15))) == 1
    assert warned(failed(-30), failed(-15), now=EIGHT + SECOND) == []
