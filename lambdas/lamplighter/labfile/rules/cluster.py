"""Mistakes that would fail a deploy only after a quarter of an hour: network, zones, drivers, versions, taints, quotas.

Only for resources that we create: AWS knows an adopted cluster and its node groups better.
"""

from collections.abc import Generator, Iterator
from ipaddress import IPv4Network, ip_network
from string import ascii_lowercase

from lamplighter.data import instance_types, versions
from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.lab.operator import tolerated
from lamplighter.lab.pools import Pool
from lamplighter.lab.types import shown
from lamplighter.labfile.rules.parts import Misfit

WIDEST_NETWORK, NARROWEST_NETWORK = 16, 28
FEWEST_ZONES = 2
# Nothing else installs them: our clusters have no add-ons at first.
NEEDED_BY_NODES = ("vpc-cni", "kube-proxy")
IDENTITY_AGENT = "eks-pod-identity-agent"
# Local zones and wavelength zones have longer names; a control plane cannot be in them.
LETTERS = tuple(ascii_lowercase)

VERSION: Path = ("cluster", "kubernetes_version")
ZONES: Path = ("cluster", "zones")
OPERATOR: Path = ("gpu_operator", "version")


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The mistakes in the cluster."""
    for name, pool in lab.pools.items():
        yield from _pool(lab, ("pools", name), pool)
    if lab.cluster.existing is not None:
        return
    yield from _zones(lab)
    yield from _network(lab)
    yield from _endpoint(lab)
    for add_on in NEEDED_BY_NODES:
        if add_on not in lab.cluster.addons:
            said = f"are without {add_on}, which every node needs to become ready; add it"
            yield Misfit(("cluster", "addons"), said)
    if lab.cluster.workload_identity == "pod" and IDENTITY_AGENT not in lab.cluster.addons:
        said = (
            f"are without {IDENTITY_AGENT}, which gives pods their AWS permissions; add it,"
            " or write workload_identity: node"
        )
        yield Misfit(("cluster", "addons"), said, (("cluster", "workload_identity"),))
    if lab.gpu_operator.enabled:
        yield from _operator(lab)


def _zones(lab: Lab) -> Iterator[Misfit]:
    zones = lab.cluster.zones
    for index, zone in enumerate(zones):
        if zone.removeprefix(lab.region) not in LETTERS:
            text = f"is {shown(zone)}, no zone of {lab.region}; write a zone such as {lab.region}a"
            yield Misfit((*ZONES, index), text, (("region",),))
        elif zone in zones[:index]:
            yield Misfit((*ZONES, index), f"is {shown(zone)} for a second time, write each zone once")
    if len(zones) < FEWEST_ZONES:
        yield Misfit(ZONES, f"names {len(zones)} zone, EKS needs at least {FEWEST_ZONES}")


def _network(lab: Lab) -> Iterator[Misfit]:
    vpc, here = lab.cluster.vpc, ("cluster", "vpc")
    whole = yield from _block(vpc.cidr, (*here, "cidr"))
    blocks: list[tuple[Path, IPv4Network]] = []
    for kind, subnets in (("public_subnets", vpc.public_subnets), ("private_subnets", vpc.private_subnets)):
        path: Path = (*here, kind)
        if len(subnets) != len(lab.cluster.zones):
            yield Misfit(
                path,
                f"names {len(subnets)} subnets for {len(lab.cluster.zones)} zones, write one for each zone",
                (ZONES,),
            )
        for index, text in enumerate(subnets):
            block = yield from _block(text, (*path, index))
            if block is None:
                continue
            if whole is not None and not block.subnet_of(whole):
                said = f"is {text}, outside the VPC's {vpc.cidr}; write a block inside it"
                yield Misfit((*path, index), said, ((*here, "cidr"),))
            blocks.append(((*path, index), block))
    yield from _overlaps(blocks)


def _overlaps(blocks: list[tuple[Path, IPv4Network]]) -> Iterator[Misfit]:
    """Blocks are nested or apart: in the order of their addresses, a block can overlap only the widest before it."""
    widest: tuple[Path, IPv4Network] | None = None
    for path, block in sorted(blocks, key=lambda one: (one[1].network_address, one[1].prefixlen)):
        if widest is not None and block.overlaps(widest[1]):
            where = ".".join(str(step) for step in widest[0])
            text = f"is {block}, which overlaps {widest[1]} of {where}; write a block of its own"
            yield Misfit(path, text, (widest[0],))
        else:
            widest = path, block


def _block(text: str, path: Path) -> Generator[Misfit, None, IPv4Network | None]:
    try:
        block = ip_network(text)
    except ValueError:
        yield Misfit(path, f"is {shown(text)}, write an IPv4 block such as 192.168.0.0/16")
        return None
    if not isinstance(block, IPv4Network) or not WIDEST_NETWORK <= block.prefixlen <= NARROWEST_NETWORK:
        said = f"is {shown(text)}, AWS takes IPv4 blocks from /{WIDEST_NETWORK} to /{NARROWEST_NETWORK}"
        yield Misfit(path, said)
        return None
    return block


def _endpoint(lab: Lab) -> Iterator[Misfit]:
    if not lab.cluster.endpoint.public:
        said = "is false, but the functions run outside the VPC and need it to reach the cluster; write true"
        yield Misfit(("cluster", "endpoint", "public"), said)


def _pool(lab: Lab, path: Path, pool: Pool) -> Iterator[Misfit]:
    without = next(filter(instance_types.has_no_gpu, pool.types), None)
    if without:
        verb = "names" if pool.instance_types else "is"
        said = f"{verb} {without}, which has no NVIDIA GPU; write a type such as g5.xlarge"
        yield Misfit((*path, pool.types_key), said)
    yield from _quota(lab, path, pool)
    if pool.existing is not None or lab.cluster.existing is not None:
        return
    if (last := max(pool.zone_indexes)) >= len(lab.cluster.zones):
        said = f"is {last}, but cluster.zones counts from 0 to {len(lab.cluster.zones) - 1}"
        at: Path = (*path, "zones", pool.zones.index(last)) if pool.zones else (*path, "zone_index")
        yield Misfit(at, said, (ZONES,))
    image = versions.ami_types().get(pool.ami_type)
    if image is not None and not image.nvidia and not _driver_comes_otherwise(lab, pool):
        said = f"is {pool.ami_type}, which has no NVIDIA driver; write one with NVIDIA, such as AL2023_x86_64_NVIDIA"
        yield Misfit((*path, "ami_type"), said)
    for index, taint in enumerate(pool.taints):
        of_the_operator = lab.gpu_operator.enabled and not pool.has("built-in GPUs")
        if of_the_operator and not tolerated(taint, lab.gpu_operator.values):
            yield Misfit(
                (*path, "taints", index),
                f"is {shown(str(taint))[1:-1]}, which the operator's pods do not tolerate;"
                " write nvidia.com/gpu with NoSchedule, or add it to daemonsets.tolerations and"
                " node-feature-discovery.worker.tolerations of gpu_operator.values",
                (
                    ("gpu_operator", "values"),
                    *((*path, "taints", index, part) for part in ("key", "value", "effect")),
                ),
            )


def _driver_comes_otherwise(lab: Lab, pool: Pool) -> bool:
    """The operator brings it; a Windows pool is refused for another reason (node_groups.py)."""
    if pool.family == "windows":
        return True
    driver = lab.gpu_operator.values.get("driver")
    return lab.gpu_operator.enabled and isinstance(driver, dict) and driver.get("enabled") is True


def _quota(lab: Lab, path: Path, pool: Pool) -> Iterator[Misfit]:
    """All nodes may be of the type with the most vCPUs, in each quota that the pool's types count against."""
    known = sorted(filter(None, map(instance_types.gpu_type, pool.types)), key=lambda one: one.vcpus)
    for key, largest in {instance_types.quota(one.name, spot=pool.spot): one for one in known}.items():
        most = getattr(lab.quotas, key) if key else None
        if most is not None and pool.max_nodes * largest.vcpus > most:
            fit = most // largest.vcpus
            advice = (
                f"write at most {fit}" if fit else "no node fits, write a smaller type or raise the quota"
            )
            yield Misfit(
                (*path, "max_nodes"),
                f"is {pool.max_nodes}, which needs {pool.max_nodes * largest.vcpus} vCPUs of {largest.name},"
                f" but quotas.{key} is {most}; {advice}",
                (("quotas", str(key)), (*path, pool.types_key), (*path, "buy")),
            )


def _operator(lab: Lab) -> Iterator[Misfit]:
    fit = versions.operator_fit(lab.gpu_operator.version)
    version = lab.cluster.kubernetes_version
    if fit is not None and not fit.holds(version):
        other = versions.operator_for(version)
        advice = f"write {other}.x" if other else "write a Kubernetes version it supports"
        said = f"is {lab.gpu_operator.version}, which supports Kubernetes {fit}, not {version}; {advice}"
        yield Misfit(OPERATOR, said, (VERSION,))
