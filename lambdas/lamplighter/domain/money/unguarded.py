"""What a lab costs beside its GPU nodes: named with its price, because the guard neither counts nor closes it."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from lamplighter.data import prices, standing

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

CURRENCY = "USD"


@dataclass(frozen=True, slots=True)
class UnguardedCost:
    """One thing that costs money whatever the pools do."""

    what: str
    counted: str
    price: Decimal | None
    """For one of it; None where it is not known here."""
    per: str
    """hour, or GiB and month."""

    def to_json(self) -> dict[str, object]:
        return {
            "what": self.what,
            "counted": self.counted,
            "price": None if self.price is None else format(self.price, "f"),
            "per": self.per,
            "currency": CURRENCY,
        }


def unguarded(lab: "Lab") -> Iterator[UnguardedCost]:
    """What stands beside the pools, as far as the lab tells; of an existing cluster its owner knows the rest."""

    def hourly(what: str, counted: str, name: str) -> UnguardedCost:
        return UnguardedCost(what, counted, standing.price(lab.region, name), "hour")

    gib = standing.price(lab.region, "gp3_gib_month")
    if lab.cluster.existing is None:
        nodes = lab.cluster.system_nodes
        yield hourly("EKS control plane", "1", "eks_cluster_hour")
        yield hourly("NAT gateway", "1, traffic apart", "nat_gateway_hour")
        yield hourly("public address", "1, the NAT gateway's", "public_ipv4_hour")
        node = prices.on_demand(lab.region, nodes.instance_type)
        yield UnguardedCost("system nodes", f"{nodes.nodes} x {nodes.instance_type}", node, "hour")
        yield UnguardedCost(
            "volumes of system nodes", f"{nodes.nodes} x {nodes.disk_gib} GiB", gib, "GiB and month"
        )
    else:
        yield hourly("EKS control plane", f"1, of {lab.cluster.existing}", "eks_cluster_hour")
    for name, pool in lab.pools.items():
        if pool.disk_gib:
            counted = f"{pool.disk_gib} GiB a node, while it runs"
            yield UnguardedCost(f"volumes of pool {name}", counted, gib, "GiB and month")
    yield hourly("load balancers", "each that your services make", "load_balancer_hour")
