"""An adopted pool: the values that the lab file leaves out are read from its node group in AWS.

Nothing gets a default. A value that AWS does not have stays unknown, and no lease on the pool is granted.
"""

from lamplighter.domain.pool.evidence import NodeGroup
from lamplighter.lab.model import Lab


def as_found(lab: Lab, pool: str, group: NodeGroup, instance_type: str | None) -> Lab:
    """The lab in which `pool` has the values of its node group where the lab file leaves them out."""
    left_out = lab.pools[pool].unstated
    values: dict[str, str | int] = {
        "instance_type": instance_type or "",
        "ami_type": group.ami_type,
        "max_nodes": group.maximum,
        "disk_gib": group.disk_gib,
    }
    known = {key: value for key, value in values.items() if key in left_out and value}
    return lab.model_copy(
        update={"pools": {**lab.pools, pool: lab.pools[pool].model_copy(update=known)}},
    )
