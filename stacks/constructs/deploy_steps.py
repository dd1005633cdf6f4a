"""Deploy steps that read the account's real state: custom resources that `handlers.deploy` answers.

The function answers CloudFormation itself, without a framework. The kind of a step says what it does:
Edit         fails zones and edits that EKS would refuse halfway, before anything is changed
DesiredSize  the size a node group has now, so that a deploy leaves it alone
Sizes        the sizes that CloudFormation writes to a pool's node group
Version      the version of its launch template that a node group is told
ServiceCidr  the network of the cluster's Services, which nodes with an image of the user's are told
ClusterLogs  removes the log group that EKS writes again after its cluster's deletion
NodeRole     the name of the role that a node group's nodes have, which nobody can change
Group        the name of the Auto Scaling group behind a node group
NodePoolSize the replicas a NodePool has now, so that a deploy leaves them alone
NodePoolLock takes the failsafe's lock off an existing controller's role when the pool goes
LaunchBar    fails where the API server would let a node of a NodePool start without a lease
Gate         fails a deploy that changes a pool while a lease is on it
Pools        fails a deploy that takes a pool, or nodes of it, away from a lease
Plan         lets the planner run, so that changed windows take effect at once
Swept        lets the guard sweep, and waits until CloudWatch has counted it
Emptied      empties the bucket of pages before its deletion
LastClosed   closes every pool, and fails a destroy until zero is proven
"""

from collections.abc import Mapping

from aws_cdk import CustomResource, Duration
from constructs import Construct

from lamplighter.lab.pools import Pool
from stacks.constructs.functions.functions import Function


def deploy_step(
    scope: Construct,
    construct_id: str,
    *,
    kind: str,
    function: Function,
    properties: Mapping[str, object],
    timeout: Duration | None = None,
) -> CustomResource:
    """A custom resource of that kind. CloudFormation sends it again when its properties change."""
    return CustomResource(
        scope,
        construct_id,
        service_token=function.function.function_arn,
        resource_type=f"Custom::Lamplighter{kind}",
        properties={"Kind": kind, **properties},
        service_timeout=timeout or Duration.minutes(5),
    )


def node_role_step(
    scope: Construct, *, cluster_name: str, nodegroup: str, new: str, function: Function
) -> CustomResource:
    """`RoleName` is the name of the node group's role, or `new` for a group that does not exist yet."""
    return deploy_step(
        scope,
        "RoleName",
        kind="NodeRole",
        function=function,
        properties={"Cluster": cluster_name, "Nodegroup": nodegroup, "New": new},
    )


def pools_step(scope: Construct, pools: Mapping[str, Pool], *, function: Function) -> CustomResource:
    """CloudFormation sends it when a pool is added, removed or gets another maximum of nodes."""
    most = ",".join(f"{name}={pool.max_nodes}" for name, pool in pools.items())
    return deploy_step(
        scope, "Pools", kind="Pools", function=function, properties={"Pools": ",".join(pools), "Most": most}
    )
