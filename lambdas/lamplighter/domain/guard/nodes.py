"""Law 1: the guard closes what runs without a lease, past its lease or beside it.

It takes no more than leases leave over. CloseLab decides how a close takes nodes away.
"""

from collections.abc import Iterator
from datetime import datetime

from lamplighter.domain.capacity.kinds import KINDS
from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import END_PATIENCE, PoolFacts, waited_for
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.reasons.reason import Reason, Said, Sentences, reason


def leases_past_their_end(facts: PoolFacts) -> Iterator[Breach]:
    """A granted lease that is over and that no close is ending."""
    for lease in facts.leases:
        if not lease.granted or facts.now < lease.closes + END_PATIENCE:
            continue
        yield Breach(
            Rule.LEASE_PAST_ITS_END,
            reason("guard.past-its-end", lease=lease.called(), pool=facts.pool, at=lease.closes),
            GuardAction.CLOSE,
            lease=lease.id,
            target=facts.target.nodes,
        )


def surplus(facts: PoolFacts) -> Iterator[Breach]:
    """More nodes than leases justify, or any node without a lease, unless somebody already closes them."""
    target = facts.target
    # Nodes of another type are removed by their own rule, and CloseLab would not begin with them.
    others = {instance.id for instance in facts.of_other_types}
    staying = facts.staying - sum(1 for member in facts.seen.staying if member.instance in others)
    if staying <= target.nodes or waited_for(facts):
        yield from _claims_alone(facts)
        return
    if not target.nodes and _only_a_size(facts):
        yield Breach(
            Rule.SIZE_WITHOUT_LEASE,
            reason("guard.only-a-size", pool=facts.pool, nodes=facts.seen.size),
            GuardAction.SCALE_BACK,
            target=0,
            since=facts.over_since,
        )
        return
    if target.nodes:
        yield Breach(
            Rule.MORE_NODES_THAN_LEASES,
            _together(
                reason(
                    "guard.more-nodes",
                    pool=facts.pool,
                    nodes=staying,
                    more=staying - target.nodes,
                    target=target.reason,
                ),
                facts.raised_by,
            ),
            GuardAction.CLOSE,
            target=target.nodes,
        )
        return
    yield Breach(
        Rule.NODE_WITHOUT_LEASE,
        _together(
            reason("guard.no-lease", pool=facts.pool, nodes=facts.staying),
            _last_end(facts),
            facts.raised_by,
        ),
        GuardAction.CLOSE,
        target=0,
        since=facts.over_since,
    )


def _claims_alone(facts: PoolFacts) -> Iterator[Breach]:
    """Claims without an instance that nobody has deleted: a controller that comes back launches them, past the bar.

    One is born while an order of zero deletes the others, and stays where its controller dies then.
    """
    names = tuple(claim.name for claim in facts.seen.claims if not claim.leaving)
    if names and not facts.staying and not facts.target.nodes and not waited_for(facts):
        yield Breach(
            Rule.SIZE_WITHOUT_LEASE,
            reason("guard.only-claims", pool=facts.pool, names=names),
            GuardAction.SCALE_BACK,
            target=0,
        )


def _only_a_size(facts: PoolFacts) -> bool:
    """Whether somebody set a size and the launch bar let nothing start."""
    return facts.seen.bar is not None and not facts.seen.claims and not facts.seen.existing


def strays(facts: PoolFacts) -> Iterator[Breach]:
    """Instances with the pool's tags that its controller does not list, where the leases leave no room for them."""
    if facts.seen.controller is None and waited_for(facts):
        # The controller did not answer: a close of our own still drains them.
        return
    surplus = facts.staying + len(facts.strays) - facts.target.nodes
    # EC2 does not tell who works where. The oldest nodes are of the lease that opened first.
    youngest = sorted(facts.strays, key=lambda stray: (stray.launched, stray.id), reverse=True)
    left_over = youngest[: max(0, surplus)]
    ended_at = _ended_unseen_at(facts)
    replacements = tuple(
        stray.id for stray in left_over if ended_at is not None and ended_at < stray.launched
    )
    taken = tuple(stray.id for stray in left_over if stray.id not in replacements)
    if taken:
        yield Breach(
            Rule.STRAY_INSTANCE,
            reason("guard.stray", instances=taken, pool=facts.pool),
            GuardAction.TERMINATE,
            target=facts.target.nodes,
            instances=taken,
        )
    if replacements:
        yield Breach(
            Rule.STRAY_INSTANCE,
            reason("guard.stray.replacements", instances=replacements, pool=facts.pool),
            GuardAction.PAGE,
            target=facts.target.nodes,
            instances=replacements,
        )


def _ended_unseen_at(facts: PoolFacts) -> datetime | None:
    """When the guard last ended instances of a leased pool whose controller does not answer; None otherwise.

    A controller that lives starts others in their place until the last lease ends. To end those too would take no node
    away, and every few minutes start another one that is paid for. Without a lease the launch bar stops it.
    """
    if facts.seen.controller is not None or not KINDS[facts.seen.kind].shown_by_ec2 or not facts.target.nodes:
        return None
    return facts.last_reported(Rule.STRAY_INSTANCE, GuardAction.TERMINATE)


def shortfall(facts: PoolFacts) -> Iterator[Breach]:
    """An open lease has nodes that are no longer ordered: the guard reports it, for it never grows a pool."""
    if facts.seen.dynamic:
        # Pods bring the nodes, and Karpenter may end the ones without pods.
        return
    target = facts.target
    settled = all(
        lease.state is LeaseState.OPEN and lease.ready is not None and not lease.missing
        for lease in facts.leases
        if lease.in_force(facts.now)
    )
    if (
        settled
        and facts.seen.controller is not None
        and facts.staying < target.nodes
        and not waited_for(facts)
    ):
        yield Breach(
            Rule.FEWER_NODES_THAN_LEASES,
            reason(
                "guard.fewer-nodes",
                pool=facts.pool,
                nodes=facts.staying,
                justified=target.nodes,
                target=target.reason,
            ),
            GuardAction.SAY,
        )


def _last_end(facts: PoolFacts) -> Reason | None:
    ended = [lease for lease in facts.leases if lease.closes <= facts.now and lease.opens < lease.closes]
    if not ended:
        return None
    last = max(ended, key=lambda lease: lease.closes)
    return reason("lease.ended-at", lease=last.called(), at=last.closes)


def _together(first: Reason, *more: Reason | None) -> Said:
    reasons = (first, *(each for each in more if each is not None))
    return Sentences(reasons) if len(reasons) > 1 else first
