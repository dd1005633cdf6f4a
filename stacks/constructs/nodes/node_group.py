"""A managed node group: its role, its launch template and its size.

Instance type and disk are in the launch template. On the group itself a change of them would replace the group, and a
group with a fixed name cannot be replaced. Several types are on the group nevertheless: a template names one. EKS tries
On-Demand ones in their order (https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html). An image of
the user's is in the template too: EKS then takes neither image type nor version. The template has no tag that a lab may
change: EKS refuses an update of template and tags together, and a new template replaces every node.
"""

from collections.abc import Sequence

from aws_cdk import Stack, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from lamplighter.values.lab_tag import LAB_TAG
from stacks.constructs.accepted import accept_managed_policies
from stacks.constructs.deploy_steps import deploy_step
from stacks.constructs.functions.functions import Function
from stacks.constructs.nodes.disks import disks
from stacks.constructs.nodes.efa import launched
from stacks.constructs.nodes.spec import ClusterAddress, NodeGroupSpec
from stacks.constructs.nodes.user_data import user_data

# EKS has its own names for the taint effects of Kubernetes.
EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
}
NODE_POLICIES = {
    "AmazonEKSWorkerNodePolicy": "EKS requires this policy on a node's role.",
    "AmazonEC2ContainerRegistryReadOnly": "Nodes pull the images of add-ons from Amazon's registry.",
    "AmazonEKS_CNI_Policy": "The default lab gives it to its nodes, as the Terraform module does.",
    "AmazonSSMManagedInstanceCore": "SSM instead of SSH: no key pair, no open port, sessions under a role.",
}


class LaunchTemplate(Construct):
    """The launch template of a node group; a group with its own image needs the cluster that it joins."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        spec: NodeGroupSpec,
        security_groups: Sequence[str],
        cluster: ClusterAddress | None = None,
        placement_group: ec2.CfnLaunchTemplate.PlacementProperty | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        efa = launched(spec.efa, security_groups) if spec.efa else None
        tags = [
            {"key": "Name", "value": spec.name},
            {"key": LAB_TAG, "value": spec.lab},
            {"key": "lamplighter:node-group", "value": spec.name},
        ]
        data = ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
            instance_type=None if spec.instance_types else spec.instance_type,
            image_id=spec.image,
            block_device_mappings=disks(spec),
            metadata_options=ec2.CfnLaunchTemplate.MetadataOptionsProperty(
                http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=spec.hop_limit
            ),
            # EC2 takes groups beside interfaces only on each of these.
            security_group_ids=None if efa else list(security_groups),
            network_interfaces=efa,
            placement=placement_group,
            capacity_reservation_specification=_from_reservation(spec.reservation)
            if spec.reservation
            else None,
            # EC2 refuses this market for another reservation, and a block without it.
            instance_market_options=ec2.CfnLaunchTemplate.InstanceMarketOptionsProperty(
                market_type="capacity-block"
            )
            if spec.of_block
            else None,
            user_data=user_data(spec, cluster),
            tag_specifications=[
                ec2.CfnLaunchTemplate.TagSpecificationProperty(resource_type=kind, tags=tags)
                for kind in ("instance", "volume")
            ],
        )
        self.resource = ec2.CfnLaunchTemplate(self, "Template", launch_template_data=data)
        self.resolved = Stack.of(self).resolve(self.resource.launch_template_data)


class NodeGroup(Construct):
    """The node group; the template's `version`, `desired` and `most` may be values of a custom resource."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        spec: NodeGroupSpec,
        cluster_name: str,
        subnets: Sequence[ec2.CfnSubnet],
        template: LaunchTemplate,
        version: str,
        desired: float,
        role_name: str,
        most: float | None = None,
        policies: Sequence[iam.IManagedPolicy] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        self.role = iam.Role(
            self,
            "Role",
            role_name=role_name,
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            managed_policies=[
                *(iam.ManagedPolicy.from_aws_managed_policy_name(name) for name in NODE_POLICIES),
                *policies,
            ],
        )
        accept_managed_policies(self.role, NODE_POLICIES)
        self.resource = eks.CfnNodegroup(
            self,
            "Group",
            cluster_name=cluster_name,
            nodegroup_name=spec.name,
            version=spec.node_version,
            node_role=self.role.role_arn,
            subnets=[subnet.ref for subnet in subnets],
            ami_type=None if spec.custom else spec.ami_type,
            capacity_type=spec.capacity_type,
            instance_types=list(spec.instance_types) or None,
            launch_template=eks.CfnNodegroup.LaunchTemplateSpecificationProperty(
                id=template.resource.ref, version=version
            ),
            scaling_config=eks.CfnNodegroup.ScalingConfigProperty(
                min_size=spec.min_size,
                max_size=spec.max_size if most is None else most,
                desired_size=desired,
            ),
            update_config=eks.CfnNodegroup.UpdateConfigProperty(
                max_unavailable=1, update_strategy=spec.update_strategy
            ),
            # If a node's pods cannot be evicted, the node stays and the update fails.
            force_update_enabled=False,
            labels=dict(spec.labels),
            taints=[
                eks.CfnNodegroup.TaintProperty(key=taint.key, value=taint.value, effect=EFFECTS[taint.effect])
                for taint in spec.group_taints
            ]
            or None,
            tags=dict(spec.tags) or None,
        )
        Tags.of(self.resource).add("Name", spec.name)


def _from_reservation(reservation: str) -> ec2.CfnLaunchTemplate.CapacityReservationSpecificationProperty:
    """Launches go into this reservation, or fail. EKS can say no more than that: nothing else comes second."""
    return ec2.CfnLaunchTemplate.CapacityReservationSpecificationProperty(
        capacity_reservation_preference="capacity-reservations-only",
        capacity_reservation_target=ec2.CfnLaunchTemplate.CapacityReservationTargetProperty(
            capacity_reservation_id=reservation
        ),
    )


def version_of(template: LaunchTemplate, *, cluster_name: str, nodegroup: str, function: Function) -> str:
    """The version of the launch template for the node group; it changes only when the template's content changes."""
    step = deploy_step(
        template,
        "Version",
        kind="Version",
        function=function,
        properties={
            "Cluster": cluster_name,
            "Nodegroup": nodegroup,
            "Template": template.resolved,
            "Latest": template.resource.attr_latest_version_number,
        },
    )
    return step.get_att_string("Version")
