"""Which Kubernetes groups each function is in, by its access entry. RBAC says what a group may do.

data/rbac.yaml has the groups of every lab, lamplighter.domain.capacity.node_pool.access those of a lab with NodePools,
lamplighter.domain.classes.access that of a lab with classes.
"""

from collections.abc import Mapping

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from lamplighter.domain.capacity.node_pool.groups import Group
from lamplighter.domain.classes import access
from lamplighter.lab.model import Lab
from stacks.names import Names

OF_EVERY_LAB: Mapping[str, str] = {
    function: f"lamplighter:{function}"
    for function in ("cluster", "diagnosis", "doctor", "experiments", "guard")
}
OF_NODE_POOLS: Mapping[str, tuple[Group, ...]] = {
    "cluster": (Group.POOLS,),
    "deploy": (Group.POOLS,),
    "diagnosis": (Group.DIAGNOSIS,),
    "doctor": (Group.DOCTOR,),
    "guard": (Group.CAPACITY, Group.BAR, Group.CONTROLLER),
    "leases": (Group.BAR,),
    "nodegroups": (Group.CAPACITY,),
    "planner": (Group.POOLS,),
}
"""The functions that see or change the size of a pool, or its launch bar."""


def cluster_access(
    scope: Construct, *, lab: Lab, names: Names, roles: Mapping[str, iam.Role]
) -> list[eks.CfnAccessEntry]:
    """An access entry for each of the roles, given by the function's name, that is in a group."""
    entries = []
    for function, role in roles.items():
        of_pools = [group.of(lab.name) for group in _of_node_pools(lab, function)]
        groups = [*([OF_EVERY_LAB[function]] if function in OF_EVERY_LAB else []), *of_pools]
        if function == "classes":
            groups = [access.group(lab)]
        if groups:
            entries.append(
                eks.CfnAccessEntry(
                    scope,
                    f"{function.capitalize()}Access",
                    cluster_name=names.cluster,
                    principal_arn=role.role_arn,
                    kubernetes_groups=groups,
                    type="STANDARD",
                )
            )
    return entries


def _of_node_pools(lab: Lab, function: str) -> tuple[Group, ...]:
    if not lab.pools_with("node pool"):
        return ()
    if function == "deploy" and lab.cluster.existing is not None:
        # No cluster stack is deployed, so this function tries the launch bar.
        return (Group.GATEKEEPER,)
    return OF_NODE_POOLS.get(function, ())
