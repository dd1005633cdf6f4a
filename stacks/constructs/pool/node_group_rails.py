"""How the curfew brings a node group to zero: through EKS, and five minutes later on the Auto Scaling group itself."""

from datetime import timedelta

from constructs import Construct

from lamplighter.domain.capacity.node_group.off_switch import CURFEW, past_eks, through_eks
from lamplighter.domain.leases.curfew import SECOND_RAIL, schedule_names
from lamplighter.lab.model import Lab
from stacks.constructs.deploy_steps import deploy_step
from stacks.constructs.functions.functions import Function
from stacks.constructs.pool.kind import Rail
from stacks.names import Names


def node_group_rails(
    scope: Construct, *, lab: Lab, names: Names, pool: str, deploy: Function, digest: str
) -> tuple[Rail, ...]:
    """Both calls. EKS names the group behind a node group, so a step reads it again whenever the lab changes."""
    nodegroup = lab.nodegroup_name(pool)
    group = deploy_step(
        scope,
        f"GroupOf-{pool}",
        kind="Group",
        function=deploy,
        properties={"Pool": pool, "Cluster": names.cluster, "Nodegroup": nodegroup, "Digest": digest},
    )
    by_eks, by_group = schedule_names(pool, CURFEW)
    return (
        Rail(by_eks, timedelta(0), through_eks(names.cluster, nodegroup)),
        Rail(by_group, SECOND_RAIL, past_eks(group.get_att_string("AutoScalingGroupName"))),
    )
