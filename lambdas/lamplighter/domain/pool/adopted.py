"""What an adopted pool leaves out of the lab file, filled in with what AWS says of its node group.

Nothing is defaulted: what AWS does not say either stays unknown, and nobody is granted a lease on it.
"""

from lamplighter.domain.pool.evidence import NodeGroup
from lamplighter.lab.model import Lab


def as_found(lab: Lab, pool: str, group: NodeGroup, instance_type: str | None) -> Lab:
    """The lab with what `pool` leaves to AWS as its node group has it."""
    left_out = lab.pools[pool].unstated
    found: dict[str, str | int] = {
        "instance_type": instance_type or "",
        "ami_type": group.ami_type,
        "max_nodes": group.maximum,
        "disk_gib": group.disk_gib,
    }
    known = {key: value for key, value in found.items() if key in left_out and value}
    return lab.model_copy(
        update={"pools": {**lab.pools, pool: lab.pools[pool].model_copy(update=known)}},
    )
