"""The guard's rules about idle leases, abandoned runs, changes by others and controllers; how often it pages."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.capacity.claim import LabClaim
from lamplighter.domain.capacity.evidence import ANY_NUMBER, Controller, Member
from lamplighter.domain.guard.breach import Breach, EarlierBreach, GuardAction, Rule
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.guard.incident import pages_again
from lamplighter.domain.guard.node_pools.controllers import not_ended
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.schedules.schedule import RunEnd
from lamplighter.reasons.reason import Reason, Sentences, in_english, reason
from tests.builders.guard_facts import earlier, instance, lease, pool, seen
from tests.builders.leases import EIGHT, HOUR, MINUTE


def test_between_the_warning_and_the_close_nothing_is_done_or_said_again() -> None:
    facts = replace(
        pool(lease(opens=-120, closes=120), running=["i-1"]),
        idle_since=EIGHT - 90 * MINUTE,
        idle_after={"evening": HOUR},
    )

    assert sweep(replace(facts, earlier=(earlier(Rule.IDLE_LEASE, -10),))) == ()
    [close] = sweep(replace(facts, earlier=(earlier(Rule.IDLE_LEASE, -15),)))
    assert close.action is GuardAction.CLOSE


def test_of_a_warm_pool_the_guard_ends_what_runs_and_leaves_what_is_stopped() -> None:
    """Whoever ends a stopped one makes Auto Scaling start another, which costs the price of a node until it stops."""
    warmed = instance("i-9")
    facts = seen(pool(), controller=Controller("eks-gpu", 0, 2, 0, (Member("i-9", "a", warm=True),), True))

    [end] = sweep(seen(facts, instances=(warmed,)))
    assert (end.rule, end.action, end.instances) == (Rule.STRAY_INSTANCE, GuardAction.TERMINATE, ("i-9",))
    assert sweep(seen(facts, instances=(replace(warmed, state="stopped", parked=True),))) == ()


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (RunEnd.FAILED, "guard.opening.failed"),
        (RunEnd.TIMED_OUT, "guard.opening.timed-out"),
        (RunEnd.ABORTED, "guard.opening.stopped"),
        (RunEnd.NEVER_STARTED, "guard.opening.never-started"),
    ],
)
def test_an_opening_that_nobody_carries_on_is_closed(ended: RunEnd, code: str) -> None:
    opening = lease(opens=-20, state=LeaseState.OPENING)

    [breach] = sweep(replace(pool(opening, running=["i-1"]), opening_ended={"evening": ended}))

    assert (breach.rule, breach.action, breach.lease) == (
        Rule.OPENING_ABANDONED,
        GuardAction.CLOSE,
        "evening",
    )
    assert breach.reason == Reason(code, {"lease": opening.called(), "pool": "gpu"})


def test_an_adopted_pool_that_another_lab_took_over_is_said_and_not_fought_over() -> None:
    adopted = replace(pool(running=["i-1"]), ours=False)
    [claim, node] = sweep(replace(adopted, other_claim=LabClaim("physics")))

    assert (claim.rule, claim.action) == (Rule.SECOND_CLAIM, GuardAction.SAY)
    assert (node.rule, node.action) == (Rule.NODE_WITHOUT_LEASE, GuardAction.SAY)
    assert node.reason == reason(
        "guard.claimed-too",
        finding=reason("guard.no-lease", pool="gpu", nodes=1),
        lab="physics",
        action=reason("guard.act.close"),
    )


@pytest.mark.parametrize(
    ("ours", "claim"), [(True, LabClaim("physics")), (False, LabClaim("physics", overwritten=True))]
)
def test_a_claim_that_no_takeover_can_have_made_is_said_and_the_pool_is_closed(
    claim: LabClaim, *, ours: bool
) -> None:
    [said, node] = sweep(replace(pool(running=["i-1"]), ours=ours, other_claim=claim))

    why = reason("guard.false-claim", lab="physics", pool="gpu")
    assert said == Breach(Rule.SECOND_CLAIM, why, GuardAction.SAY)
    assert (node.rule, node.action) == (Rule.NODE_WITHOUT_LEASE, GuardAction.CLOSE)


def test_a_maximum_below_the_lab_s_or_none_at_all_is_put_back_too() -> None:
    facts = pool()
    lowered = seen(facts, maximum=1)

    [breach] = sweep(lowered)

    changed = reason("guard.sizes.maximum", pool="gpu", maximum=1, most=2)
    assert breach.reason == Sentences((changed, reason("guard.sizes.deploy")))
    [breach] = sweep(seen(pool(), maximum=ANY_NUMBER))

    assert in_english(breach.reason).startswith(
        "somebody changed the sizes of pool gpu: maximum no limit instead of 2"
    )


def test_what_goes_on_and_on_pages_more_and_more_rarely() -> None:
    said: list[EarlierBreach] = []
    paged = []
    for minutes in range(0, 3 * 24 * 60, 30):
        now = EIGHT + minutes * MINUTE
        again = pages_again([each for each in said if now - each.at < timedelta(hours=26)], now)
        said.append(EarlierBreach(Rule.CLOSING_ABANDONED, GuardAction.CLOSE, "evening", now, paged=again))
        if again:
            paged.append(minutes / 60)

    assert paged == [0, 0.5, 1, 4, 28, 52]


ABSENT = reason("guard.karpenter.absent")
QUEUE = reason("guard.karpenter.queue", queue="lab-karpenter")


def test_each_fault_is_said_by_itself_and_a_lease_goes_on() -> None:
    breaches = sweep(replace(pool(lease(), running=["i-1", "i-2"]), controller_faults=(ABSENT, QUEUE)))

    assert [(found.rule, found.action, found.reason, found.subject) for found in breaches] == [
        (Rule.KARPENTER_NOT_READY, GuardAction.SAY, ABSENT, "guard.karpenter.absent"),
        (Rule.KARPENTER_NOT_READY, GuardAction.SAY, QUEUE, "guard.karpenter.queue"),
    ]


def test_a_watched_pool_is_told_the_same() -> None:
    [breach] = sweep(replace(pool(), enforcing=False, controller_faults=(ABSENT,)))
    assert (breach.action, breach.reason) == (GuardAction.SAY, ABSENT)


def test_of_auto_mode_it_says_that_nobody_else_may_end_them() -> None:
    breach = not_ended("gpu", ["i-2", "i-1"], None, "cli-1", by_ec2=False)

    assert (breach.lease, breach.instances, breach.subject) == ("cli-1", ("i-1", "i-2"), "i-1,i-2")
    assert in_english(breach.reason) == (
        "EKS Auto Mode has not ended i-1 and i-2 of pool gpu, and AWS lets nobody else do that; the guard leaves their"
        " pods no more time"
    )


def test_where_nobody_can_tell_how_karpenter_is_it_is_told_as_one_that_does_not_obey() -> None:
    breach = not_ended("gpu", ["i-1"], None, None, by_ec2=True)
    assert in_english(breach.reason).startswith(
        "Karpenter has not ended what it was told to end; the guard ends"
    )
