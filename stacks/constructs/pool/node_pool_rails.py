"""How the curfew brings a NodePool to zero: the failsafe's machine through Kubernetes, and later past it."""

from datetime import timedelta

from lamplighter.domain.capacity.node_pool.off_switch import MACHINE, call, curfew
from lamplighter.domain.capacity.node_pool.off_switch import Rail as Way
from lamplighter.domain.leases.curfew import SECOND_RAIL, schedule_names
from lamplighter.lab.model import Lab
from stacks.constructs.pool.kind import Rail
from stacks.names import Names


def node_pool_rails(*, lab: Lab, names: Names, pool: str) -> tuple[Rail, ...]:
    """Both starts of the machine. The first run may still watch when the second one begins: that does no harm."""
    ways = curfew(lab.pools[pool].kind)
    machine = names.workflow_arn(MACHINE)
    return tuple(
        Rail(name, later, call(machine, pool, Way(way)))
        for name, later, way in zip(
            schedule_names(pool, ways), (timedelta(0), SECOND_RAIL), ways, strict=True
        )
    )
