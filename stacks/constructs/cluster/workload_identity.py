"""The AWS permissions of the cluster's controllers: on the system nodes' role, or on a role of their own pods.

With the nodes' role, every pod that reaches the metadata service has them. With EKS Pod Identity each service account
has its own role (https://docs.aws.amazon.com/eks/latest/userguide/pod-id-role.html), and pods cannot reach the
metadata service.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.constructs.accepted import accept_wildcard
from stacks.names import Names

POLICIES = Path(__file__).parents[2] / "policies"
SERVICE = "pods.eks.amazonaws.com"


@dataclass(frozen=True)
class Workload:
    """A controller, the policy that its project publishes, and the service account of its chart or add-on."""

    policy: str
    file: str
    description: str
    namespace: str
    service_account: str


WORKLOADS = (
    Workload(
        "AWSLoadBalancerControllerPolicy",
        "aws_lb_controller_policy.json",
        "Policy for allowing AWS LoadBalancerController to modify AWS ELB",
        "kube-system",
        "aws-load-balancer-controller",
    ),
    Workload(
        "ExternalDNSPolicy",
        "externaldns_controller_policy.json",
        "Policy for allowing ExternalDNS to modify Route 53 records",
        "external-dns",
        "external-dns",
    ),
    Workload(
        "CasAutoScalerPolicy",
        "cas_autoscaling_policy.json",
        "Policy for allowing CAS to management AWS AutoScaling",
        "kube-system",
        "cluster-autoscaler",
    ),
)


def policy(scope: Construct, names: Names, workload: Workload) -> iam.ManagedPolicy:
    """The workload's policy; its name contains the region, as that of a role does."""
    document = json.loads((POLICIES / workload.file).read_text("utf-8"))
    made = iam.ManagedPolicy(
        scope,
        workload.policy,
        managed_policy_name=names.policy(workload.policy),
        description=workload.description,
        document=iam.PolicyDocument.from_json(document),
    )
    for statement in document["Statement"]:
        resources = statement["Resource"]
        for resource in [resources] if isinstance(resources, str) else resources:
            accept_wildcard(made, resource, "The controller's own project publishes it like this.")
    return made


def pods_of(namespace: str, service_account: str, *, cluster_arn: str) -> iam.IPrincipal:
    """The pods of one service account in one cluster, by EKS Pod Identity."""
    only = {
        "aws:RequestTag/eks-cluster-arn": cluster_arn,
        "aws:RequestTag/kubernetes-namespace": namespace,
        "aws:RequestTag/kubernetes-service-account": service_account,
    }
    return iam.SessionTagsPrincipal(
        iam.PrincipalWithConditions(iam.ServicePrincipal(SERVICE), {"StringEquals": only})
    )


class PodIdentities(Construct):
    """A role for each workload, which only its service account in this cluster may assume."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        cluster_name: str,
        cluster_arn: str,
        policies: Sequence[iam.ManagedPolicy],
    ) -> None:
        super().__init__(scope, construct_id)
        self.roles: list[iam.Role] = []
        self.associations: list[eks.CfnPodIdentityAssociation] = []
        for workload, given in zip(WORKLOADS, policies, strict=True):
            name = "".join(part.capitalize() for part in workload.service_account.split("-"))
            role = iam.Role(
                self,
                f"{name}Role",
                assumed_by=pods_of(workload.namespace, workload.service_account, cluster_arn=cluster_arn),
                managed_policies=[given],
                description=f"What {workload.service_account} of the cluster {cluster_name} may do",
            )
            self.roles.append(role)
            self.associations.append(
                eks.CfnPodIdentityAssociation(
                    self,
                    name,
                    cluster_name=cluster_name,
                    namespace=workload.namespace,
                    service_account=workload.service_account,
                    role_arn=role.role_arn,
                )
            )
