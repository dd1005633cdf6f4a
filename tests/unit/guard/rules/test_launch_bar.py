"""The guard's rules about NodePools: the launch bar, a size without a lease, and a controller that does not answer."""

from dataclasses import replace
from datetime import datetime

import pytest

from lamplighter.domain.capacity.evidence import Bar, Claim
from lamplighter.domain.capacity.node_pool.kind import KARPENTER
from lamplighter.domain.guard.breach import EarlierBreach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.guard.nodes import surplus
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.reasons.reason import Reason, Value, reason
from tests.builders.guard_facts import after, earlier, instance, lease, pool, seen
from tests.builders.leases import EIGHT, MINUTE

AT_TEN = EIGHT + 120 * MINUTE


def barred(facts: PoolFacts, until: datetime | None, **more) -> PoolFacts:
    """The same pool as a NodePool with a launch bar."""
    return replace(facts, seen=replace(facts.seen, kind=KARPENTER.code, bar=Bar(until, **more)))


def ended(ago: int) -> EarlierBreach:
    return earlier(Rule.STRAY_INSTANCE, -ago, GuardAction.TERMINATE, None)


def unseen(facts: PoolFacts, *ago: int) -> PoolFacts:
    """The same pool where Kubernetes does not answer, and the guard ended strays so many minutes ago."""
    nothing = replace(facts.seen, kind=KARPENTER.code, exists=False, ordered=0, controller=None)
    return replace(facts, seen=nothing, earlier=tuple(ended(each) for each in ago))


LEASED = pool(lease(), running=["i-1", "i-2"])
MISSING = reason("guard.bar.missing", pool="gpu", policy="lab-launch-bar")


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(barred(LEASED, AT_TEN), id="open until the end of the leases"),
        pytest.param(barred(pool(), None), id="shut without a lease"),
        pytest.param(barred(pool(), EIGHT), id="just shut"),
        pytest.param(barred(pool(lease(state=LeaseState.OPENING)), None), id="a lease that only begins"),
        pytest.param(replace(barred(pool(), AT_TEN), enforcing=False), id="of a watched pool"),
    ],
)
def test_a_bar_that_is_as_it_should_be_or_nobody_s_business_is_no_breach(facts: PoolFacts) -> None:
    assert sweep(facts) == ()


def other(stands: Value) -> Reason:
    return reason("guard.bar.other", pool="gpu", until=AT_TEN, at=stands)


@pytest.mark.parametrize(
    ("facts", "action", "why"),
    [
        (barred(LEASED, AT_TEN - MINUTE), GuardAction.MOVE_BAR, other(AT_TEN - MINUTE)),
        (barred(LEASED, AT_TEN + MINUTE), GuardAction.MOVE_BAR, other(AT_TEN + MINUTE)),
        (barred(LEASED, None), GuardAction.MOVE_BAR, other(reason("guard.bar.shut"))),
        (barred(pool(), AT_TEN), GuardAction.MOVE_BAR, reason("guard.bar.open", pool="gpu", at=AT_TEN)),
        # A bar that nobody reads is moved before anything is paged.
        (
            barred(pool(), None, unreadable=True, wrong=MISSING),
            GuardAction.MOVE_BAR,
            reason("guard.bar.unreadable", pool="gpu"),
        ),
        (
            barred(LEASED, None, unreadable=True, wrong=MISSING),
            GuardAction.MOVE_BAR,
            other(reason("guard.bar.no-instant")),
        ),
        (barred(pool(), None, wrong=MISSING), GuardAction.PAGE, MISSING),
    ],
)
def test_a_bar_is_moved_or_paged_about(facts: PoolFacts, action: GuardAction, why: Reason) -> None:
    [breach] = sweep(facts)
    assert (breach.rule, breach.action, breach.reason) == (Rule.LAUNCH_BAR_WRONG, action, why)


def test_a_size_that_nothing_came_of_is_set_back_and_closes_nothing() -> None:
    [breach] = sweep(barred(pool(desired=2), None))
    assert (breach.rule, breach.action) == (Rule.SIZE_WITHOUT_LEASE, GuardAction.SCALE_BACK)
    assert breach.reason == reason("guard.only-a-size", pool="gpu", nodes=2)


def test_a_size_with_a_claim_is_closed() -> None:
    facts = barred(pool(desired=2), None)
    [breach] = sweep(replace(facts, seen=replace(facts.seen, claims=(Claim("lab-gpu-12345"),))))
    assert (breach.rule, breach.action) == (Rule.NODE_WITHOUT_LEASE, GuardAction.CLOSE)


def test_a_claim_that_stays_without_a_lease_is_deleted_before_it_is_launched() -> None:
    def with_claims(facts: PoolFacts, *claims: Claim) -> PoolFacts:
        found = barred(facts, None)
        return replace(found, seen=replace(found.seen, claims=claims))

    alone = Claim("lab-gpu-12345")

    [breach] = sweep(with_claims(pool(), alone, Claim("lab-gpu-67890", leaving=True)))

    assert (breach.rule, breach.action, breach.target) == (Rule.SIZE_WITHOUT_LEASE, GuardAction.SCALE_BACK, 0)
    assert breach.reason == reason("guard.only-claims", pool="gpu", names=("lab-gpu-12345",))
    assert sweep(with_claims(pool(), replace(alone, leaving=True))) == ()
    assert not list(surplus(with_claims(pool(lease()), alone)))
    closing = with_claims(pool(lease(closes=-5, state=LeaseState.CLOSING)), alone)
    assert not list(surplus(replace(closing, closing_since=EIGHT - MINUTE)))


def test_a_limit_that_gitops_wrote_back_is_said_and_nothing_is_closed() -> None:
    facts = replace(barred(pool(), None), ours=False)
    raised = reason("guard.raised.limit", name="theirs", limit=5, written=0)
    [breach] = sweep(replace(facts, seen=replace(facts.seen, raised_by=raised)))
    assert (breach.rule, breach.action, breach.reason) == (Rule.SIZES_CHANGED, GuardAction.SAY, raised)


def strays_of(facts: PoolFacts) -> list[tuple[GuardAction, tuple[str, ...]]]:
    return [(found.action, found.instances) for found in sweep(facts) if found.rule is Rule.STRAY_INSTANCE]


CAME = [instance("i-1", minutes=-90), instance("i-2", minutes=-40), instance("i-3", minutes=-5)]
END, PAGE = GuardAction.TERMINATE, GuardAction.PAGE


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        pytest.param(unseen(pool(lease(nodes=1), strays=CAME)), [(END, ("i-3", "i-2"))], id="all but the leased"),
        pytest.param(
            unseen(pool(lease(nodes=1), strays=CAME), 10), [(END, ("i-2",)), (PAGE, ("i-3",))],
            id="what a living controller started for an ended node is not ended again",
        ),
        pytest.param(
            unseen(pool(lease(nodes=1), strays=CAME[:2]), 10, 5), [(END, ("i-2",))], id="an ended node that goes on"
        ),
        pytest.param(
            unseen(pool(strays=CAME[::2]), 10), [(END, ("i-3", "i-1"))], id="without a lease all, whatever was ended"
        ),
        pytest.param(
            replace(pool(lease(nodes=1), running=["i-1"], strays=CAME[2:]), earlier=(ended(10),)), [(END, ("i-3",))],
            id="where the controller answers, one of after an end",
        ),
        pytest.param(
            replace(seen(pool(lease(nodes=1), strays=CAME), controller=None), earlier=(ended(10),)),
            [(END, ("i-3", "i-2"))], id="of a node group without its group, whatever was ended",
        ),
        pytest.param(unseen(pool(lease(closes=-5), strays=CAME[:1])), [], id="a close of our own has its time"),
        pytest.param(
            after(unseen(pool(lease(closes=-5), strays=CAME[:1])), 3 * MINUTE), [(END, ("i-1",))],
            id="and no more than that",
        ),
    ],
)  # fmt: skip
def test_strays_of_node_pools_end(facts: PoolFacts, found: list[tuple[GuardAction, tuple[str, ...]]]) -> None:
    assert strays_of(facts) == found


def test_replacements_are_named_to_who_is_paged() -> None:
    found = sweep(unseen(pool(lease(nodes=1), strays=CAME), 10))
    [page] = [breach for breach in found if breach.action is PAGE]
    assert page.reason == reason("guard.stray.replacements", instances=("i-3",), pool="gpu")
