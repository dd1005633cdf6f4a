"""Law 5 for Spot nodes: AWS may take a leased node, two minutes after its notice. The lab only follows.

The node is given up at once: its group drains it, and another one starts while it still runs, or the lease goes on with
fewer nodes. EC2 itself says which instances it takes, so a forged event takes none.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.money.shares import Claim, shares
from lamplighter.reasons.reason import first_of, reason

TWO_MINUTES = timedelta(minutes=2)
"""EC2 ends a Spot Instance so long after its notice."""


def taken(facts: PoolFacts) -> Iterator[Breach]:
    """The nodes of each lease that AWS takes and that nobody has given up yet. The last node is always replaced."""
    if not facts.on_interruption:
        return
    known = {instance for lease in facts.leases for instance in lease.taken}
    since = {one.claim: one.at for one in facts.seen.interruptions if one.claim not in known}
    in_force = {lease.id: lease for lease in facts.target.in_force}
    claims = [Claim(one.opens, one.id, one.wanted, one.instance_types) for one in in_force.values()]
    running = {
        one.id: one.type
        for one in sorted(facts.seen.instances, key=lambda one: (one.launched, one.id))
        if one.id in since or (one.alive and one.id not in known)
    }
    for name, nodes in shares(claims, running).items():
        lease = in_force[name]
        mine = [node for node in nodes if node in since and since[node] >= lease.opens]
        given_up = min(len(mine), lease.wanted - 1) if facts.on_interruption == "fewer" else 0
        if given_up:
            yield _breach(facts, lease, mine[:given_up], mine, since[mine[0]] + TWO_MINUTES, fewer=True)
        if mine[given_up:]:
            yield _breach(facts, lease, mine[given_up:], mine, since[mine[-1]] + TWO_MINUTES, fewer=False)


def _breach(
    facts: PoolFacts, lease: Lease, going: list[str], mine: list[str], at: datetime, *, fewer: bool
) -> Breach:
    return Breach(
        Rule.NODE_INTERRUPTED,
        reason(
            "guard.spot.fewer" if fewer else "guard.spot.replace",
            instances=first_of(going),
            count=len(going),
            pool=facts.pool,
            at=at,
            left=lease.wanted - len(mine),
            nodes=lease.wanted,
        ),
        GuardAction.GO_ON_WITH_FEWER if fewer else GuardAction.REPLACE_TAKEN,
        lease=lease.id,
        instances=tuple(going),
    )
