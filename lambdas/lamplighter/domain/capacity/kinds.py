"""Which kind of capacity a pool has, and the pure part of each kind. Nothing else names one.

adapters/capacity/kinds.py chooses the part that calls AWS.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol, assert_never

from lamplighter.domain.capacity.evidence import Part, Seen
from lamplighter.domain.capacity.identity import Identity
from lamplighter.domain.capacity.node_group import off_switch as of_groups
from lamplighter.domain.capacity.node_group.kind import NAME_TAG, NodeGroupKind
from lamplighter.domain.capacity.node_pool import off_switch as of_node_pools
from lamplighter.domain.capacity.node_pool.kind import AUTO_MODE, KARPENTER
from lamplighter.domain.capacity.zero import ZeroProof

if TYPE_CHECKING:
    from lamplighter.lab.kinds import Code
    from lamplighter.lab.model import Lab

NODE_GROUP: Final = "node-group"


class Kind(Protocol):
    """What is pure about a kind of capacity, and needed by those who have no AWS client."""

    @property
    def off_switch_needs(self) -> frozenset[Part]:
        """What `off_switch` has to see of a pool; empty where names are enough."""

    @property
    def remembers(self) -> bool:
        """Whether AWS remembers for as long as a lease may be when its instances ran. EC2 forgets after an hour."""

    @property
    def history_needs(self) -> frozenset[Part]:
        """What HISTORY has to see of a pool first."""

    @property
    def shown_by_ec2(self) -> bool:
        """Whether EC2 tells what runs even where the controller does not answer, and may end it."""

    def identity(self, lab: "Lab", pool: str) -> Identity:
        """What the pool's capacity is called."""

    def zero(
        self, seen: Seen, at: datetime, kubernetes_nodes: tuple[str, ...] | None, justified: int = 0
    ) -> ZeroProof:
        """The port's `zero`."""


KINDS: Mapping[str, Kind] = {kind.code: kind for kind in (NodeGroupKind(NODE_GROUP), KARPENTER, AUTO_MODE)}


def kind_of(lab: "Lab", pool: str) -> "Code":
    """The kind of a pool's capacity."""
    return lab.pools[pool].kind


def needs_karpenter(lab: "Lab") -> bool:
    """Whether Karpenter starts and ends the nodes of a pool. EKS runs the controller of Auto Mode."""
    return bool(lab.pools_with("karpenter"))


def identity(lab: "Lab", pool: str) -> Identity:
    """What the capacity of a pool is called."""
    return KINDS[kind_of(lab, pool)].identity(lab, pool)


def known_tags(lab: "Lab") -> list[Mapping[str, str]]:
    """The EC2 tags of all that the lab has: its pools, its system nodes, and the node groups that are always on."""
    system = [] if lab.cluster.existing else ["ng-1"]
    always_on = [{NAME_TAG: lab.always_on_name(group)} for group in (*system, *lab.cluster.node_groups)]
    return [*(identity(lab, pool).tags for pool in lab.pools), *always_on]


def named_in(tags: Mapping[str, str]) -> str:
    """The capacity that an instance's EC2 tags name, as a lab claims it; "" where they name none."""
    named = (tags.get(key) for key in (KARPENTER.pool_tag, AUTO_MODE.pool_tag, NAME_TAG))
    return next(filter(None, named), "")


def zero(seen: Seen, at: datetime, kubernetes_nodes: tuple[str, ...] | None, justified: int = 0) -> ZeroProof:
    """Law 7: what was seen, with the pool's nodes in Kubernetes, proves about the pool being at zero."""
    return KINDS[seen.kind].zero(seen, at, kubernetes_nodes, justified)


def pools_of(inputs: Iterable[str]) -> list[str]:
    """The pools that these runs of the failsafe's state machine bring to zero."""
    return [pool for each in inputs if (pool := of_node_pools.pool_of(each)) is not None]


def curfew_rails(kind: "Code") -> tuple[str, str]:
    """The two ways by which the curfew brings a pool to zero, by their names in the names of its schedules."""
    match kind:
        case "node-group":
            return of_groups.CURFEW
        case "karpenter" | "auto-mode":
            return of_node_pools.curfew(kind)
        case _:
            assert_never(kind)
