"""An adopted pool: the values that the lab file leaves out are read from its capacity in AWS.

Nothing gets a default. A value that AWS does not have stays unknown, and no lease on the pool is granted.
"""

from lamplighter.domain.capacity.evidence import Seen
from lamplighter.lab.model import Lab


def as_found(lab: Lab, pool: str, seen: Seen) -> Lab:
    """The lab in which `pool` has the values that were seen, where the lab file leaves them out."""
    left_out = lab.pools[pool].unstated
    types = seen.make.instance_types
    values: dict[str, str | int | list[str]] = {
        "instance_type": next(iter(types), ""),
        "instance_types": list(types) if len(types) > 1 and "instance_type" in left_out else [],
        "ami_type": seen.make.ami_type,
        "max_nodes": seen.maximum,
        "disk_gib": seen.make.disk_gib,
    }
    known = {key: value for key, value in values.items() if key in {*left_out, "instance_types"} and value}
    return lab.model_copy(
        update={"pools": {**lab.pools, pool: lab.pools[pool].model_copy(update=known)}},
    )
