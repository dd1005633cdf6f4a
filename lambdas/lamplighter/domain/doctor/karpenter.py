"""The doctor's checks of Karpenter: whether it runs, fits the cluster, hears of interruptions, and may launch."""

from collections.abc import Iterator
from datetime import datetime

from lamplighter.data import versions
from lamplighter.domain.capacity.node_pool.controller import Controller
from lamplighter.domain.capacity.node_pool.lock import policy_name
from lamplighter.domain.doctor.facts import Facts
from lamplighter.domain.doctor.karpenter_facts import KarpenterFacts, LaunchingRole, NodePoolFacts
from lamplighter.domain.doctor.line import Judgement, Unread, unknown, unwell, well
from lamplighter.domain.pool.adoption import ExistingCluster
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason


def running(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """Karpenter runs, and the cluster knows its kinds of object."""
    found = _controllers(facts, lab)
    if isinstance(found, Judgement):
        yield found
        return
    if not found:
        yield unwell(
            reason("doctor.karpenter-absent", cluster=lab.cluster_name),
            reason("doctor.karpenter-absent.advice"),
        )
    for one in found:
        yield _runs(one)
    kinds = facts.karpenter.absent_kinds if isinstance(facts.karpenter, KarpenterFacts) else ()
    if isinstance(kinds, Unread):
        yield unknown(kinds)
    elif kinds:
        yield unwell(
            reason("doctor.karpenter-kinds", cluster=lab.cluster_name, kinds=kinds),
            reason("doctor.karpenter-kinds.advice"),
        )


def _runs(found: Controller) -> Judgement:
    if found.wanted == 0:
        return unwell(
            reason("doctor.karpenter-scaled-down", deployment=found.name), reason("doctor.karpenter-advice")
        )
    if found.available == 0:
        why = found.why_not or reason("doctor.karpenter-no-reason")
        return unwell(
            reason("doctor.karpenter-down", deployment=found.name, wanted=found.wanted, why=why),
            reason("doctor.karpenter-advice"),
        )
    return well(
        reason("doctor.karpenter-ok", deployment=found.name, available=found.available, wanted=found.wanted)
    )


def version(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The version of Karpenter supports the cluster's Kubernetes, and static NodePools where the lab has them."""
    found = _controllers(facts, lab)
    if isinstance(found, Judgement):
        yield found
        return
    cluster = facts.cluster
    kubernetes = cluster.version if isinstance(cluster, ExistingCluster) else lab.cluster.kubernetes_version
    for one in found:
        yield _fits(one, kubernetes)
        if not one.static_capacity and _has_static(facts, lab):
            yield unwell(
                reason("doctor.karpenter-no-static", deployment=one.name),
                reason("doctor.karpenter-no-static.advice"),
            )
    if not found:
        yield unknown(reason("doctor.karpenter-absent", cluster=lab.cluster_name))


def _fits(found: Controller, kubernetes: str) -> Judgement:
    if found.version is None:
        return unknown(reason("doctor.karpenter-version-unread", deployment=found.name))
    fit = versions.karpenter_fit(found.version)
    if versions.is_bad_karpenter(found.version):
        return unwell(
            reason("doctor.karpenter-bad", version=found.version),
            reason("doctor.karpenter-take", version=versions.karpenter_charts()[0]),
        )
    if fit is None:
        return unknown(reason("doctor.karpenter-not-in-table", version=found.version))
    said = reason("doctor.karpenter-supports", version=found.version, range=str(fit), kubernetes=kubernetes)
    if fit.holds(kubernetes):
        return well(said)
    return unwell(said, reason("doctor.karpenter-take", version=versions.karpenter_charts()[0]))


def queue(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The queue exists by which Karpenter hears of interruptions."""
    found = _controllers(facts, lab)
    if isinstance(found, Judgement):
        yield found
        return
    queues = facts.karpenter.queues if isinstance(facts.karpenter, KarpenterFacts) else {}
    for one in found:
        exists = queues.get(one.queue, False)
        if not one.queue:
            yield unwell(
                reason("doctor.karpenter-no-queue", deployment=one.name),
                reason("doctor.karpenter-no-queue.advice"),
            )
        elif isinstance(exists, Unread):
            yield unknown(exists)
        elif exists:
            yield well(reason("doctor.karpenter-queue-ok", queue=one.queue))
        else:
            yield unwell(
                reason("doctor.karpenter-queue-absent", queue=one.queue),
                reason("doctor.karpenter-queue-absent.advice"),
            )
    if not found:
        yield unknown(reason("doctor.karpenter-absent", cluster=lab.cluster_name))


def launching(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The role that launches instances has its policies, and no lock of the failsafe is left on it."""
    pools = _pools(facts)
    if isinstance(pools, Unread):
        yield unknown(pools)
        return
    for pool in lab.pools_with("node pool"):
        found = pools.get(pool)
        if isinstance(found, Unread):
            yield unknown(found)
            continue
        role = found.launching if found else None
        if isinstance(role, Unread):
            yield unknown(role)
        elif role is None:
            yield well(reason("doctor.launching-unnamed", pool=pool))
        else:
            yield _may_launch(pool, policy_name(lab.node_pool_name(pool)), role)
    yield from _spot(facts, lab)


def _may_launch(pool: str, lock: str, role: LaunchingRole) -> Judgement:
    if lock in role.inline:
        return unwell(
            reason("doctor.lock-left", pool=pool, role=role.name, policy=lock),
            reason("doctor.lock-left.advice", role=role.name, policy=lock),
        )
    others = [name for name in role.inline if name != lock]
    if not others and not role.attached:
        return unwell(
            reason("doctor.launching-empty", pool=pool, role=role.name),
            reason("doctor.launching-empty.advice"),
        )
    return well(reason("doctor.launching-ok", pool=pool, role=role.name))


def _spot(facts: Facts, lab: Lab) -> Iterator[Judgement]:
    pools = _pools(facts)
    seen = {} if isinstance(pools, Unread) else pools
    wanted = [
        pool
        for pool in lab.pools_with("node pool")
        if isinstance(one := seen.get(pool), NodePoolFacts)
        and one.found
        and "spot" in one.found.capacity_types
    ]
    if not wanted or not isinstance(facts.karpenter, KarpenterFacts):
        return
    exists = facts.karpenter.spot_role
    if isinstance(exists, Unread):
        yield unknown(exists)
    elif not exists:
        yield unwell(reason("doctor.spot-role", pools=tuple(wanted)), reason("doctor.spot-role.advice"))


def _controllers(facts: Facts, lab: Lab) -> tuple[Controller, ...] | Judgement:
    """The Deployments of Karpenter; or what to say where the lab has no pool of it, or nobody read them."""
    if not lab.pools_with("karpenter"):
        return well(reason("doctor.karpenter-none"))
    if isinstance(facts.karpenter, Unread):
        return unknown(facts.karpenter)
    if facts.karpenter is None:
        return well(reason("doctor.karpenter-to-come"))
    found = facts.karpenter.controllers
    return unknown(found) if isinstance(found, Unread) else found


def _pools(facts: Facts) -> "dict[str, NodePoolFacts | Unread] | Unread":
    if isinstance(facts.karpenter, Unread):
        return facts.karpenter
    return {} if facts.karpenter is None else dict(facts.karpenter.pools)


def _has_static(facts: Facts, lab: Lab) -> bool:
    pools = _pools(facts)
    seen = {} if isinstance(pools, Unread) else pools
    return any(
        lab.pools[pool].existing is None
        or (isinstance(one := seen.get(pool), NodePoolFacts) and one.found is not None and one.found.static)
        for pool in lab.pools_with("node pool")
    )
