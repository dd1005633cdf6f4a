"""Names that AWS and Kubernetes would refuse: tags, labels, taints, node groups, NodePools.

AWS and Kubernetes refuse them in the middle of a deploy; these rules report them before. lab/names.py has the patterns
of single names.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.lab.pools import Taint
from lamplighter.lab.types import shown
from lamplighter.labfile.rules.parts import Misfit

# AWS allows 50 tags on a resource, and the lab adds some of its own.
MOST_TAGS = 40
LONGEST_TAG_KEY, LONGEST_TAG = 128, 256
LONGEST_LABEL = 63
# EKS user guide, taints of managed node groups.
MOST_TAINTS = 50
_TAG = re.compile(r"[\w +\-=.:/@]*")
TAG_LETTERS = "letters, digits, spaces or any of + - = . _ : / @"
_NAME = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_LABEL_KEY = re.compile(rf"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?{_NAME}")
_LABEL = re.compile(rf"({_NAME})?")
# EKS sets labels of its own, by which the guard knows the nodes of a pool. A kubelet may give its node only these two
# kinds of Kubernetes' labels, and a node with any other never joins
# (https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction).
_RESERVED = re.compile(r"([^/]*\.)?(eks\.amazonaws\.com|kubernetes\.io|k8s\.io)/.*")
_ALLOWED = re.compile(r"([^/]*\.)?(node|kubelet)\.kubernetes\.io/.*")
# Karpenter's CRDs refuse these in a NodePool, or Karpenter sets them itself.
_OF_KARPENTER = re.compile(r"([^/]*\.)?(karpenter\.sh|karpenter\.k8s\.aws|kubelet\.kubernetes\.io)/.*")
_TAGS_OF_KARPENTER = frozenset(
    {
        "eks:eks-cluster-name",
        "karpenter.k8s.aws/ec2nodeclass",
        "karpenter.sh/nodeclaim",
        "karpenter.sh/nodepool",
    }
)
NODE_POOL_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def misfits(lab: Lab) -> Iterator[Misfit]:
    """Each name that AWS or Kubernetes would refuse, and each name that is used twice."""
    yield from _tags(lab.tags)
    yield from _tags_of_karpenter(lab)
    yield from _node_groups(lab)
    yield from _node_pools(lab)
    yield from _of_karpenter(lab)
    yield from _beside_groups(lab)
    yield from _last_letters(lab)
    yield from _repeats(lab)
    places: list[tuple[Path, Mapping[str, str], list[Taint]]] = [
        (("pools", name), pool.labels, pool.taints)
        for name, pool in lab.pools.items()
        if pool.existing is None
    ]
    if lab.cluster.existing is None:
        nodes = lab.cluster.system_nodes
        places.append((("cluster", "system_nodes"), nodes.labels, nodes.taints))
        places += [
            (("cluster", "node_groups", name), group.labels, group.taints)
            for name, group in lab.cluster.node_groups.items()
        ]
    for path, labels, taints in places:
        for key, value in labels.items():
            yield from _label(key, value, (*path, "labels", key))
            if _RESERVED.fullmatch(key) and not _ALLOWED.fullmatch(key):
                yield Misfit(
                    (*path, "labels", key),
                    "is kept for EKS and Kubernetes, which refuse it on a node group; write a prefix of your own",
                )
        if len(taints) > MOST_TAINTS:
            yield Misfit((*path, "taints"), f"are {len(taints)}, EKS takes at most {MOST_TAINTS}")
        for index, taint in enumerate(taints):
            yield from _label(taint.key, taint.value, (*path, "taints", index))
            if any((other.key, other.effect) == (taint.key, taint.effect) for other in taints[:index]):
                yield Misfit(
                    (*path, "taints", index),
                    f"is {shown(taint.key)} with {taint.effect} for a second time; a node has one value for both",
                )


def _tags(tags: Mapping[str, str]) -> Iterator[Misfit]:
    if len(tags) > MOST_TAGS:
        yield Misfit(("tags",), f"are {len(tags)} with the default ones, write at most {MOST_TAGS}")
    for key, value in tags.items():
        path: Path = ("tags", key)
        if key.lower().startswith(("aws:", "lamplighter:")):
            yield Misfit(
                path, "is kept for others' tags, begin its key with another word than aws: or lamplighter:"
            )
        elif not key or len(key) > LONGEST_TAG_KEY or not _TAG.fullmatch(key):
            problem = f"is no key AWS takes, write 1 to {LONGEST_TAG_KEY} {TAG_LETTERS}"
            yield Misfit(path, problem)
        elif len(value) > LONGEST_TAG or not _TAG.fullmatch(value):
            problem = f"is {shown(value)}, write at most {LONGEST_TAG} {TAG_LETTERS}"
            yield Misfit(path, problem)


def _tags_of_karpenter(lab: Lab) -> Iterator[Misfit]:
    """A NodeClass of ours carries the lab's tags, and Karpenter writes some tags itself.

    Source: the rules of `spec.tags` in the CRD of Karpenter 1.14.3.
    """
    made = (name for name, pool in lab.pools.items() if pool.has("karpenter") and not pool.existing)
    pool = next(made, None)
    for key in lab.tags if pool is not None else ():
        if key in _TAGS_OF_KARPENTER or key.startswith("kubernetes.io/cluster"):
            text = "is a tag that Karpenter writes itself and refuses in a NodeClass; write another key"
            yield Misfit(("tags", key), text, (("pools", str(pool), "kind"),))


def _last_letters(lab: Lab) -> Iterator[Misfit]:
    """A group's name is a label of its nodes: EKS takes one that ends in - or _, and its nodes never join."""
    if lab.cluster.existing is not None:
        return
    made: list[tuple[Path, str]] = [
        *(
            (("pools", name), lab.nodegroup_name(name))
            for name in lab.pools_with("group")
            if not lab.pools[name].existing
        ),
        *((("cluster", "node_groups", name), lab.always_on_name(name)) for name in lab.cluster.node_groups),
    ]
    for path, group in made:
        if group.endswith(("-", "_")):
            problem = f"makes the node group {group}, and no label of a node may end so; end it with a letter or digit"
            yield Misfit(path, problem)


def _node_groups(lab: Lab) -> Iterator[Misfit]:
    """Two pools with the same node group, or with groups whose names differ only in case, - and _.

    The roles and outputs of our groups have the group's name. For IAM, gpu and GPU are the same name; for
    CloudFormation, g-pu and gpu are.
    """
    ours = lab.cluster.existing is None
    taken = {_alike(f"{lab.name}-ng-1"): "the system nodes"} if ours else {}
    for name in lab.pools_with("group"):
        pool = lab.pools[name]
        group = lab.nodegroup_name(name)
        known = group if pool.existing is not None else _alike(group)
        path: Path = ("pools", name) if pool.existing is None else ("pools", name, "existing")
        if known in taken:
            makes, same, advice = "makes", "but for case, - and _ that of", "give the pool another name"
            if pool.existing is not None:
                makes, same, advice = "names", "like", "name each group once"
            problem = f"{makes} the node group {group}, {same} {taken[known]}; {advice}"
            yield Misfit(path, problem, (("name",), ("pools", name, "existing")))
        else:
            taken[known] = f"pool {name}"
    for name in lab.cluster.node_groups if ours else ():
        group = lab.always_on_name(name)
        known = _alike(group)
        if known in taken:
            problem = f"makes the node group {group}, but for case, - and _ that of {taken[known]}; write another name"
            yield Misfit(("cluster", "node_groups", name), problem, (("name",),))
        else:
            taken[known] = f"cluster.node_groups.{name}"


def _node_pools(lab: Lab) -> Iterator[Misfit]:
    """Names that Kubernetes refuses, and two pools with the same NodePool.

    For CloudFormation, g-pu and gpu are the same name.
    """
    taken: dict[str, str] = {}
    for name in lab.pools_with("node pool"):
        existing = lab.pools[name].existing
        path: Path = ("pools", name) if existing is None else ("pools", name, "existing")
        node_pool = lab.node_pool_name(name)
        known = _alike(node_pool) if existing is None else node_pool
        reads: tuple[Path, ...] = (("name",), ("pools", name, "kind"))
        if not NODE_POOL_NAME.fullmatch(node_pool):
            verb = "makes" if existing is None else "names"
            form = "a to z, 0 to 9, and - and . within"
            problem = f"{verb} the NodePool {node_pool}, but Kubernetes takes {form}; write another name"
            yield Misfit(path, problem, reads)
        elif known in taken:
            same, advice = f"but for - that of pool {taken[known]}", "give the pool another name"
            if existing is not None:
                same, advice = f"like pool {taken[known]}", "name each NodePool once"
            verb = "makes" if existing is None else "names"
            yield Misfit(path, f"{verb} the NodePool {node_pool}, {same}; {advice}", reads)
        else:
            taken[known] = name


def _of_karpenter(lab: Lab) -> Iterator[Misfit]:
    """Labels that Karpenter refuses on a NodePool."""
    for name in lab.pools_with("node pool"):
        for key in lab.pools[name].labels if lab.pools[name].existing is None else ():
            if _OF_KARPENTER.fullmatch(key):
                problem = "is kept for Karpenter, which refuses it on a NodePool; write a prefix of your own"
                yield Misfit(("pools", name, "labels", key), problem, (("pools", name, "kind"),))


def _alike(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _beside_groups(lab: Lab) -> Iterator[Misfit]:
    """A node group and a NodePool of one name: the parameter that claims them for the lab has only the name."""
    groups = {lab.nodegroup_name(name): name for name in lab.pools_with("group")}
    for name in lab.pools_with("node pool"):
        node_pool = lab.node_pool_name(name)
        if node_pool in groups:
            path: Path = ("pools", name, "existing") if lab.pools[name].existing else ("pools", name)
            other = groups[node_pool]
            text = f"is the NodePool {node_pool}, and pool {other} is a node group of that name; leave one of them out"
            yield Misfit(path, text, (("pools", other, "existing"), ("pools", name, "kind")))


def _repeats(lab: Lab) -> Iterator[Misfit]:
    lists: list[tuple[Path, Sequence[str]]] = [
        (("admins",), lab.admins),
        (("cluster", "addons"), lab.cluster.addons),
        (("cluster", "logs"), lab.cluster.logs),
    ]
    for path, words in lists:
        for index, word in enumerate(words):
            if word in words[:index]:
                yield Misfit((*path, index), f"is {shown(word)} for a second time, write each once")


def _label(key: str, value: str, path: Path) -> Iterator[Misfit]:
    form = "letters and digits, and - _ . within"
    if not _LABEL_KEY.fullmatch(key) or len(key) > LONGEST_LABEL:
        problem = f"has the key {shown(key)}, write at most {LONGEST_LABEL} {form}, with a prefix/ or without"
        yield Misfit(path, problem)
    if not _LABEL.fullmatch(value) or len(value) > LONGEST_LABEL:
        yield Misfit(path, f"has the value {shown(value)}, write at most {LONGEST_LABEL} {form}")
