"""What the failsafe's machine knows about each pool: a row of the table in its definition."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from lamplighter.domain.capacity.node_pool import lock
from lamplighter.domain.capacity.node_pool.kind import AUTO_MODE, CLUSTER_TAG, KARPENTER, LABEL
from lamplighter.domain.capacity.node_pool.off_switch import may_switch_off
from lamplighter.domain.capacity.node_pool.roles import launching_boundary, launching_role_path
from lamplighter.lab.model import Lab

LEFT = ("pending", "running", "shutting-down", "stopping", "stopped")
"""The states of an instance that has not ended: zero is proven when none is in one of them."""
FILTERS = 3
"""How many filters find a pool's instances: its two tags, and their state."""


@dataclass(frozen=True)
class EndedPool:
    """A pool of kind karpenter or auto-mode."""

    name: str
    node_pool: str
    kind: str
    cluster: str
    locked: str | None
    """The name of the role that launches its instances; None where the lab does not know it: then there is no lock."""
    may_switch_off: bool = False
    boundary: str | None = None
    """The purpose of that role's permissions boundary; None where the role is not the lab's."""

    @property
    def pool_tag(self) -> str:
        """The tag with the NodePool's name. Every launch asks for it, and every instance of the pool has it."""
        return (KARPENTER if self.ends_in_ec2 else AUTO_MODE).pool_tag

    @property
    def ends_in_ec2(self) -> bool:
        """Whether EC2 ends its instances for us. AWS lets nobody end those of Auto Mode."""
        return self.kind == KARPENTER.code

    @property
    def tags(self) -> Mapping[str, str]:
        """The tags by which instances are the pool's."""
        return {self.pool_tag: self.node_pool, CLUSTER_TAG: self.cluster}

    def row(self) -> dict[str, object]:
        """What the states read at `$.of`."""
        filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in self.tags.items()]
        row: dict[str, object] = {
            "nodePool": self.node_pool,
            "poolTag": self.pool_tag,
            "kind": self.kind,
            "scale": f"/apis/karpenter.sh/v1/nodepools/{self.node_pool}/scale",
            "claims": [f"{LABEL}={self.node_pool}"],
            "filters": [*filters, {"Name": "instance-state-name", "Values": list(LEFT)}],
            "mayLock": self.locked is not None,
            "maySwitchOff": self.may_switch_off,
        }
        if self.locked is not None:
            document = json.dumps(lock.document(self.tags), separators=(",", ":"))
            row["lock"] = {
                "role": self.locked.rpartition("/")[2],
                "name": lock.policy_name(self.node_pool),
                "document": document,
            }
        return row


def ended_pools(lab: Lab) -> list[EndedPool]:
    """The pools of a lab whose failsafe is the machine."""
    return [
        EndedPool(
            name=pool,
            node_pool=lab.node_pool_name(pool),
            kind=lab.pools[pool].kind,
            cluster=lab.cluster_name,
            locked=launching_role_path(lab, pool),
            may_switch_off=may_switch_off(lab, pool),
            boundary=launching_boundary(lab, pool),
        )
        for pool in lab.pools_with("failsafe machine")
    ]
