"""What the functions and the failsafe of a lab may do about its NodePools in Kubernetes.

data/rbac.yaml has the rights that every lab needs. These name the lab's own objects and groups, so that they are made
for each lab. RBAC cannot narrow NodeClaims by their label: a right on them is one on every NodePool's.
"""

from functools import partial
from typing import TYPE_CHECKING

from lamplighter.domain.capacity.node_pool import controller
from lamplighter.domain.capacity.node_pool.groups import Group
from lamplighter.domain.capacity.node_pool.launch_bar import NAMESPACE, parameter_name
from lamplighter.values.kubernetes_rights import Document, granted, rule

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

DEFINITIONS = ("nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws")
"""The kinds of object that Karpenter cannot work without."""

_rule = partial(rule, group="karpenter.sh")


def documents(lab: "Lab") -> list[Document]:
    """What is applied for the lab; nothing without NodePools."""
    if not lab.pools_with("node pool"):
        return []
    pools = [lab.node_pool_name(pool) for pool in lab.pools_with("node pool")]
    bars = [parameter_name(lab, pool) for pool in lab.pools_with("node pool")]
    seeing = [_rule(["nodepools", "nodeclaims"], ["get", "list"])]
    # launch_bar.py refuses what is no dry run.
    trying = [_rule(["nodeclaims"], ["create"])]
    seeing_bars = [_rule(["configmaps"], ["get"], group="", names=bars)]
    moving_bars = [
        _rule(["configmaps"], ["get", "patch", "update"], group="", names=bars),
        # A lost ConfigMap is made again: a name cannot narrow `create`.
        _rule(["configmaps"], ["create"], group=""),
    ]
    sizing = [
        _rule(["nodepools"], ["patch", "update"], names=pools),
        _rule(["nodepools/scale"], ["get", "patch", "update"], names=pools),
        # A grace given afterwards is an annotation of the claim.
        _rule(["nodeclaims"], ["delete", "patch"]),
        # AWS lets nobody end an instance of Auto Mode: one without a claim ends with its node.
        *([_rule(["nodes"], ["list", "delete"], group="")] if _has_auto_mode(lab) else []),
    ]
    to_zero = [
        _rule(["nodepools/scale"], ["update"], names=pools),
        _rule(["nodeclaims"], ["deletecollection"]),
    ]
    in_the_cluster = {
        Group.DIAGNOSIS: [*seeing, *_classes("list"), _knowing_kinds()],
        Group.DOCTOR: [*seeing, *_classes("get"), _knowing_kinds(), *trying],
        Group.POOLS: seeing,
        Group.CAPACITY: [*seeing, *sizing],
        Group.BAR: [*seeing, *trying],
        Group.GATEKEEPER: [*seeing, *trying],
        Group.FAILSAFE: to_zero,
    }
    if not _installs(lab):
        in_the_cluster[Group.CONTROLLER] = [_deployments("list")]
    in_our_namespace = {
        Group.DIAGNOSIS: seeing_bars,
        Group.DOCTOR: seeing_bars,
        Group.POOLS: seeing_bars,
        Group.CAPACITY: seeing_bars,
        Group.BAR: moving_bars,
        Group.GATEKEEPER: seeing_bars,
    }
    # Events about objects without a namespace are in this one: they say why a launch was refused.
    in_default = {Group.CAPACITY: [_rule(["events"], ["list"], group="")]}
    # The pods of a Karpenter without a node say why. The guard sees all pods.
    in_karpenters = {
        Group.CONTROLLER: [_deployments("get", controller.NAME)],
        Group.DOCTOR: [_rule(["pods"], ["list"], group="")],
    }
    return [
        document
        for namespace, rights in (
            (None, in_the_cluster),
            (NAMESPACE, in_our_namespace),
            ("default", in_default),
            (controller.NAMESPACE, in_karpenters if _installs(lab) else {}),
        )
        for group, rules in rights.items()
        for document in granted(f"{lab.name}-node-pools-{group.value}", namespace, group.of(lab.name), rules)
    ]


def _classes(verb: str) -> list[Document]:
    """What the nodes of NodePools are made of."""
    return [
        _rule(["ec2nodeclasses"], [verb], group="karpenter.k8s.aws"),
        _rule(["nodeclasses"], [verb], group="eks.amazonaws.com"),
    ]


def _knowing_kinds() -> Document:
    """Whether the cluster knows Karpenter's kinds of object."""
    return _rule(
        ["customresourcedefinitions"], ["get"], group="apiextensions.k8s.io", names=list(DEFINITIONS)
    )


def _deployments(verb: str, *names: str) -> Document:
    return _rule(["deployments"], [verb], group="apps", names=names)


def _installs(lab: "Lab") -> bool:
    """Whether the lab installs Karpenter, whose Deployment then has a known name."""
    return lab.cluster.karpenter is not None and not lab.cluster.karpenter.existing


def _has_auto_mode(lab: "Lab") -> bool:
    return bool(lab.pools_with("auto mode"))
