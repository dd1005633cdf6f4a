"""A node group that is always on: the system nodes, and the groups that a lab names beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from lamplighter.domain.capacity.node_group.edit import NodeGroupSides
from lamplighter.lab.cluster import SystemNodes
from lamplighter.lab.model import Lab
from lamplighter.lab.nodes.node_groups import NodeGroup as Group
from stacks.constructs.deploy_steps import node_role_step
from stacks.constructs.nodes.edits import sides
from stacks.constructs.nodes.node_group import LaunchTemplate, NodeGroup, version_of
from stacks.constructs.nodes.spec import NodeGroupSpec, NodeGroupTaint
from stacks.constructs.nodes.start_script import start_script
from stacks.constructs.nodes.surroundings import Surroundings

HOP_LIMIT = 2
"""EKS's own, for pods that ask the metadata service (EKS user guide, launch templates)."""


@dataclass(frozen=True)
class AlwaysOn:
    """The node group, and what the first step of a deploy compares of it."""

    group: NodeGroup
    name: str
    edit: NodeGroupSides


def system_nodes(scope: Construct, around: Surroundings, policies: Sequence[iam.ManagedPolicy]) -> AlwaysOn:
    """The system nodes, whose role has the policies of the add-ons or none."""
    owner = around.lab.cluster.system_nodes
    return _made(
        scope,
        around,
        # The ids of earlier releases: another id would be another group.
        ids=("SystemLaunchTemplate", "SystemNodes"),
        part="cluster.system_nodes",
        owner=owner,
        spec=_spec(around.lab, around.names.system_nodegroup, owner),
        role="ng-1",
        policies=policies,
    )


def node_group(scope: Construct, around: Surroundings, name: str) -> AlwaysOn:
    """A group of cluster.node_groups."""
    owner = around.lab.cluster.node_groups[name]
    return _made(
        scope,
        around,
        ids=(f"LaunchTemplate-{name}", f"NodeGroup-{name}"),
        part=f"cluster.node_groups.{name}",
        owner=owner,
        spec=_spec(around.lab, around.lab.always_on_name(name), owner),
        role=f"group-{name}",
    )


def _made(
    scope: Construct,
    around: Surroundings,
    *,
    ids: tuple[str, str],
    part: str,
    owner: SystemNodes | Group,
    spec: NodeGroupSpec,
    role: str,
    policies: Sequence[iam.ManagedPolicy] = (),
) -> AlwaysOn:
    of_template, of_group = ids
    template = LaunchTemplate(
        scope, of_template, spec=spec, security_groups=around.security_groups, cluster=around.address
    )
    named = node_role_step(
        template,
        cluster_name=around.cluster_name,
        nodegroup=spec.name,
        new=around.names.role(role),
        function=around.gatekeeper,
    )
    group = NodeGroup(
        scope,
        of_group,
        spec=spec,
        cluster_name=around.cluster_name,
        subnets=around.subnets,
        template=template,
        version=version_of(
            template, cluster_name=around.cluster_name, nodegroup=spec.name, function=around.gatekeeper
        ),
        desired=owner.nodes,
        role_name=named.get_att_string("RoleName"),
        policies=policies,
    )
    if spec.family == "windows":
        _windows_access(group, around.cluster_name)
    edit = sides(around.lab, spec, template, part=part, owner=owner, desired=owner.nodes)
    return AlwaysOn(group, spec.name, edit)


def _spec(lab: Lab, name: str, owner: SystemNodes | Group) -> NodeGroupSpec:
    system = owner if isinstance(owner, SystemNodes) else None
    return NodeGroupSpec(
        name=name,
        lab=lab.name,
        kubernetes_version=lab.cluster.kubernetes_version,
        instance_type=owner.instance_type,
        ami_type=owner.ami_type,
        disk_gib=owner.disk_gib,
        min_size=owner.min_nodes,
        max_size=owner.max_nodes,
        hop_limit=lab.cluster.hop_limit(system.metadata_hop_limit if system else HOP_LIMIT),
        max_pods=owner.max_pods,
        start_script=start_script(
            owner.family, owner.packages, update=system is not None and system.update_packages
        ),
        labels=owner.labels,
        taints=[NodeGroupTaint(taint.key, taint.value, taint.effect) for taint in owner.taints],
        image=owner.image,
        image_family=owner.image_family,
    )


def _windows_access(group: NodeGroup, cluster_name: str) -> None:
    """The role's access entry, of the type that lets kube-proxy of Windows work; it is there before the nodes.

    EKS makes such an entry itself, but not for an image that it does not know to be Windows.
    """
    entry = eks.CfnAccessEntry(
        group,
        "WindowsAccess",
        cluster_name=cluster_name,
        principal_arn=group.role.role_arn,
        type="EC2_WINDOWS",
    )
    group.resource.node.add_dependency(entry)
