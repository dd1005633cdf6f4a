"""The deploy steps that only one kind of capacity has."""

from lamplighter.application.deploy.node_group.steps import STEPS as OF_NODE_GROUPS
from lamplighter.application.deploy.node_pool.steps import STEPS as OF_NODE_POOLS

STEPS = {**OF_NODE_GROUPS, **OF_NODE_POOLS}

__all__ = ["STEPS", "all_pools_are_reached"]


def all_pools_are_reached() -> None:
    """Fails if our roles and rules do not name all that an adopted pool consists of."""
    from lamplighter.application.deploy.node_group.reached import all_groups_are_reached  # noqa: PLC0415 -- one step

    all_groups_are_reached()
