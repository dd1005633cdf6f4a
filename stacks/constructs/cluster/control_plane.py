"""The EKS control plane: cluster, its logs, who may administer it, and the identity of its pods (IRSA).

It uses the L1 resource: the L2 cluster has no upgrade policy and connects its kubectl handler to the private endpoint.
"""

from collections.abc import Sequence

from aws_cdk import RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.constructs.accepted import accept_managed_policies
from stacks.constructs.cluster.auto_mode import OF_AUTO_MODE, AutoModeRole, bound, switched_on, trusted

ADMIN_POLICY = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
POLICIES = {"AmazonEKSClusterPolicy": "EKS requires this policy on a cluster's role."}
# https://docs.aws.amazon.com/eks/latest/userguide/windows-support.html
OF_WINDOWS = {
    "AmazonEKSVPCResourceController": "EKS gives pods on Windows nodes their addresses with this policy."
}


def cluster_log_group(cluster: str) -> str:
    """The log group to which EKS writes."""
    return f"/aws/eks/{cluster}/cluster"


class ControlPlane(Construct):
    """The cluster and the resources of its control plane. With names for its role, EKS Auto Mode is on."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        version: str,
        subnets: Sequence[ec2.CfnSubnet],
        security_group: ec2.CfnSecurityGroup,
        logs_of: Sequence[str],
        public_endpoint: bool,
        private_endpoint: bool,
        admins: Sequence[str],
        log_retention: logs.RetentionDays,
        windows: bool = False,
        auto_mode: AutoModeRole | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        policies = {**POLICIES, **(OF_WINDOWS if windows else {}), **(OF_AUTO_MODE if auto_mode else {})}
        service: iam.IPrincipal = iam.ServicePrincipal("eks.amazonaws.com")
        role = iam.Role(
            self,
            "Role",
            # The failsafe names the role that launches Auto Mode's nodes.
            role_name=auto_mode.name if auto_mode else None,
            permissions_boundary=bound(self, auto_mode) if auto_mode else None,
            assumed_by=trusted(service) if auto_mode else service,
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(name) for name in policies],
        )
        accept_managed_policies(role, policies)
        # Otherwise EKS creates it, keeps its logs for ever and does not delete it.
        self.log_group = logs.LogGroup(
            self,
            "Logs",
            log_group_name=cluster_log_group(name),
            retention=log_retention,
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.cluster = eks.CfnCluster(
            self,
            "Cluster",
            name=name,
            version=version,
            role_arn=role.role_arn,
            # CloudFormation's role creates the cluster, so people need the explicit entries below.
            access_config=eks.CfnCluster.AccessConfigProperty(
                authentication_mode="API", bootstrap_cluster_creator_admin_permissions=True
            ),
            bootstrap_self_managed_addons=False,
            # EXTENDED, the default, costs six times as much once standard support ends.
            upgrade_policy=eks.CfnCluster.UpgradePolicyProperty(support_type="STANDARD"),
            resources_vpc_config=eks.CfnCluster.ResourcesVpcConfigProperty(
                subnet_ids=[subnet.ref for subnet in subnets],
                security_group_ids=[security_group.attr_group_id],
                endpoint_public_access=public_endpoint,
                endpoint_private_access=private_endpoint,
            ),
            logging=eks.CfnCluster.LoggingProperty(
                cluster_logging=eks.CfnCluster.ClusterLoggingProperty(
                    enabled_types=[eks.CfnCluster.LoggingTypeConfigProperty(type=kind) for kind in logs_of]
                )
            ),
            **(switched_on() if auto_mode else {}),
        )
        self.cluster.node.add_dependency(self.log_group)
        self.name = self.cluster.ref
        for index, admin in enumerate(admins, 1):
            self.grant_admin(f"Admin{index}", admin)
        self.identity_provider = eks.OidcProviderNative(
            self, "IdentityProvider", url=self.cluster.attr_open_id_connect_issuer_url
        )

    def grant_admin(self, construct_id: str, principal: str) -> eks.CfnAccessEntry:
        """Makes a role a cluster administrator."""
        return eks.CfnAccessEntry(
            self,
            construct_id,
            cluster_name=self.name,
            principal_arn=principal,
            access_policies=[
                eks.CfnAccessEntry.AccessPolicyProperty(
                    policy_arn=ADMIN_POLICY,
                    access_scope=eks.CfnAccessEntry.AccessScopeProperty(type="cluster"),
                )
            ],
        )
