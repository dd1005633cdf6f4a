"""What the doctor says of the cluster: is it there, can the functions enter it, does its software fit and last."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from lamplighter.data import lifecycle, versions
from lamplighter.domain.doctor.facts import ClusterFacts, Facts, PoolGroup
from lamplighter.domain.doctor.line import Judgement, Unread, unknown, unwell, well
from lamplighter.domain.pool.adoption import About, FoundCluster, of_autoscalers, of_cluster
from lamplighter.lab.model import Lab

AHEAD = timedelta(days=90)
"""How long before an end of support it is said: a quarter has a quiet week."""
HOURS_A_MONTH = 730


def cluster(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The cluster is there, or the deploy makes it."""
    found, name = facts.cluster, lab.cluster_name
    if isinstance(found, Unread):
        yield unknown(found)
    elif found is not None and found.status in {"ACTIVE", "UPDATING"}:
        yield well(f"cluster {name} is there, Kubernetes {found.version}")
    elif found is not None:
        yield unwell(f"cluster {name} is {found.status}", "see its health in the EKS console")
    elif lab.cluster.existing is not None or facts.deployed:
        yield unwell(
            f"there is no cluster {name} in {lab.region}",
            f"aws eks list-clusters --region {lab.region} names those that are; see region and account",
        )
    else:
        yield well(f"cluster {name} is made by the deploy")


def authentication(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The cluster takes access entries, by which our functions enter it."""
    found = _there(facts, lab)
    if isinstance(found, Judgement):
        yield found
        return
    yield _wrong(found, About.AUTHENTICATION) or well(
        f"cluster {found.name} has authentication mode {found.authentication}"
    )


def endpoint(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The Kubernetes API answers where our functions run."""
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
            f"the Kubernetes API of cluster {found.name} does not answer: {facts.inside.autoscalers.why_not}",
            "see that nothing between here and it is in the way, and the cluster's health in the EKS console",
        )
    else:
        yield well(f"the Kubernetes API of cluster {found.name} answers, and lets in functions by IAM")
    yield from (well(one.text) for one in of_cluster(found) if one.about is About.AUTHORITY)


def autoscalers(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """Nobody else starts or removes GPU nodes."""
    found = _there(facts, lab)
    if isinstance(found, Judgement):
        yield found
        return
    inside = facts.inside
    if inside is None or isinstance(inside, Unread):
        yield unknown(inside or Unread(f"cluster {found.name} was not asked"))
        return
    if not inside.autoscalers.asked:
        yield unknown(
            inside.autoscalers.why_not, "kubectl get deployments -A | grep -e autoscaler -e karpenter"
        )
        return
    yield from _fighting(facts, inside, found.name)


def _fighting(facts: Facts, inside: ClusterFacts, cluster_name: str) -> Iterator[Judgement]:
    unread = [one for one in facts.groups.values() if isinstance(one, Unread)]
    if unread and inside.autoscalers.found:
        yield unknown(unread[0])
        return
    groups = [one.found for one in facts.groups.values() if isinstance(one, PoolGroup)]
    said = [one for group in groups for one in of_autoscalers(group, inside.autoscalers)]
    blocking = {one.text: one for one in said if one.blocks}
    if blocking:
        yield from (unwell(one.said, one.advice) for one in blocking.values())
    elif said:
        yield from (well(one.said) for one in said)
    else:
        yield well(f"no autoscaler of cluster {cluster_name} can fight over the pools")


def kubernetes_version(facts: Facts, lab: Lab, now: datetime) -> Iterator[Judgement]:
    """EKS supports the Kubernetes version at its ordinary price for a while yet."""
    version = _version(facts, lab)
    if isinstance(version, Unread):
        yield unknown(version)
        return
    support = lifecycle.kubernetes(version)
    if support is None:
        yield unknown(
            f"until when EKS supports Kubernetes {version} is not in the table shipped with us, of"
            f" {lifecycle.known_on()}",
            f"aws eks describe-cluster-versions --cluster-versions {version}",
        )
        return
    more = lifecycle.extended_support_hour()
    price = f"{more:f} USD an hour more, about {more * HOURS_A_MONTH:.0f} USD a month"
    ordinary = isinstance(facts.cluster, FoundCluster) and facts.cluster.support == "STANDARD"
    then = "EKS upgrades the cluster by itself" if ordinary else f"the cluster costs {price}"
    advice = f"upgrade to Kubernetes {lifecycle.newest_kubernetes()}, one version at a time; {_operator_after(lab)}"
    today = now.date()
    if today > support.extended:
        yield unwell(f"EKS no longer supports Kubernetes {version}, since {support.extended}", advice)
    elif today > support.standard:
        said = f"standard support of Kubernetes {version} ended on {support.standard}: since then {then}"
        yield unwell(said, advice)
    elif today + AHEAD >= support.standard:
        yield unwell(
            f"standard support of Kubernetes {version} ends on {support.standard}: then {then}", advice
        )
    else:
        yield well(f"standard support of Kubernetes {version} ends on {support.standard}; then {then}")


def _operator_after(lab: Lab) -> str:
    return (
        "see that the GPU Operator supports it"
        if lab.gpu_operator.enabled
        else "see what your GPU stack supports"
    )


def operator(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """The GPU Operator supports the Kubernetes version."""
    version = _version(facts, lab)
    if isinstance(version, Unread):
        yield unknown(version)
        return
    inside = facts.inside
    if isinstance(inside, ClusterFacts) and (inside.operator or inside.autoscalers.asked):
        runs = inside.operator
        if runs is None and lab.gpu_operator.enabled:
            yield unwell(
                f"no GPU Operator runs in cluster {lab.cluster_name}, and the lab takes its GPUs from one",
                "install it, or write gpu_operator: {enabled: false} where the nodes bring a device plugin",
            )
            return
    elif lab.cluster.existing is not None:
        why = inside.why if isinstance(inside, Unread) else "cluster was not asked"
        yield unknown(inside.autoscalers.why_not if isinstance(inside, ClusterFacts) else why)
        return
    else:
        runs = lab.gpu_operator.version if lab.gpu_operator.enabled else None
    yield _fits(runs, version)


def _fits(runs: str | None, version: str) -> Judgement:
    if runs is None:
        return well("the lab has no GPU Operator")
    fit = versions.operator_fit(runs)
    if fit is None:
        return unknown(f"which Kubernetes GPU Operator {runs} supports is not in the table shipped with us")
    if fit.holds(version):
        return well(f"GPU Operator {runs} supports Kubernetes {fit}, and the cluster has {version}")
    other = versions.operator_for(version)
    return unwell(
        f"GPU Operator {runs} supports Kubernetes {fit}, and the cluster has {version}",
        f"take GPU Operator {other}.x" if other else f"take a Kubernetes version that it supports: {fit}",
    )


def _there(facts: Facts, lab: Lab) -> FoundCluster | Judgement:
    """The cluster, or what there is to say without one."""
    if isinstance(facts.cluster, Unread):
        return unknown(facts.cluster)
    if facts.cluster is not None:
        return facts.cluster
    if lab.cluster.existing is not None or facts.deployed:
        return unknown(f"there is no cluster {lab.cluster_name} in {lab.region}")
    return well(f"cluster {lab.cluster_name} is made by the deploy, as it should be")


def _version(facts: Facts, lab: Lab) -> str | Unread:
    if isinstance(facts.cluster, Unread):
        return facts.cluster
    if facts.cluster is not None:
        return facts.cluster.version
    if lab.cluster.existing is not None:
        return Unread(f"there is no cluster {lab.cluster_name} in {lab.region}")
    return lab.cluster.kubernetes_version


def _wrong(found: FoundCluster, about: About) -> Judgement | None:
    said = (unwell(one.said, one.advice) for one in of_cluster(found) if one.about is about)
    return next(said, None)
