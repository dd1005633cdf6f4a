"""Whether the node groups that are always on fit the lab: names, sizes, no GPUs, and what Windows needs beside it.

images.py checks their images, names.py the names of their labels and taints.
"""

from collections.abc import Iterator

from lamplighter.data import instance_types
from lamplighter.lab.cluster import SystemNodes
from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.lab.nodes.node_groups import NodeGroup
from lamplighter.lab.pools import Pool
from lamplighter.labfile.rules.parts import LONGEST_NODEGROUP_NAME, Misfit

GROUPS: Path = ("cluster", "node_groups")
SYSTEM: Path = ("cluster", "system_nodes")


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The mistakes in the groups beside the pools, and Windows where only Linux works."""
    for name, pool in lab.pools.items():
        if pool.family == "windows":
            text = "is for Windows, which has no image with the NVIDIA driver, so a pool of it would offer no GPU"
            yield _linux(("pools", name), pool, f"{text}; write a type such as AL2023_x86_64_NVIDIA")
    if lab.cluster.existing is not None:
        if lab.cluster.node_groups:
            text = "are to be created, but nothing is created in an existing cluster; leave them out"
            yield Misfit(GROUPS, text, (("cluster", "existing"),))
        return
    yield from sizes(SYSTEM, lab.cluster.system_nodes)
    yield from _no_gpu(SYSTEM, lab.cluster.system_nodes)
    if lab.cluster.system_nodes.family == "windows":
        text = "is for Windows, but the system nodes run CoreDNS and other add-ons, which need Linux"
        yield _linux(SYSTEM, lab.cluster.system_nodes, f"{text}; write a type such as AL2023_x86_64_STANDARD")
    for name, group in lab.cluster.node_groups.items():
        yield from _group(lab, name, group)


def sizes(path: Path, nodes: SystemNodes | NodeGroup) -> Iterator[Misfit]:
    """The number of nodes lies between the bounds."""
    if not nodes.min_nodes <= nodes.nodes <= nodes.max_nodes:
        yield Misfit(
            (*path, "nodes"),
            f"is {nodes.nodes}, write a number from min_nodes {nodes.min_nodes} to max_nodes {nodes.max_nodes}",
            ((*path, "min_nodes"), (*path, "max_nodes")),
        )


def _no_gpu(path: Path, nodes: SystemNodes | NodeGroup) -> Iterator[Misfit]:
    """No GPU outside a pool: it would run without a lease. Of a type that we do not know, its name tells."""
    kind = nodes.instance_type
    if instance_types.may_have_gpu(kind):
        has = "which has an NVIDIA GPU" if instance_types.gpu_type(kind) else "of a family with GPUs"
        text = f"is {kind}, {has}, and nothing would close this group; make it a pool, or write a type such as m5.large"
        yield Misfit((*path, "instance_type"), text)


def _linux(path: Path, nodes: SystemNodes | Pool, text: str) -> Misfit:
    key = "ami_type" if nodes.image_family is None else "image_family"
    other = "image_family" if nodes.image_family is None else "ami_type"
    return Misfit((*path, key), text, ((*path, other),))


def _group(lab: Lab, name: str, group: NodeGroup) -> Iterator[Misfit]:
    path: Path = (*GROUPS, name)
    full = lab.always_on_name(name)
    if len(full) > LONGEST_NODEGROUP_NAME:
        text = (
            f"makes the node group {full}, which is longer than {LONGEST_NODEGROUP_NAME} characters;"
            " shorten its name or the lab's"
        )
        yield Misfit(path, text, (("name",),))
    yield from sizes(path, group)
    yield from _no_gpu(path, group)
    if group.family == "windows" and group.max_pods is not None:
        text = (
            f"is {group.max_pods}, but a Windows node has as many pods as its network interface has addresses;"
            " leave it out"
        )
        yield Misfit((*path, "max_pods"), text, ((*path, "ami_type"), (*path, "image_family")))
