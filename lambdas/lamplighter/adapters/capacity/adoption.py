"""Reads an existing cluster and node group, to adopt them. Changes nothing."""

import base64
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamplighter.adapters.aws import cluster_authority
from lamplighter.adapters.aws.calls import FIRST_READ_SECONDS, client, error_code, outside
from lamplighter.adapters.aws.capacity import user_data
from lamplighter.adapters.aws.capacity.instances import Instances
from lamplighter.adapters.border import border
from lamplighter.adapters.checked import checked
from lamplighter.domain.pool.adoption import ExistingCluster, ExistingPool
from lamplighter.domain.pool.node_pool_adoption import ServiceAccount
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.lab.names import KUBERNETES_VERSION
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from mypy_boto3_autoscaling import AutoScalingClient
    from mypy_boto3_autoscaling.type_defs import AutoScalingGroupTypeDef
    from mypy_boto3_eks import EKSClient
    from mypy_boto3_eks.type_defs import ClusterTypeDef, NodegroupTypeDef

MOST_ISSUES, LONGEST_ISSUE = 3, 300
"""Of a node group's health: they are kept and shown."""


@border
class Adoption:
    """The clusters of the account and region."""

    def __init__(self) -> None:
        self._eks: EKSClient = client("eks", read_seconds=FIRST_READ_SECONDS)
        self._asg: AutoScalingClient = client("autoscaling")
        self._instances = Instances()

    def cluster(self, name: str) -> ExistingCluster:
        """The cluster; BadInput with the names of the existing ones when there is none of that name."""
        found = self.cluster_if_there(name)
        if found is None:
            with outside("eks:ListClusters", "all clusters"):
                pages = self._eks.get_paginator("list_clusters").paginate()
                names = tuple(cluster for page in pages for cluster in page["clusters"])
            region = self._eks.meta.region_name
            if not names:
                raise BadInput(reason("capacity.no-clusters", cluster=name, region=region))
            raise BadInput(reason("capacity.no-such-cluster", cluster=name, region=region, names=names))
        return found

    def cluster_if_there(self, name: str) -> ExistingCluster | None:
        """The cluster; None where there is none of that name."""
        with outside("eks:DescribeCluster", name):
            try:
                found = self._eks.describe_cluster(name=name).get("cluster")
            except self._eks.exceptions.ClientError as error:
                if error_code(error) != "ResourceNotFoundException":
                    raise
                return None
        if found is None or not re.fullmatch(KUBERNETES_VERSION, found.get("version", "")):
            raise OutsideFailed(
                reason("capacity.answer-without-cluster", cluster=name), "eks:DescribeCluster", name
            )
        network = found.get("resourcesVpcConfig", {})
        return checked(
            ExistingCluster(
                name=name,
                region=self._eks.meta.region_name,
                version=found["version"],
                # Clusters that are older than access entries have no accessConfig.
                authentication=found.get("accessConfig", {}).get("authenticationMode", "CONFIG_MAP"),
                public_endpoint=network.get("endpointPublicAccess", True),
                public_cidrs=tuple(network.get("publicAccessCidrs") or ["0.0.0.0/0"]),
                support=found.get("upgradePolicy", {}).get("supportType", "EXTENDED"),
                status=found.get("status", "ACTIVE"),
                names_its_key=_names_its_key(found),
                auto_mode=found.get("computeConfig", {}).get("enabled", False),
                authorities=_certificates(found.get("certificateAuthority", {}).get("data", "")),
            )
        )

    def group(self, cluster: str, name: str) -> ExistingPool:
        """The node group; BadInput with the names of the existing ones when there is none of that name."""
        found = self.group_if_there(cluster, name)
        if found is None:
            raise self.no_such_group(cluster, name, ())
        return found

    def no_such_group(self, cluster: str, name: str, node_pools: Sequence[str]) -> BadInput:
        """That there is no node group and no NodePool of that name, with the names of the existing ones."""
        with outside("eks:ListNodegroups", cluster):
            pages = self._eks.get_paginator("list_nodegroups").paginate(clusterName=cluster)
            groups = tuple(group for page in pages for group in page["nodegroups"])
        if not groups and not node_pools:
            return BadInput(reason("capacity.no-node-groups", group=name, cluster=cluster))
        if not node_pools:
            return BadInput(reason("capacity.no-such-node-group", group=name, cluster=cluster, names=groups))
        pools = tuple(node_pools)
        return BadInput(
            reason("capacity.no-such-node-pool", name=name, cluster=cluster, groups=groups, pools=pools)
            if groups
            else reason("capacity.no-such-node-pool.alone", name=name, cluster=cluster, pools=pools)
        )

    def group_if_there(self, cluster: str, name: str) -> ExistingPool | None:
        """The node group; None where there is none of that name."""
        with outside("eks:DescribeNodegroup", f"{cluster}/{name}"):
            try:
                found = self._eks.describe_nodegroup(clusterName=cluster, nodegroupName=name)["nodegroup"]
            except self._eks.exceptions.ClientError as error:
                if error_code(error) != "ResourceNotFoundException":
                    raise
                return None
        scaling = found.get("scalingConfig", {})
        groups = self._groups(found)
        return checked(
            ExistingPool(
                name=name,
                status=found.get("status", "ACTIVE"),
                instance_types=self._instance_types(found),
                ami_type=found.get("amiType", ""),
                capacity_type=found.get("capacityType", "ON_DEMAND"),
                minimum=scaling.get("minSize", 0),
                maximum=scaling.get("maxSize", 0),
                desired=scaling.get("desiredSize", 0),
                group_tags={
                    tag.get("Key", ""): tag.get("Value", "")
                    for group in groups
                    for tag in group.get("Tags", [])
                },
                release=found.get("releaseVersion", ""),
                subnets=tuple(found.get("subnets", [])),
                group=next(iter(_group_names(found)), ""),
                # EKS asks Auto Scaling for it, and so may a person.
                warm_pool=any("WarmPoolConfiguration" in group for group in groups),
                scheduled_actions=self._scheduled_actions(found),
                authorities=self._authorities(found),
                issues=tuple(
                    f"{issue.get('code', '')}: {str(issue.get('message', ''))[:LONGEST_ISSUE]}"
                    for issue in found.get("health", {}).get("issues", [])[:MOST_ISSUES]
                ),
                role=found.get("nodeRole", ""),
            )
        )

    def karpenter_role(self, cluster: str, account: ServiceAccount | None) -> str | None:
        """The path and name of the IAM role of Karpenter's pods; None where it is not known."""
        arn = account.role_arn if account else None
        if account is not None and arn is None:
            arn = self._pod_identity(cluster, account)
        return arn.partition(":role/")[2] if arn else None

    def _pod_identity(self, cluster: str, account: ServiceAccount) -> str | None:
        about = f"{cluster}/{account.namespace}/{account.name}"
        with outside("eks:ListPodIdentityAssociations", about):
            pages = self._eks.get_paginator("list_pod_identity_associations").paginate(
                clusterName=cluster, namespace=account.namespace, serviceAccount=account.name
            )
            listed = [one for page in pages for one in page["associations"]]
        if not listed:
            return None
        with outside("eks:DescribePodIdentityAssociation", about):
            association = self._eks.describe_pod_identity_association(
                clusterName=cluster, associationId=listed[0].get("associationId", "")
            )["association"]
        return association.get("roleArn")

    def _instance_types(self, found: "NodegroupTypeDef") -> tuple[str, ...]:
        """The instance types of the node group, else of its launch template."""
        template = found.get("launchTemplate", {})
        if found.get("instanceTypes") or not template:
            return tuple(found.get("instanceTypes", []))
        named = self._instances.template_type(template.get("id", ""), template.get("version", "$Default"))
        return (named,) if named else ()

    def _authorities(self, found: "NodegroupTypeDef") -> frozenset[str]:
        """What a node with an image of its own trusts: EKS tells it to the nodes of every other image."""
        template = found.get("launchTemplate", {})
        if found.get("amiType") != "CUSTOM" or not template:
            return frozenset()
        version = template.get("version", "$Default")
        text = self._instances.template_user_data(template.get("id", ""), version)
        return _certificates(user_data.authority(text))

    def _groups(self, found: "NodegroupTypeDef") -> "Sequence[AutoScalingGroupTypeDef]":
        names = _group_names(found)
        if not names:
            return ()
        with outside("autoscaling:DescribeAutoScalingGroups", names[0]):
            return self._asg.describe_auto_scaling_groups(AutoScalingGroupNames=names)["AutoScalingGroups"]

    def _scheduled_actions(self, found: "NodegroupTypeDef") -> tuple[str, ...]:
        names = _group_names(found)
        if not names:
            return ()
        with outside("autoscaling:DescribeScheduledActions", names[0]):
            pages = self._asg.get_paginator("describe_scheduled_actions").paginate(
                AutoScalingGroupName=names[0]
            )
            actions = [one for page in pages for one in page["ScheduledUpdateGroupActions"]]
        return tuple(action.get("ScheduledActionName", "") for action in actions)


def _group_names(found: "NodegroupTypeDef") -> list[str]:
    groups = found.get("resources", {}).get("autoScalingGroups", [])
    return [group["name"] for group in groups if "name" in group]


def _certificates(data: str) -> frozenset[str]:
    """The certificates of an authority; none where it cannot be read."""
    try:
        return user_data.certificates(data)
    except ValueError:
        return frozenset()


def _names_its_key(found: "ClusterTypeDef") -> bool:
    """Whether the certificate authority has key identifiers; True where it cannot be read: connecting fails then."""
    try:
        pem = base64.b64decode(found.get("certificateAuthority", {}).get("data", "")).decode()
        return cluster_authority.names_its_key(pem)
    except (ValueError, OSError):
        return True
