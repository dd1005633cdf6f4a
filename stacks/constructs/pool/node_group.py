"""A managed node group: its role, its launch template and its size.

Instance type and disk are in the launch template. On the group itself a change of them would replace the group, and a
group with a fixed name cannot be replaced. The template has no tag that a lab may change: EKS refuses an update of
template and tags together, and a new template replaces every node.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aws_cdk import Fn, Stack, Tags
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.constructs.accepted import accept_managed_policies
from stacks.constructs.deploy_steps import deploy_step
from stacks.constructs.functions.functions import Function

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
# The volume with images and containers: on Bottlerocket it is the second one.
DISK, BOTTLEROCKET_DISK = "/dev/xvda", "/dev/xvdb"


@dataclass(frozen=True)
class NodeGroupTaint:
    """A taint, with the values of Kubernetes."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class NodeGroupSpec:
    """The properties of a node group that do not depend on other resources."""

    name: str
    lab: str
    kubernetes_version: str
    instance_type: str
    ami_type: str
    disk_gib: int
    min_size: int
    max_size: int
    hop_limit: int = 2
    max_pods: int | None = None
    start_script: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[NodeGroupTaint] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    # How EKS replaces nodes: MINIMAL stops a node before it starts another, so that a pool never needs more
    # instances than its quota has. DEFAULT starts one first.
    update_strategy: str = "DEFAULT"


class LaunchTemplate(Construct):
    """The launch template of a node group."""

    def __init__(
        self, scope: Construct, construct_id: str, *, spec: NodeGroupSpec, security_groups: Sequence[str]
    ) -> None:
        super().__init__(scope, construct_id)
        tags = [
            {"key": "Name", "value": spec.name},
            {"key": "lamplighter:lab", "value": spec.lab},
            {"key": "lamplighter:node-group", "value": spec.name},
        ]
        data = ec2.CfnLaunchTemplate.LaunchTemplateDataProperty(
            instance_type=spec.instance_type,
            block_device_mappings=[
                ec2.CfnLaunchTemplate.BlockDeviceMappingProperty(
                    device_name=BOTTLEROCKET_DISK if _is_bottlerocket(spec) else DISK,
                    ebs=ec2.CfnLaunchTemplate.EbsProperty(
                        volume_size=spec.disk_gib,
                        volume_type="gp3",
                        encrypted=True,
                        delete_on_termination=True,
                    ),
                )
            ],
            metadata_options=ec2.CfnLaunchTemplate.MetadataOptionsProperty(
                http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=spec.hop_limit
            ),
            security_group_ids=list(security_groups),
            user_data=_user_data(spec),
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
            version=spec.kubernetes_version,
            node_role=self.role.role_arn,
            subnets=[subnet.ref for subnet in subnets],
            ami_type=spec.ami_type,
            capacity_type="ON_DEMAND",
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
                for taint in spec.taints
            ]
            or None,
            tags=dict(spec.tags) or None,
        )
        Tags.of(self.resource).add("Name", spec.name)


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


def _is_bottlerocket(spec: NodeGroupSpec) -> bool:
    return spec.ami_type.startswith("BOTTLEROCKET")


def _user_data(spec: NodeGroupSpec) -> str | None:
    """The user data that EKS merges into its own: nodeadm's settings, then a script."""
    if _is_bottlerocket(spec):
        # Bottlerocket takes settings in TOML only, runs no script and has no packages.
        settings = f"[settings.kubernetes]\nmax-pods = {spec.max_pods}\n"
        return Fn.base64(settings) if spec.max_pods is not None else None
    parts = ec2.MultipartUserData()
    if spec.max_pods is not None:
        parts.add_part(
            ec2.MultipartBody.from_raw_body(
                content_type="application/node.eks.aws",
                body=(
                    "---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n"
                    f"    config:\n      maxPods: {spec.max_pods}\n"
                ),
            )
        )
    if spec.start_script is not None:
        parts.add_part(
            ec2.MultipartBody.from_raw_body(
                content_type='text/x-shellscript; charset="us-ascii"', body=spec.start_script
            )
        )
    if spec.max_pods is None and spec.start_script is None:
        return None
    return Fn.base64(parts.render())
