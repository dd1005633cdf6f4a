"""What `check` says of pools that are NodePools: of Karpenter, or of EKS Auto Mode."""

from collections.abc import Iterator

from lamplighter.data import instance_types
from lamplighter.lab.model import Lab
from lamplighter.lab.pools import Pool


def installed(lab: Lab) -> Iterator[str]:
    """What the cluster has for such pools."""
    karpenter = lab.cluster.karpenter
    if karpenter is not None:
        yield f"  Karpenter: {'one that runs already' if karpenter.existing else karpenter.version}"
    if lab.cluster.has_auto_mode:
        may = (
            ", which the failsafe may switch off"
            if lab.cluster.auto_mode and lab.cluster.auto_mode.switch_off
            else ""
        )
        built_in = "" if lab.cluster.existing else ", without its built-in node pools"
        yield f"  EKS Auto Mode: on{built_in}{may}"


def named(lab: Lab, pool: str) -> str:
    """A NodePool by its name and kind."""
    return f"NodePool {lab.node_pool_name(pool)} ({lab.pools[pool].kind})"


def told(pool: Pool) -> str:
    """The kind of a NodePool and its image; empty for a pool of another kind."""
    if not pool.is_node_pool:
        return ""
    arm = ", arm64" if instance_types.architecture(pool.instance_type) == "arm64" else ""
    image = f" with {pool.image}" if pool.image else ""
    efa = ", EFA" if pool.efa else ""
    return f" by {'Karpenter' if pool.kind == 'karpenter' else 'EKS Auto Mode'}{image}{arm}{efa}"


def fee(pool: Pool) -> str:
    """What a price has beside that of the instance."""
    return " with Auto Mode's fee" if pool.kind == "auto-mode" and pool.price_per_hour is None else ""


def notes(lab: Lab) -> Iterator[str]:
    """What a kind cannot do, or was not seen to do yet."""
    pools = [name for name, pool in lab.pools.items() if pool.kind == "auto-mode"]
    if pools:
        yield (
            f"pool {', '.join(pools)}: kind auto-mode is experimental until its launch bar and its lock were seen on a"
            " real account; AWS lets nobody terminate such an instance, so the failsafe has no EC2 rail there"
        )
    karpenter, of_karpenter = (
        lab.cluster.karpenter,
        any(pool.kind == "karpenter" for pool in lab.pools.values()),
    )
    if karpenter is not None and not of_karpenter:
        yield "cluster.karpenter is given, but no pool is of kind karpenter: nothing of the lab uses it"
    elif karpenter is not None and karpenter.existing and karpenter.role is None:
        yield (
            "cluster.karpenter.role is left out, so the failsafe cannot lock launches before it ends instances: a"
            " Karpenter that still runs may start others until its NodePool is at zero"
        )
