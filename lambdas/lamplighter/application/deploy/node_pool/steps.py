"""The deploy steps about NodePools: they return the present size, try the launch bar, and take the lock off."""

import logging

from lamplighter.application.deploy import mark as deploy_mark
from lamplighter.application.deploy.event import Event, known_as, properties_of
from lamplighter.application.deploy.response import CloudFormationResponse
from lamplighter.domain.capacity.node_pool.lock import policy_name
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason

_logger = logging.getLogger(__name__)


def size(event: Event) -> CloudFormationResponse:
    """The replicas that the NodePool has now, which the deploy writes back; 0 if there is no NodePool yet.

    Nobody raises them from here on. What leases justify counts too: a node may be ordered at this moment.
    """
    from lamplighter.application.deploy.node_pool.present import present_size  # noqa: PLC0415 -- only here

    properties = properties_of(event)
    cluster, name = properties["Cluster"], properties["NodePool"]
    known = f"size-of-{cluster}/{name}"
    if event["RequestType"] == "Delete":
        _unlock(name, properties.get("Launches", ""))
        return CloudFormationResponse(known)
    about_to_come = deploy_mark.justified(properties["Pool"]) if event["RequestType"] == "Update" else 0
    found = present_size(cluster, name)
    return CloudFormationResponse(
        known, data={"Replicas": str(0 if found is None else max(found, about_to_come))}
    )


def _unlock(node_pool: str, role: str) -> None:
    """With a NodePool its lock goes: IAM deletes no role that still has a policy of somebody else."""
    if not role:
        return
    from lamplighter.adapters.capacity.node_pool.lock import Lock  # noqa: PLC0415 -- only where a pool goes

    try:
        Lock(role).remove(node_pool)
    except OutsideFailed as error:
        # The deletion of the role tells it, if the lock is there.
        _logger.warning("the failsafe's lock on %s is not removed: %s", role, error)


def lock(event: Event) -> CloudFormationResponse:
    """On deletion, takes the failsafe's lock off the role of somebody else's controller.

    Fails where it stays: nobody else would find it, and it denies the NodePool every launch.
    """
    properties = properties_of(event)
    node_pool, role = properties["NodePool"], properties["Launches"]
    if event["RequestType"] == "Delete":
        from lamplighter.adapters.capacity.node_pool.lock import Lock  # noqa: PLC0415 -- only where a pool goes

        try:
            Lock(role).remove(node_pool)
        except OutsideFailed as error:
            policy = policy_name(node_pool)
            raise OutsideFailed(
                reason("deploy.lock-stays", policy=policy, role=role, error=error.said),
                "iam:DeleteRolePolicy",
            ) from error
    return CloudFormationResponse(f"lock-of-{node_pool}-on-{role}")


def launch_bar(event: Event) -> CloudFormationResponse:
    """Fails where the API server would take a claim that the launch bar of a pool must refuse."""
    from lamplighter.application.deploy.node_pool.trial import refuses_claims  # noqa: PLC0415 -- only here

    known = known_as(event)
    if event["RequestType"] == "Delete":
        return CloudFormationResponse(known)
    properties = properties_of(event)
    for pool in filter(None, properties["Pools"].split(",")):
        refuses_claims(properties["Cluster"], pool)
    return CloudFormationResponse(f"launch-bar-{properties['Digest']}")
