"""The doctor's checks of each NodePool: whether it can start, end and hold a lease, its nodes' access, and its bar."""

from collections.abc import Iterator
from datetime import datetime

from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.capacity.node_pool.kind import AUTO_MODE
from lamplighter.domain.doctor.facts import Facts
from lamplighter.domain.doctor.karpenter_facts import BarState, NodePoolFacts
from lamplighter.domain.doctor.line import Judgement, Unread, unknown, unwell, well
from lamplighter.domain.pool.node_pool_adoption import (
    ExistingNodePool,
    of_choice,
    of_health,
    of_image,
    of_life,
    of_types,
)
from lamplighter.lab.kinds import Code
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, reason

ENTRIES = {AUTO_MODE.code: ("EC2", "EC2_LINUX")}
"""Types of access entries that let nodes in, where it is not Linux's own alone."""
LINUX = ("EC2_LINUX",)


def node_pool(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """Each NodePool exists, can start nodes, ends them in time, and lets them live as long as a lease."""
    for pool in lab.pools_with("node pool"):
        name, found = identity(lab, pool).name, _of(facts, pool)
        if isinstance(found, Unread):
            yield unknown(found)
        elif found is not None and found.found is not None:
            yield from _judged(lab, pool, found.found)
        elif lab.pools[pool].existing is not None or facts.deployed:
            yield unwell(
                reason("doctor.node-pool-absent", node_pool=name, pool=pool),
                reason("doctor.node-pool-absent.advice"),
            )
        else:
            yield well(reason("doctor.node-pool-to-come", node_pool=name, pool=pool))


def _judged(lab: Lab, pool: str, found: ExistingNodePool) -> Iterator[Judgement]:
    wrong = [*of_types(found), *of_life(found), *of_image(found), *of_health(found)]
    yield from (unwell(obstacle.said, obstacle.advice) for obstacle in wrong)
    yield from (well(obstacle.said) for obstacle in of_choice(found))
    short = _short_lived(lab, found)
    if short:
        yield unwell(short, reason("doctor.node-pool-expires.advice"))
    if not wrong and not short:
        yield well(reason("doctor.node-pool-ok", node_pool=found.name, pool=pool))


def _short_lived(lab: Lab, found: ExistingNodePool) -> Said:
    """That its nodes do not live as long as a lease may last; "" where they do."""
    longest = lab.guard.longest_lease
    if found.expires_after is None or found.expires_after > longest:
        return ""
    return reason("doctor.node-pool-expires", node_pool=found.name, life=found.expires_after, longest=longest)


def access(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The cluster lets the nodes of each NodePool in."""
    for pool in lab.pools_with("node pool"):
        found = _of(facts, pool)
        if isinstance(found, Unread):
            yield unknown(found)
        elif found is None or found.found is None:
            yield well(reason("doctor.node-access-to-come", pool=pool))
        elif not found.role:
            yield unknown(reason("doctor.node-role-unnamed", pool=pool))
        else:
            yield _entry(pool, lab.pools[pool].kind, found)


def _entry(pool: str, kind: Code, found: NodePoolFacts) -> Judgement:
    entry, role = found.access, found.role
    if isinstance(entry, Unread):
        return unknown(entry)
    wanted = ENTRIES.get(kind, LINUX)
    advice = reason("doctor.node-access.advice", role=role, type=wanted[0])
    if entry is None:
        return unwell(reason("doctor.node-access-absent", pool=pool, role=role), advice)
    if entry not in wanted:
        return unwell(reason("doctor.node-access-other", pool=pool, role=role, type=entry), advice)
    return well(reason("doctor.node-access-ok", pool=pool, role=role, type=entry))


def launch_bar(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The API server refuses a NodeClaim of each pool that the launch bar must refuse."""
    for pool in lab.pools_with("node pool"):
        name, found = identity(lab, pool).name, _of(facts, pool)
        if isinstance(found, Unread):
            yield unknown(found)
        elif found is None or not facts.deployed:
            yield well(reason("doctor.bar-to-come", pool=pool))
        elif isinstance(found.bar, Unread):
            yield unknown(found.bar)
        elif found.bar is BarState.REFUSES:
            yield well(reason("doctor.bar-ok", pool=pool))
        elif found.bar is BarState.OPEN:
            yield well(reason("doctor.bar-leased", pool=pool))
        elif found.bar is BarState.NOTHING_TO_BAR:
            yield unknown(reason("doctor.node-pool-absent", node_pool=name, pool=pool))
        elif lab.mode(pool) != "enforce":
            yield well(reason("doctor.bar-watches", pool=pool))
        else:
            yield unwell(
                reason("doctor.bar-open", pool=pool, node_pool=name), reason("doctor.bar-open.advice")
            )


def _of(facts: Facts, pool: str) -> NodePoolFacts | Unread | None:
    """None where nothing exists yet."""
    if isinstance(facts.karpenter, Unread):
        return facts.karpenter
    return None if facts.karpenter is None else facts.karpenter.pools.get(pool)
