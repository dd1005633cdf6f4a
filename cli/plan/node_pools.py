"""What `check` says of pools that are NodePools: of Karpenter, or of EKS Auto Mode."""

from collections.abc import Iterator

from lamplighter.data import instance_types
from lamplighter.lab.kinds import KINDS
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


def kind(pool: Pool) -> str:
    """The kind, where NodePools of several are one thing by name."""
    return f" ({pool.kind})" if pool.has("node pool") else ""


def told(pool: Pool) -> str:
    """The kind of a NodePool and its image; empty for a pool of another kind."""
    if not pool.has("node pool"):
        return ""
    arm = ", arm64" if instance_types.architecture(pool.instance_type) == "arm64" else ""
    image = f" with {pool.image}" if pool.image else ""
    efa = ", EFA" if pool.efa else ""
    return f" by {KINDS[pool.kind].controller}{image}{arm}{efa}"


def fee(pool: Pool) -> str:
    """What a price has beside that of the instance."""
    return " with Auto Mode's fee" if pool.has("fee") and pool.price_per_hour is None else ""


def notes(lab: Lab) -> Iterator[str]:
    """What a kind cannot do, or was not seen to do yet."""
    pools = lab.pools_with("experimental")
    if pools:
        yield (
            f"pool {', '.join(pools)}: kind auto-mode is experimental until its launch bar and its lock were seen on a"
            " real account; AWS lets nobody terminate such an instance, so the failsafe has no EC2 rail there"
        )
    karpenter, of_karpenter = (
        lab.cluster.karpenter,
        lab.pools_with("karpenter"),
    )
    if karpenter is not None and not of_karpenter:
        yield "cluster.karpenter is given, but no pool is of kind karpenter: nothing of the lab uses it"
    elif karpenter is not None and karpenter.existing and karpenter.role is None:
        yield (
            "cluster.karpenter.role is left out, so the failsafe cannot lock launches before it ends instances: a"
            " Karpenter that still runs may start others until its NodePool is at zero"
        )
