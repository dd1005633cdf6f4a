"""The doctor's checks of the cluster: whether it exists, the functions' access, versions, and support."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from lamplighter.data import lifecycle, versions
from lamplighter.domain.doctor.facts import ClusterFacts, Facts, PoolGroup
from lamplighter.domain.doctor.line import Judgement, Unread, unknown, unwell, well
from lamplighter.domain.pool.adoption import (
    About,
    ExistingCluster,
    of_autoscalers,
    of_cluster,
    of_other_node_pools,
)
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Reason, Said, Sentences, reason

AHEAD = timedelta(days=90)
"""How long before an end of support the doctor warns: a quarter has a quiet week."""
HOURS_A_MONTH = 730


def cluster(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The cluster exists, or the deploy creates it."""
    found, name = facts.cluster, lab.cluster_name
    if isinstance(found, Unread):
        yield unknown(found)
    elif found is not None and found.status in {"ACTIVE", "UPDATING"}:
        yield well(reason("doctor.cluster-ok", cluster=name, version=found.version))
    elif found is not None:
        yield unwell(
            reason("doctor.cluster-unwell", cluster=name, status=found.status),
            reason("doctor.cluster-health"),
        )
    elif lab.cluster.existing is not None or facts.deployed:
        yield unwell(
            reason("doctor.cluster-absent", cluster=name, region=lab.region),
            reason("doctor.cluster-list", region=lab.region),
        )
    else:
        yield well(reason("doctor.cluster-to-come", cluster=name))


def authentication(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The cluster accepts access entries, which our functions need."""
    found = _there(facts, lab)
    if isinstance(found, Judgement):
        yield found
        return
    yield _wrong(found, About.AUTHENTICATION) or well(
        reason("doctor.authentication-ok", cluster=found.name, mode=found.authentication)
    )


def endpoint(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """Our functions can reach the Kubernetes API."""
    found = _there(facts, lab)
    if isinstance(found, Judgement):
        yield found
        return
    wrong = _wrong(found, About.ENDPOINT)
    if wrong is not None:
        yield wrong
    elif isinstance(facts.inside, Unread):
        yield unknown(facts.inside)
    elif facts.inside is not None and not facts.inside.autoscalers.reachable:
        yield unwell(
            reason("doctor.endpoint-silent", cluster=found.name, why=facts.inside.autoscalers.why_not),
            reason("doctor.endpoint-advice"),
        )
    else:
        yield well(reason("doctor.endpoint-ok", cluster=found.name))
    yield from (well(remark.text) for remark in of_cluster(found) if remark.about is About.AUTHORITY)


def autoscalers(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """No autoscaler starts or removes GPU nodes."""
    found = _there(facts, lab)
    if isinstance(found, Judgement):
        yield found
        return
    inside = facts.inside
    if inside is None or isinstance(inside, Unread):
        yield unknown(inside or Unread(reason("doctor.cluster-not-asked", cluster=found.name)))
        return
    if not inside.autoscalers.asked:
        yield unknown(
            inside.autoscalers.why_not, "kubectl get deployments -A | grep -e autoscaler -e karpenter"
        )
        return
    yield from _fighting(facts, lab, inside)


def _fighting(facts: Facts, lab: Lab, inside: ClusterFacts) -> Iterator[Judgement]:
    unread = [group for group in facts.groups.values() if isinstance(group, Unread)]
    if unread and inside.autoscalers.found:
        yield unknown(unread[0])
        return
    groups = [group.found for group in facts.groups.values() if isinstance(group, PoolGroup)]
    ours = {lab.node_pool_name(pool) for pool in lab.pools_with("node pool")}
    others = tuple(name for name in inside.autoscalers.nodepools if name not in ours)
    autoscalers = replace(inside.autoscalers, nodepools=others)
    remarks = [remark for group in groups for remark in of_autoscalers(group, autoscalers)]
    other_pools = list(of_other_node_pools(autoscalers))
    remarks += other_pools
    blocking = {remark.text: remark for remark in remarks if remark.blocks}
    if blocking:
        for remark in blocking.values():
            then = _then(lab) if remark in other_pools else ()
            yield unwell(Sentences((remark.said, *then)) if then else remark.said, remark.advice)
    elif remarks:
        yield from (well(remark.said) for remark in remarks)
    else:
        yield well(reason("doctor.autoscalers-ok", cluster=lab.cluster_name))


def _then(lab: Lab) -> tuple[Reason, ...]:
    """What the guard does about GPU instances of another NodePool; without NodePools it sees none."""
    if not lab.pools_with("node pool"):
        return ()
    acts = lab.cluster.existing is None and all(lab.mode(pool) == "enforce" for pool in lab.pools)
    return (reason("doctor.guard-ends-others") if acts else reason("doctor.guard-reports-others"),)


def auto_mode(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """EKS Auto Mode is on where a pool needs it. A failsafe may have switched it off, and a deploy does not notice."""
    if not lab.pools_with("auto mode"):
        yield well(reason("doctor.auto-mode-none"))
        return
    found = _there(facts, lab)
    if isinstance(found, Judgement):
        yield found
    elif found.auto_mode:
        yield well(reason("doctor.auto-mode-ok", cluster=found.name))
    else:
        yield unwell(
            reason("doctor.auto-mode-off", cluster=found.name), reason("doctor.auto-mode-off.advice")
        )


def kubernetes_version(facts: Facts, lab: Lab, now: datetime) -> Iterator[Judgement]:
    """EKS supports the Kubernetes version at its standard price for some time."""
    version = _version(facts, lab)
    if isinstance(version, Unread):
        yield unknown(version)
        return
    told = {} if isinstance(facts.kubernetes, Unread) else facts.kubernetes
    support = told.get(version) or lifecycle.kubernetes(version)
    if support is None:
        yield unknown(
            reason("doctor.support-not-in-table", version=version, known=lifecycle.known_on()),
            f"aws eks describe-cluster-versions --cluster-versions {version}",
        )
        return
    more = lifecycle.extended_support_hour()
    then = (
        reason("doctor.then-upgrades")
        if _is_upgraded_by_itself(facts, lab)
        else reason("doctor.then-costs", hour=f"{more:f}", month=f"{more * HOURS_A_MONTH:.0f}")
    )
    advice = _newer(facts, lab, told or lifecycle.known_kubernetes())
    today = now.date()
    if today >= support.extended:
        yield unwell(reason("doctor.kubernetes-unsupported", version=version, day=support.extended), advice)
    elif today >= support.standard:
        ended = reason("doctor.support-ended", version=version, day=support.standard, then=then)
        yield unwell(ended, advice)
    elif today + AHEAD >= support.standard:
        ends = reason("doctor.support-ends", version=version, day=support.standard, then=then)
        yield unwell(ends, advice)
    else:
        yield well(reason("doctor.support-ok", version=version, day=support.standard, then=then))


def _is_upgraded_by_itself(facts: Facts, lab: Lab) -> bool:
    """Whether the cluster has no extended support; one of the lab has none."""
    if isinstance(facts.cluster, ExistingCluster):
        return facts.cluster.support == "STANDARD"
    return lab.cluster.existing is None


def _newer(facts: Facts, lab: Lab, known: Iterable[str]) -> Reason:
    """The advice to take a newer version."""
    if facts.cluster is None:
        return reason("doctor.write-kubernetes", newest=newest_for(lab, known))
    newest = max(known, key=versions.order)
    if lab.gpu_operator.enabled:
        return reason("doctor.upgrade-kubernetes.operator", newest=newest)
    return reason("doctor.upgrade-kubernetes.stack", newest=newest)


def newest_for(lab: Lab, known: Iterable[str]) -> str:
    """The newest of the versions that the lab's GPU Operator supports; the newest of all if it has none."""
    fit = versions.operator_fit(lab.gpu_operator.version) if lab.gpu_operator.enabled else None
    newest_first = sorted(known, key=versions.order, reverse=True)
    return next((each for each in newest_first if fit is None or fit.holds(each)), newest_first[0])


def operator(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The GPU Operator supports the Kubernetes version."""
    version = _version(facts, lab)
    if isinstance(version, Unread):
        yield unknown(version)
        return
    inside = facts.inside
    if isinstance(inside, ClusterFacts) and (inside.operator or inside.autoscalers.asked):
        runs = inside.operator
        if runs is None and _needs_operator(lab):
            yield unwell(
                reason("doctor.operator-absent", cluster=lab.cluster_name),
                reason("doctor.operator-advice", off="{enabled: false}"),
            )
            return
    elif lab.cluster.existing is not None:
        why = inside.why if isinstance(inside, Unread) else reason("doctor.not-asked")
        yield unknown(inside.autoscalers.why_not if isinstance(inside, ClusterFacts) else why)
        return
    else:
        runs = lab.gpu_operator.version if lab.gpu_operator.enabled else None
    yield _fits(runs, version)


def _needs_operator(lab: Lab) -> bool:
    """A cluster of the lab gets the operator; in an adopted one it is missing only if it has to announce GPUs."""
    if lab.cluster.existing is None:
        return lab.gpu_operator.enabled
    return any(lab.gpu_stack(pool) == "operator" for pool in lab.pools)


def _fits(runs: str | None, version: str) -> Judgement:
    if runs is None:
        return well(reason("doctor.operator-none"))
    fit = versions.operator_fit(runs)
    if fit is None:
        return unknown(reason("doctor.operator-not-in-table", operator=runs))
    supports = reason("doctor.operator-supports", operator=runs, range=str(fit), version=version)
    if fit.holds(version):
        return well(supports)
    other = versions.operator_for(version)
    return unwell(
        supports,
        reason("doctor.operator-take", operator=other)
        if other
        else reason("doctor.operator-other-kubernetes", range=str(fit)),
    )


def _there(facts: Facts, lab: Lab) -> ExistingCluster | Judgement:
    """The cluster, or the judgement where there is none."""
    if isinstance(facts.cluster, Unread):
        return unknown(facts.cluster)
    if facts.cluster is not None:
        return facts.cluster
    if lab.cluster.existing is not None or facts.deployed:
        return unknown(_absent(lab))
    return well(reason("doctor.cluster-to-come-as-it-should", cluster=lab.cluster_name))


def _absent(lab: Lab) -> Said:
    return reason("doctor.cluster-absent", cluster=lab.cluster_name, region=lab.region)


def _version(facts: Facts, lab: Lab) -> str | Unread:
    if isinstance(facts.cluster, Unread):
        return facts.cluster
    if facts.cluster is not None:
        return facts.cluster.version
    if lab.cluster.existing is not None:
        return Unread(_absent(lab))
    return lab.cluster.kubernetes_version


def _wrong(found: ExistingCluster, about: About) -> Judgement | None:
    wrong = (unwell(remark.said, remark.advice) for remark in of_cluster(found) if remark.about is about)
    return next(wrong, None)
