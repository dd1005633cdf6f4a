"""Whether the cluster has the Karpenter that pools of that kind need: its version, its permissions, its two pods.

node_pools.py checks the keys of such pools; data/versions.json has what a version supports.
"""

from collections.abc import Iterator

from lamplighter.data import versions
from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.lab.nodes.karpenter import Karpenter
from lamplighter.labfile.rules.cluster import IDENTITY_AGENT
from lamplighter.labfile.rules.parts import Misfit

HERE: Path = ("cluster", "karpenter")
SYSTEM: Path = ("cluster", "system_nodes")
EXISTING: Path = ("cluster", "existing")
VERSION: Path = ("cluster", "kubernetes_version")
# The chart starts two pods, which never share a node.
REPLICAS = 2
# The add-ons leave no 512 MiB for a pod of Karpenter on nodes of these sizes, which have 2 GiB or less.
TOO_SMALL = frozenset({"nano", "micro", "small"})


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The mistakes in cluster.karpenter, and the pools that need it."""
    karpenter = lab.cluster.karpenter
    if karpenter is None:
        yield from _without(lab)
        return
    yield from _whose(lab, karpenter)
    if karpenter.existing or lab.cluster.existing is not None:
        return
    yield from _version(lab, karpenter.version)
    yield from _room(lab)
    if IDENTITY_AGENT not in lab.cluster.addons and lab.cluster.workload_identity != "pod":
        text = f"are without {IDENTITY_AGENT}, which gives Karpenter its AWS permissions; add it"
        yield Misfit(("cluster", "addons"), text, (HERE,))
    if lab.cluster.has_auto_mode:
        text = (
            "is given beside auto_mode, but both bring the definitions of NodePool and NodeClaim; keep one of the two"
            " in a cluster that the lab creates"
        )
        yield Misfit(HERE, text, (("cluster", "auto_mode"),))


def _without(lab: Lab) -> Iterator[Misfit]:
    right = "{existing: true}" if lab.cluster.existing else f"{{version: {versions.karpenter_charts()[0]}}}"
    for name, pool in lab.pools.items():
        if pool.kind == "karpenter":
            text = f"is karpenter, but the cluster has none; write cluster: {{karpenter: {right}}}"
            yield Misfit(("pools", name, "kind"), text, (HERE, EXISTING))


def _whose(lab: Lab, karpenter: Karpenter) -> Iterator[Misfit]:
    """Karpenter is the lab's own in a cluster that the lab creates, and an existing one in an existing cluster."""
    if karpenter.existing and lab.cluster.existing is None:
        text = (
            "is true, but the lab creates the cluster, so no Karpenter runs there yet; write"
            f" version: {versions.karpenter_charts()[0]} in its place"
        )
        yield Misfit((*HERE, "existing"), text, (EXISTING,))
    elif karpenter.existing and "version" in karpenter.model_fields_set:
        text = "is given beside existing: true, but the lab does not install that Karpenter; leave it out"
        yield Misfit((*HERE, "version"), text, ((*HERE, "existing"),))
    elif not karpenter.existing and lab.cluster.existing is not None:
        text = "is to be installed, but nothing is installed in an existing cluster; write {existing: true}"
        yield Misfit(HERE, text, (EXISTING, (*HERE, "existing")))
    if karpenter.role is not None and not karpenter.existing:
        text = "names the role of an existing Karpenter, but the lab makes a role for its own; leave it out"
        yield Misfit((*HERE, "role"), text, ((*HERE, "existing"),))


def _version(lab: Lab, version: str) -> Iterator[Misfit]:
    charts, kubernetes = versions.karpenter_charts(), lab.cluster.kubernetes_version
    fit = versions.karpenter_fit(version)
    if not versions.has_static_node_pools(version):
        wrong = "which has no NodePools of a fixed size, as the lab's pools are"
    elif fit is not None and not fit.holds(kubernetes):
        wrong = f"which supports Kubernetes {fit}, not {kubernetes}"
    elif versions.is_bad_karpenter(version):
        wrong = "which schedules wrongly, as its own upgrade guide says"
    elif version not in charts:
        wrong = "whose charts Lamplighter does not have"
    else:
        return
    good = [one for one in charts if (known := versions.karpenter_fit(one)) and known.holds(kubernetes)]
    right = (
        f"write {good[0]}" if good else f"no version that Lamplighter has supports Kubernetes {kubernetes}"
    )
    yield Misfit((*HERE, "version"), f"is {version}, {wrong}; {right}", (VERSION,))


def _room(lab: Lab) -> Iterator[Misfit]:
    """Karpenter never runs on nodes that it starts, so the system nodes must have room for it."""
    nodes = lab.cluster.system_nodes
    if nodes.nodes < REPLICAS:
        text = f"is {nodes.nodes}, but Karpenter has {REPLICAS} pods, each on its own node; write {REPLICAS} or more"
        yield Misfit((*SYSTEM, "nodes"), text, (HERE,))
    if nodes.instance_type.partition(".")[2] in TOO_SMALL:
        text = (
            f"is {nodes.instance_type}, too small for Karpenter beside the add-ons; write t3.medium or larger"
        )
        yield Misfit((*SYSTEM, "instance_type"), text, (HERE,))
