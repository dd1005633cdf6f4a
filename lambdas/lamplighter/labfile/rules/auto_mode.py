"""Whether pools of EKS Auto Mode fit what AWS does with such nodes: types, GPU software, life, and the switch-off.

node_pools.py checks the keys of such pools, gpu.py how their GPUs are shared.
"""

from collections.abc import Iterator
from datetime import timedelta

from lamplighter.data import instance_types
from lamplighter.lab.keys import Path
from lamplighter.lab.model import Lab
from lamplighter.lab.pools import Pool
from lamplighter.labfile.rules.parts import Misfit
from lamplighter.values.counted import write_duration

HERE: Path = ("cluster", "auto_mode")
EXISTING: Path = ("cluster", "existing")
# EKS user guide, create-node-pool: a node of Auto Mode lives 21 days at most.
LONGEST_LIFE = timedelta(hours=504)
# EKS user guide, set-builtin-compute: their types are of the families C, M and R.
BUILT_IN = frozenset({"general-purpose", "system"})


def misfits(lab: Lab) -> Iterator[Misfit]:
    """The mistakes in cluster.auto_mode and in pools of that kind."""
    pools = {name: pool for name, pool in lab.pools.items() if pool.kind == "auto-mode"}
    for name, pool in pools.items():
        if not lab.cluster.has_auto_mode:
            text = "is auto-mode, but EKS Auto Mode is not on; write cluster: {auto_mode: {enabled: true}}"
            yield Misfit(("pools", name, "kind"), text, (HERE,))
        yield from _type(("pools", name), pool)
        if pool.existing in BUILT_IN:
            text = f"is {pool.existing}, a built-in node pool of EKS Auto Mode, which starts no GPUs; name another"
            yield Misfit(("pools", name, "existing"), text, (("pools", name, "kind"),))
    if pools:
        yield from _life(lab, max(pools, key=lab.node_life))
    yield from _operator(lab, pools)
    if lab.cluster.auto_mode is not None and lab.cluster.auto_mode.switch_off:
        yield from _switch_off(lab)


def _type(path: Path, pool: Pool) -> Iterator[Misfit]:
    kind: Path = (*path, "kind")
    refused = next(filter(instance_types.not_in_auto_mode, pool.types), None)
    if refused:
        verb = "names" if pool.instance_types else "is"
        text = f"{verb} {refused}, which EKS Auto Mode does not start; write a type such as g6.xlarge"
        yield Misfit((*path, pool.types_key), text, (kind,))


def _life(lab: Lab, pool: str) -> Iterator[Misfit]:
    """A node must outlive the longest lease, else its replacement would begin within a lease."""
    beside = lab.node_life(pool) - lab.guard.longest_lease
    if lab.node_life(pool) > LONGEST_LIFE:
        text = (
            f"is {write_duration(lab.guard.longest_lease)}, but EKS Auto Mode ends every node after"
            f" {write_duration(LONGEST_LIFE)}, its start and its last grace included; write at most"
            f" {write_duration(LONGEST_LIFE - beside)}"
        )
        yield Misfit(("guard", "longest_lease"), text, (("pools", pool, "kind"), ("pools", pool, "drain")))


def _operator(lab: Lab, pools: dict[str, Pool]) -> Iterator[Misfit]:
    """Auto Mode's nodes bring driver and plugin; a second plugin would fight with theirs."""
    if lab.cluster.existing is None and lab.gpu_operator.enabled and len(pools) == len(lab.pools):
        text = (
            "is true, but every pool is of kind auto-mode, whose nodes bring driver and device plugin;"
            " write gpu_operator: {enabled: false}"
        )
        yield Misfit(("gpu_operator", "enabled"), text, (("pools",),))


def _switch_off(lab: Lab) -> Iterator[Misfit]:
    """It ends every node and load balancer of Auto Mode, so nothing but the lab may depend on the cluster."""
    where: Path = (*HERE, "switch_off")
    others = [name for name, pool in lab.pools.items() if pool.kind != "auto-mode"]
    if not lab.cluster.has_auto_mode:
        text = "is true, but EKS Auto Mode is not on; write enabled: true, or leave it out"
        yield Misfit(where, text, ((*HERE, "enabled"),))
    elif lab.cluster.existing is not None:
        text = "is true, but it would end every node of Auto Mode in a cluster that is not the lab's own; leave it out"
        yield Misfit(where, text, (EXISTING,))
    elif others:
        text = f"is true, but pool {others[0]} is of kind {lab.pools[others[0]].kind}: the cluster must be nothing but"
        yield Misfit(where, f"{text} pools of kind auto-mode; leave it out", (("pools",),))
    elif len(lab.pools) > 1:
        text = f"is true, but it would end the leased nodes of every pool, and the lab has {len(lab.pools)}; leave it"
        yield Misfit(where, f"{text} out, or write one pool", (("pools",),))
    elif lab.cluster.node_groups:
        text = (
            "is true, but cluster.node_groups are for other work, whose load balancers Auto Mode makes; leave one of"
            " the two out"
        )
        yield Misfit(where, text, (("cluster", "node_groups"),))
