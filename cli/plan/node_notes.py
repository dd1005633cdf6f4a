"""Notes of `check` on images, types and zones: what a lab may have, but what ends, surprises or is not known."""

from collections.abc import Iterator

from cli.nearest import nearest
from lamplighter.data import instance_types, versions
from lamplighter.domain.checks.ladder import compared_between_nodes
from lamplighter.lab.kinds import KINDS
from lamplighter.lab.model import Lab
from lamplighter.lab.nodes.images import ImageFamily
from lamplighter.lab.pools import Pool
from lamplighter.lab.types import write_amount

DEFAULT: str = Pool.model_fields["ami_type"].default


def told(pool: Pool) -> str:
    """The image of a pool and what differs by it; empty for the default image."""
    if pool.ami_type == DEFAULT or not pool.has("image type"):
        return ""
    plugin = ", its own plugin announces the GPUs" if pool.brings_plugin else ""
    arm = ", arm64" if instance_types.architecture(pool.instance_type) == "arm64" else ""
    return f" with {pool.image or pool.ami_type} ({pool.family}{arm}{plugin})"


def bought(lab: Lab, name: str) -> str:
    """The price of a node, and the reservation that nodes come from, if there is one."""
    pool = lab.pools[name]
    price = f"{write_amount(lab.price(name))} {lab.guard.budget.currency} for a node and hour"
    if pool.of_block:
        return f"prepaid, from Capacity Block {pool.reservation} alone"
    return price + (f", from reservation {pool.reservation} alone" if pool.reservation else "")


def reservation_notes(lab: Lab) -> Iterator[str]:
    """What a node group cannot be told, and what a reservation costs without a lease."""
    for name, pool in lab.pools.items():
        if pool.reservation is None:
            continue
        yield (
            f"pool {name} starts nodes only from {pool.reservation}: a node group cannot go on with on-demand nodes"
            " when its reservation has none left. For that, name another pool as its fallback"
        )
        spent = (
            "its block is paid whole, whether leases use it or not, and is in no budget of the lab"
            if pool.of_block
            else "AWS bills its reservation without leases too, and no budget of the lab has those hours"
        )
        yield f"pool {name}: {spent}"


def notes(lab: Lab) -> Iterator[str]:
    """The end of Amazon Linux 2, drivers without a GPU, and Linux pods on Windows nodes."""
    if lab.cluster.existing is not None:
        return
    old = [key for key, family in _families(lab) if family == "al2"]
    if old:
        yield (
            f"AWS ended Amazon Linux 2 for EKS on 2025-11-26: {' and '.join(old)} get no new images, and Kubernetes"
            " 1.33 has none; move to an AL2023 type before you upgrade"
        )
    for name, group in lab.cluster.node_groups.items():
        known = versions.ami_types().get(group.ami_type)
        if known is not None and known.nvidia:
            yield f"node group {name} has an image with the NVIDIA driver, but {group.instance_type} has no GPU"
        if group.family == "windows" and not any(
            taint.effect != "PreferNoSchedule" for taint in group.taints
        ):
            yield (
                f"node group {name} runs Windows without a taint: a pod that does not select kubernetes.io/os may land"
                " there and never start; add a taint such as {key: os, value: windows}"
            )


def _families(lab: Lab) -> Iterator[tuple[str, ImageFamily]]:
    """The family of each group that the lab creates, by its key."""
    yield "cluster.system_nodes", lab.cluster.system_nodes.family
    yield from ((f"pools.{name}", pool.family) for name, pool in lab.pools.items())
    yield from ((f"cluster.node_groups.{name}", one.family) for name, one in lab.cluster.node_groups.items())


def type_notes(lab: Lab) -> Iterator[str]:
    """A note for each pool whose type is unknown or needs a driver that not every image has."""
    for name, pool in lab.pools.items():
        for kind in pool.types:
            if instance_types.gpu_type(kind) is None and not instance_types.has_no_gpu(kind):
                yield _unknown(name, kind)
            elif driver := instance_types.driver(kind, _image(pool)):
                yield f"pool {name}: {kind} needs {driver}"


def _unknown(pool: str, kind: str) -> str:
    similar = nearest(kind, instance_types.gpu_type_names())
    meant = f"; the nearest name is {similar}" if similar else ""
    return (
        f"pool {pool}: no instance type {kind} with NVIDIA GPUs is known{meant}. A newer type works, but its GPUs are"
        " not proven"
    )


def _image(pool: Pool) -> str:
    """Which images of EKS the pool takes: `al2023`, `bottlerocket`, or "" for one of its own."""
    return pool.family if pool.family in {"al2023", "bottlerocket"} and not pool.image else ""


def types(pool: Pool) -> str:
    """The types of a pool in a summary."""
    return " or ".join(pool.types)


def held(pool: Pool) -> str:
    """Which of several prices a lease holds."""
    return ", the dearest" if pool.is_mixed and pool.price_per_hour is None else ""


def choice_notes(lab: Lab) -> Iterator[str]:
    """The order of types, the choice of zones, and the price and speed of NCCL across them."""
    for name, pool in lab.pools.items():
        if pool.existing is not None:
            continue
        if pool.is_mixed:
            yield f"pool {name}: {_order(pool)}; each node is paid at the price of its own type"
        if len(pool.zone_indexes) > 1:
            zones = " and ".join(lab.cluster.zones[index] for index in pool.zone_indexes)
            yield f"pool {name}: a node starts in any of {zones} that has capacity; {_spread(pool)}"
            yield from _across(lab, name)


def _order(pool: Pool) -> str:
    """EKS's On-Demand allocation is `prioritized`, its Spot allocation `price-capacity-optimized` (EKS user guide,
    managed-node-groups).

    Karpenter, of which Auto Mode is made, launches On-Demand nodes by `lowest-price` (https://karpenter.sh/v1.14/faq/).
    """
    if pool.spot:
        return f"EC2 chooses among {', '.join(pool.types)} by free capacity and price, whatever their order"
    if pool.has("group"):
        return f"EKS tries {', then '.join(pool.types)} for each node"
    return (
        f"{KINDS[pool.kind].controller} starts the cheapest of {', '.join(pool.types)} that EC2 has, whatever their"
        " order"
    )


def _spread(pool: Pool) -> str:
    if pool.has("group"):
        return "Auto Scaling spreads nodes evenly where it can, and zones have no order"
    return f"{KINDS[pool.kind].controller} chooses the zone, and zones have no order"


def _across(lab: Lab, pool: str) -> Iterator[str]:
    """A note where a ladder of the lab, or of a window of the pool, compares nodes."""
    windows = [window.name for window in lab.windows if lab.pool_of(window) == pool]
    ladders = {
        checks.ladder: between[0]
        for checks in map(lab.checks_for, (None, *windows))
        if (between := compared_between_nodes(checks))
    }
    for ladder, check in ladders.items() if lab.pools[pool].max_nodes > 1 else ():
        yield (
            f"pool {pool}: {check} of ladder {ladder} may run between nodes in two zones: NCCL is slower there and may"
            " miss its floor, and AWS bills that traffic in each direction"
        )
