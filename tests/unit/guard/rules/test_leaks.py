"""A leaked pool: when the guard marks it, pages, closes it again and terminates its instances, to the second."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.capacity.claim import LabClaim
from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.guard import judge
from lamplighter.domain.guard.incident import Incident
from lamplighter.domain.guard.leak import leak
from lamplighter.reasons.reason import Reason, Sentences, reason
from tests.builders.guard_facts import after, instance, lease, pool, seen
from tests.builders.leases import EIGHT, MINUTE, SECOND

KEPT = Sentences(
    (
        reason("guard.zero.instances", instances=("i-1",)),
        reason("guard.zero.kubernetes", names=("i-1.internal",)),
    )
)
LEAKED = reason("guard.leaked", pool="gpu", since=EIGHT, left=KEPT)


def kept(incident: Incident | None, **more: object) -> PoolFacts:
    """A pool at size 0 that keeps a node."""
    return replace(pool(running=["i-1"], desired=0), incident=incident, **more)  # type: ignore[arg-type]


def test_a_leaked_pool_is_paged_about_closed_again_and_after_a_quarter_of_an_hour_ended_by_force() -> None:
    now = EIGHT + 15 * MINUTE

    assert judge(leak, kept(Incident(EIGHT, closed_at=EIGHT + 5 * MINUTE, tries=1), now=now)) == (
        Breach(Rule.LEAKED, LEAKED, GuardAction.PAGE),
        Breach(
            Rule.LEAKED,
            reason("guard.leaked.closed-again", pool="gpu", since=EIGHT, tries=2),
            GuardAction.CLOSE,
            target=0,
            since=EIGHT,
        ),
        Breach(
            Rule.LEAKED,
            reason("guard.leaked.forced", pool="gpu", instances=("i-1",)),
            GuardAction.TERMINATE,
            target=0,
            instances=("i-1",),
        ),
    )


def test_a_leak_is_left_alone_a_second_before_each_of_its_times() -> None:
    incident = Incident(EIGHT, closed_at=EIGHT + 5 * MINUTE, tries=1, pages=1)
    assert judge(leak, kept(incident, now=EIGHT + 15 * MINUTE - SECOND)) == ()


@pytest.mark.parametrize(("age", "paged"), [(-SECOND, False), (timedelta(), True)])
def test_pages_are_silenced_until_the_instant_that_was_said(age: timedelta, paged: bool) -> None:
    incident = Incident(EIGHT - 600 * MINUTE, closed_at=EIGHT, silenced_until=EIGHT)
    found = judge(leak, after(kept(incident), age))
    assert (GuardAction.PAGE in {breach.action for breach in found}) is paged


def test_a_leak_is_over_at_zero_or_under_a_lease_again() -> None:
    incident = Incident(EIGHT - 60 * MINUTE)

    assert judge(leak, replace(pool(), incident=incident)) == (
        Breach(Rule.NO_LONGER_LEAKED, reason("guard.leaked.over", pool="gpu"), GuardAction.RECOVER),
    )
    assert judge(leak, replace(pool(lease(), running=["i-1"]), incident=incident)) == (
        Breach(Rule.NO_LONGER_LEAKED, reason("guard.leaked.leased-again", pool="gpu"), GuardAction.RECOVER),
    )


def test_a_pool_that_costs_is_marked_as_leaked_after_forty_five_minutes() -> None:
    over = kept(None, over_since=EIGHT)
    marked = Breach(Rule.LEAKED, LEAKED, GuardAction.MARK_LEAKED)

    assert judge(leak, after(over, 45 * MINUTE - SECOND)) == ()
    assert judge(leak, after(over, 45 * MINUTE)) == (marked,)
    for healthy in (
        replace(over, enforcing=False),
        replace(over, ours=False, other_claim=LabClaim("physics")),
        replace(over, over_since=None),
        replace(over, leases=(lease(),)),
        replace(pool(), over_since=EIGHT),
    ):
        assert judge(leak, after(healthy, 45 * MINUTE)) == ()


@pytest.mark.parametrize(
    ("facts", "left"),
    [
        (pool(desired=1), reason("guard.zero.ordered", nodes=1)),
        (replace(pool(), kubernetes_nodes=None), reason("guard.zero.not-read")),
        (
            replace(pool(), kubernetes_nodes=("a.internal", "b.internal")),
            reason("guard.zero.kubernetes", names=("a.internal", "b.internal")),
        ),
        (
            seen(pool(), controller=None, instances=(replace(instance("i-1"), state="stopping"),)),
            reason("guard.zero.instances", instances=("i-1",)),
        ),
        (seen(pool(), ordered=1), reason("guard.zero.ordered", nodes=1)),
    ],
)
def test_what_is_left_of_a_leaked_pool_is_named(facts: PoolFacts, left: Reason) -> None:
    [page, *_] = judge(leak, replace(facts, incident=Incident(EIGHT)))
    assert page.reason == reason("guard.leaked", pool="gpu", since=EIGHT, left=left)


def test_a_pool_whose_group_is_gone_has_its_instances_ended_by_force() -> None:
    there = (instance("i-1"), replace(instance("i-2"), state="shutting-down"))
    leaked = kept(Incident(EIGHT, closed_at=EIGHT, pages=9), now=EIGHT + 15 * MINUTE)
    ended = [each for each in judge(leak, seen(leaked, controller=None, instances=there)) if each.instances]
    assert [(each.action, each.instances) for each in ended] == [(GuardAction.TERMINATE, ("i-1",))]


def test_nothing_is_ended_by_force_while_the_group_still_wants_it() -> None:
    """It would only be started again."""
    wanted = replace(pool(running=["i-1"]), incident=Incident(EIGHT - 60 * MINUTE, closed_at=EIGHT, tries=2))
    assert GuardAction.TERMINATE not in {breach.action for breach in judge(leak, wanted)}
