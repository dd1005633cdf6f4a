"""The deploy step that takes the failsafe's lock off the role of an existing controller, when its pool or the lab goes.

A pool of ours needs none: its lock goes with its NodePool, and the role is deleted.
"""

from collections.abc import Sequence

from aws_cdk import CustomResource
from constructs import Construct

from lamplighter.domain.capacity.node_pool.roles import adopted_locks
from lamplighter.lab.model import Lab
from stacks.constructs.deploy_steps import deploy_step
from stacks.constructs.functions.functions import Function


def lock_off_steps(scope: Construct, lab: Lab, *, function: Function) -> Sequence[CustomResource]:
    """One step for each adopted pool whose controller's role the lab knows."""
    return [
        deploy_step(
            scope,
            f"LockOff-{pool}",
            kind="NodePoolLock",
            function=function,
            properties={"NodePool": lab.node_pool_name(pool), "Launches": role.rpartition("/")[2]},
        )
        for pool, role in adopted_locks(lab).items()
    ]
