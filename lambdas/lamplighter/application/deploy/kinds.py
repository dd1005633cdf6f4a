"""The deploy steps that only one kind of capacity has."""

from lamplighter.application.deploy.event import Event
from lamplighter.application.deploy.node_group.steps import STEPS as OF_NODE_GROUPS
from lamplighter.application.deploy.response import CloudFormationResponse

__all__ = ["STEPS", "all_pools_are_reached"]


def _node_pool_size(event: Event) -> CloudFormationResponse:
    from lamplighter.application.deploy.node_pool.steps import size  # noqa: PLC0415 -- few labs have one

    return size(event)


def _launch_bar(event: Event) -> CloudFormationResponse:
    from lamplighter.application.deploy.node_pool.steps import launch_bar  # noqa: PLC0415 -- few labs have one

    return launch_bar(event)


def _lock(event: Event) -> CloudFormationResponse:
    from lamplighter.application.deploy.node_pool.steps import lock  # noqa: PLC0415 -- few labs have one

    return lock(event)


STEPS = {
    **OF_NODE_GROUPS,
    "NodePoolSize": _node_pool_size,
    "LaunchBar": _launch_bar,
    "NodePoolLock": _lock,
}


def all_pools_are_reached() -> None:
    """Fails if our roles and rules do not name all that an adopted pool consists of."""
    from lamplighter.application.deploy.node_group.reached import all_groups_are_reached  # noqa: PLC0415 -- one step

    all_groups_are_reached()
