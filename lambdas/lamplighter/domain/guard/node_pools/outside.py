"""GPU instances of the cluster that belong to no pool of the lab, such as those of another NodePool.

The guard reports each. In the lab's own cluster, where it enforces on every pool, it also ends them, after a sweep has
said so and somebody took it, or nobody did for `UNHEARD`: through their NodeClaim, or in EC2 where they have none. It
leaves alone

- every instance with the tags of a pool, also of one that it only watches, and all that the lab has always on;
- every instance of a capacity that another lab claims: that lab guards it;
- every instance of a group that would start another: its owner sizes the group;
- every instance whose type the lab does not know to have an NVIDIA GPU.

outside_instance.py has the instances as values, and application/guard/outside.py reads them.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import Enum, auto
from itertools import groupby

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.node_pools.outside_instance import OutsideInstance
from lamplighter.reasons.reason import Reason, first_of, reason

NEXT_SWEEP = timedelta(minutes=4)
"""Sweeps are five minutes apart, and an event starts one more: the notice is at least so old when the guard acts."""
UNHEARD = timedelta(minutes=15)
"""For so long an announcement that neither topic nor function takes is tried again. Then the guard acts: money runs."""
GRACE = timedelta(minutes=10)
"""How long pods may take when the guard deletes the NodeClaim of such an instance."""
LEFT_FOR = timedelta(minutes=20)
"""A NodeClaim that leaves for longer has no controller that ends its instance."""


class _Way(Enum):
    """What becomes of an instance."""

    CLAIM = auto()
    EC2 = auto()
    AWAITED = auto()
    """Its NodeClaim is leaving."""
    OF_A_GROUP = auto()
    UNREAD = auto()
    ONLY_ITS_NODE = auto()
    STAYS = auto()


def outside(facts: PoolFacts) -> Iterator[Breach]:
    """A breach for each NodePool or instance and each way to end it."""

    def key(each: OutsideInstance) -> tuple[str, str, int]:
        # Whoever tags an instance may name a NodePool like the id of another one.
        return each.subject, each.node_pool, _way(each, facts.now).value

    for (subject, _, way), found in groupby(sorted(facts.outside, key=key), key=key):
        yield from _judged(facts, subject, _Way(way), tuple(found))


def _judged(
    facts: PoolFacts, subject: str, way: _Way, found: tuple[OutsideInstance, ...]
) -> Iterator[Breach]:
    finding = _finding(found)
    left_to = _left_to_its_owner(way, finding) if facts.acting and facts.ends_outside else None
    if not (facts.acting and facts.ends_outside):
        left_to = reason("guard.outside.only-said", finding=finding)
    if left_to is not None:
        yield _breach(left_to, GuardAction.SAY, subject)
        return
    if way is _Way.AWAITED:
        return
    announced = _announced_at(facts, subject)
    ids = tuple(each.instance.id for each in found)
    if announced is None:
        yield _breach(_announced(way, finding, found[0].node_pool), GuardAction.PAGE, subject)
    elif facts.now - announced >= NEXT_SWEEP:
        action = GuardAction.END_CLAIMS if way is _Way.CLAIM else GuardAction.END_OUTSIDE
        yield _breach(_ended(way, finding, found), action, subject, ids)


def _way(one: OutsideInstance, now: datetime) -> _Way:
    if one.instance.controller is not None:
        return _Way.OF_A_GROUP
    if not one.claims_read:
        return _Way.UNREAD
    if one.claim is None:
        return _Way.ONLY_ITS_NODE if one.managed else _Way.EC2
    if not one.claim.leaving:
        return _Way.CLAIM
    if one.claim.left is None or now - one.claim.left < LEFT_FOR:
        return _Way.AWAITED
    return _Way.STAYS if one.managed else _Way.EC2


def _left_to_its_owner(way: _Way, finding: Reason) -> Reason | None:
    """Why the guard does not end it although it enforces; None where it does, or waits for its end."""
    if way is _Way.OF_A_GROUP:
        return reason("guard.outside.of-a-group", finding=finding)
    if way is _Way.UNREAD:
        return reason("guard.outside.unread", finding=finding)
    if way is _Way.ONLY_ITS_NODE:
        return reason("guard.outside.only-its-node", finding=finding)
    return reason("guard.outside.stays", finding=finding) if way is _Way.STAYS else None


def _finding(found: tuple[OutsideInstance, ...]) -> Reason:
    first = found[0]
    ids = first_of([each.instance.id for each in found])
    if first.node_pool:
        return reason(
            "guard.outside.of-node-pool", count=len(found), instances=ids, node_pool=first.node_pool
        )
    one = first.instance
    return reason("guard.outside", instance=one.id, type=one.type, at=one.launched)


def _announced(way: _Way, finding: Reason, node_pool: str) -> Reason:
    if way is _Way.EC2:
        return reason("guard.outside.ends-next", finding=finding)
    if not node_pool:
        return reason("guard.outside.claims-next", finding=finding)
    return reason("guard.outside.claims-next.of-node-pool", finding=finding, node_pool=node_pool)


def _ended(way: _Way, finding: Reason, found: tuple[OutsideInstance, ...]) -> Reason:
    if way is _Way.EC2:
        return reason("guard.outside.ends", finding=finding)
    claims = first_of([each.claim.name for each in found if each.claim is not None])
    return reason("guard.outside.ends-claims", finding=finding, names=claims)


def _announced_at(facts: PoolFacts, subject: str) -> datetime | None:
    """When somebody first took the announcement of its end in the last hour, or nobody did for long enough.

    A report alone announces nothing.
    """
    announced = [
        earlier
        for earlier in facts.earlier
        if (earlier.rule, earlier.subject) == (Rule.GPU_OUTSIDE_POOLS, subject)
        and earlier.action != GuardAction.SAY
    ]
    instants = (each.at for each in announced if not each.unsent or facts.now - each.at >= UNHEARD)
    return min(instants, default=None)


def _breach(said: Reason, action: GuardAction, subject: str, instances: tuple[str, ...] = ()) -> Breach:
    return Breach(Rule.GPU_OUTSIDE_POOLS, said, action, subject=subject, instances=instances)
