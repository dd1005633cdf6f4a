"""The costs of a lab beside its GPU nodes, with their prices: the guard neither counts nor closes these."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from lamplighter.data import prices, standing
from lamplighter.reasons.fields import SHOWN, to_document
from lamplighter.reasons.reason import Reason, reason

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

CURRENCY = "USD"


_HOUR, _GIB_MONTH = reason("money.unit.hour"), reason("money.unit.gib-month")


@dataclass(frozen=True, slots=True)
class UnguardedCost:
    """One resource that costs money whether pools are open or not."""

    what: Reason
    counted: Reason
    price: Decimal | None
    """The price of one unit; None where it is not known here."""
    per: Reason
    """An hour, or a GiB and month."""

    @property
    def cost(self) -> Reason:
        """The price and its unit."""
        if self.price is None:
            return reason("money.not-priced")
        return reason("money.priced", price=f"{self.price:f} {CURRENCY}", unit=self.per)

    def to_json(self) -> dict[str, object]:
        """As `cost --json` has it, in English."""
        return to_document(self, SHOWN) | {"currency": CURRENCY}


def unguarded(lab: "Lab") -> Iterator[UnguardedCost]:
    """The resources beside the pools that the lab file shows; an existing cluster may have more."""

    def hourly(what: Reason, counted: Reason, name: str) -> UnguardedCost:
        return UnguardedCost(what, counted, standing.price(lab.region, name), _HOUR)

    control_plane = reason("money.standing.control-plane")
    gib = standing.price(lab.region, "gp3_gib_month")
    if lab.cluster.existing is None:
        nodes = lab.cluster.system_nodes
        yield hourly(control_plane, reason("money.counted", number=1), "eks_cluster_hour")
        yield hourly(
            reason("money.standing.nat"),
            reason("money.counted.without-traffic", number=1),
            "nat_gateway_hour",
        )
        yield hourly(
            reason("money.standing.address"), reason("money.counted.of-nat", number=1), "public_ipv4_hour"
        )
        yield UnguardedCost(
            reason("money.standing.system-nodes"),
            reason("money.counted.nodes", nodes=nodes.nodes, type=nodes.instance_type),
            prices.on_demand(lab.region, nodes.instance_type),
            _HOUR,
        )
        yield UnguardedCost(
            reason("money.standing.system-volumes"),
            reason("money.counted.volumes", nodes=nodes.nodes, gib=nodes.disk_gib),
            gib,
            _GIB_MONTH,
        )
        yield from _node_groups(lab, gib)
    else:
        of_cluster = reason("money.counted.of-cluster", number=1, cluster=lab.cluster.existing)
        yield hourly(control_plane, of_cluster, "eks_cluster_hour")
    for name, pool in lab.pools.items():
        if pool.disk_gib:
            yield UnguardedCost(
                reason("money.standing.pool-volumes", pool=name),
                reason("money.counted.while-running", gib=pool.disk_gib),
                gib,
                _GIB_MONTH,
            )
    yield hourly(
        reason("money.standing.load-balancers"), reason("money.counted.your-services"), "load_balancer_hour"
    )


def _node_groups(lab: "Lab", gib: Decimal | None) -> Iterator[UnguardedCost]:
    """The groups that are always on. Windows nodes also pay for its licence, which the table of prices leaves out."""
    for name, group in lab.cluster.node_groups.items():
        windows = group.family == "windows"
        yield UnguardedCost(
            reason("money.standing.node-group", group=name),
            reason("money.counted.nodes", nodes=group.nodes, type=group.instance_type),
            None if windows else prices.on_demand(lab.region, group.instance_type),
            _HOUR,
        )
        yield UnguardedCost(
            reason("money.standing.node-group-volumes", group=name),
            reason("money.counted.volumes", nodes=group.nodes, gib=group.disk_gib),
            gib,
            _GIB_MONTH,
        )
