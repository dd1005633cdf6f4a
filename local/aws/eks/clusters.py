"""EKS clusters: what CreateCluster makes on AWS, and what DescribeCluster returns.

CreateCluster makes the security group, the identity provider and the log group. The control plane runs elsewhere; this
file is told its address.
"""

import secrets
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from botocore.exceptions import ClientError

from local.aws.api.own_services import AwsError, Document
from local.aws.api.service_context import ServiceContext
from local.aws.ec2.zones import REFUSED_BY_EKS
from local.aws.eks import auto_mode
from local.aws.eks.updates import Owner, Updates
from local.aws.timers import Timers

#: Virtual seconds; on AWS these are minutes, but nothing of ours waits for them.
CREATE_SECONDS, DELETE_SECONDS, UPDATE_SECONDS = 2.0, 2.0, 5.0
#: How long after a deletion EKS's own role writes the last lines (terraform-aws-modules/terraform-aws-eks #2763) [est].
LAST_LINES_SECONDS = (60.0,)
#: A switch of Auto Mode [est].
AUTO_MODE_SECONDS = 60.0
CHANGEABLE = ("logging", "accessConfig", "upgradePolicy", "deletionProtection", "zonalShiftConfig")


@dataclass
class Cluster:
    """`document` is what DescribeCluster returns, without status, endpoint and authority."""

    name: str
    created: datetime
    document: Document
    status: str = "CREATING"
    nodegroups: set[str] = field(default_factory=set)


class Clusters:
    """Public methods with the names of boto3's operations are operations of `eks`."""

    def __init__(self, service_context: ServiceContext, timers: Timers, updates: Updates) -> None:
        self._service_context = service_context
        self._timers = timers
        self._updates = updates
        self._clusters: dict[str, Cluster] = {}
        self._endpoint = self._authority = ""
        self._lock = threading.RLock()
        #: The Kubernetes version of each node group of a cluster.
        self.node_versions: Callable[[str], dict[str, str]] = lambda _: {}
        #: The versions that a cluster may have, and the one of a cluster that names none [est].
        self.versions: tuple[str, ...] = ()
        self.default_version = "1.35"
        self.last_lines: tuple[float, ...] = LAST_LINES_SECONDS
        #: Called with each new cluster.
        self.created: list[Callable[[Cluster], None]] = []
        #: Called with the name of a deleted cluster.
        self.removed: list[Callable[[str], None]] = []
        #: Called with the name of a cluster after Auto Mode was switched on or off there.
        self.auto_mode_switched: list[Callable[[str], None]] = []

    def control_plane(self, endpoint: str, certificate_authority_base64: str) -> None:
        """The address of the control plane. Until it is set, clusters stay CREATING."""
        self._endpoint, self._authority = endpoint, certificate_authority_base64
        for cluster in list(self._clusters.values()):
            self._activate(cluster)

    def cluster(self, name: str) -> Cluster:
        """The cluster; raises EKS's error if there is none."""
        cluster = self._clusters.get(name)
        if cluster is None:
            raise AwsError(
                "ResourceNotFoundException", f"No cluster found for name: {name}.", clusterName=name
            )
        return cluster

    def create_cluster(self, request: Document) -> Document:
        name = request["name"]
        version = request.get("version") or self.default_version
        if version not in self.versions:
            raise AwsError("InvalidParameterException", f"unsupported Kubernetes version {version}")
        auto_mode.check_creation(request)
        with self._lock:
            if name in self._clusters:
                raise AwsError(
                    "ResourceInUseException", f"Cluster already exists with name: {name}", clusterName=name
                )
            cluster = Cluster(name, self._service_context.clock.now(), self._document(request, version))
            self._clusters[name] = cluster
        self._keep_logs(cluster)
        if auto_mode.switched(request):
            self._tell_of_auto_mode(cluster)
        self._timers.after(CREATE_SECONDS, lambda: self._activate(cluster))
        for listener in self.created:
            listener(cluster)
        return {"cluster": self._described(cluster)}

    def describe_cluster(self, request: Document) -> Document:
        return {"cluster": self.described(request["name"])}

    def described(self, name: str) -> Document:
        """A cluster as DescribeCluster returns it."""
        return self._described(self.cluster(name))

    def tagged(self) -> Iterator[tuple[str, dict[str, str]]]:
        """ARN and tags of each cluster."""
        for cluster in list(self._clusters.values()):
            yield cluster.document["arn"], cluster.document["tags"]

    def list_clusters(self, _: Document) -> Document:
        return {"clusters": list(self._clusters)}

    def update_cluster_config(self, request: Document) -> Document:
        cluster = self.idle(request["name"])
        if auto_mode.switched(request) is not None:
            return self._switch_auto_mode(cluster, request)
        vpc = request.get("resourcesVpcConfig") or {}
        changed = {key: request[key] for key in CHANGEABLE if key in request}
        if not vpc and not changed:
            # aws-controllers-k8s/community 3046
            raise AwsError("InvalidParameterException", "The type for cluster update was not provided.")
        cluster.document["resourcesVpcConfig"] |= vpc
        for key, value in changed.items():
            known = cluster.document.get(key)
            cluster.document[key] = {**known, **value} if isinstance(known, dict) else value
        if "logging" in changed:
            self._keep_logs(cluster)
        kind = (
            "EndpointAccessUpdate"
            if vpc
            else "LoggingUpdate"
            if "logging" in changed
            else "AccessConfigUpdate"
        )
        return self._update(cluster, kind, {})

    def _switch_auto_mode(self, cluster: Cluster, request: Document) -> Document:
        auto_mode.check_update(request, cluster.document)
        update = self._updates.start(Owner(cluster.name), "AutoModeUpdate", auto_mode.parameters(request))
        cluster.status = "UPDATING"

        def finish() -> None:
            cluster.document |= auto_mode.settings(request, cluster.document)
            cluster.status, update.status = "ACTIVE", "Successful"
            self._tell_of_auto_mode(cluster)

        self._timers.after(AUTO_MODE_SECONDS, finish)
        return {"update": update.document()}

    def _tell_of_auto_mode(self, cluster: Cluster) -> None:
        for listener in self.auto_mode_switched:
            listener(cluster.name)

    def delete_cluster(self, request: Document) -> Document:
        cluster = self.cluster(request["name"])
        if cluster.nodegroups:
            raise AwsError(
                "ResourceInUseException", "Cluster has nodegroups attached", clusterName=cluster.name
            )
        if cluster.document.get("deletionProtection"):
            raise AwsError(
                "InvalidRequestException",
                f"Cluster {cluster.name} cannot be deleted: deletion protection is enabled",
                clusterName=cluster.name,
            )
        cluster.status = "DELETING"
        self._timers.after(DELETE_SECONDS, lambda: self._remove(cluster))
        return {"cluster": self._described(cluster)}

    def idle(self, name: str) -> Cluster:
        """The cluster; raises EKS's error if there is none, or if it is being changed."""
        cluster = self.cluster(name)
        if cluster.status != "ACTIVE" or self._updates.running(Owner(name)):
            raise AwsError(
                "ResourceInUseException",
                f"Cannot UpdateClusterConfig because cluster {name} currently has an update in progress",
                clusterName=name,
            )
        return cluster

    def _update(self, cluster: Cluster, kind: str, params: dict[str, object]) -> Document:
        update = self._updates.start(Owner(cluster.name), kind, params)
        self._timers.after(UPDATE_SECONDS, lambda: setattr(update, "status", "Successful"))
        return {"update": update.document()}

    def _activate(self, cluster: Cluster) -> None:
        age = self._service_context.clock.now() - cluster.created
        if self._endpoint and cluster.status == "CREATING" and age.total_seconds() >= CREATE_SECONDS:
            cluster.status = "ACTIVE"

    def _remove(self, cluster: Cluster) -> None:
        group = cluster.document["resourcesVpcConfig"]["clusterSecurityGroupId"]
        self._clusters.pop(cluster.name, None)
        for forget in self.removed:
            forget(cluster.name)
        for seconds in self.last_lines:
            self._timers.after(seconds, lambda: self._keep_logs(cluster))
        try:
            self._service_context.call("ec2", "delete_security_group", {"GroupId": group})
        except ClientError:
            return  # a rule of another group still refers to it: AWS leaves it behind, too

    def _described(self, cluster: Cluster) -> Document:
        described = {**cluster.document, "status": cluster.status}
        if cluster.status != "CREATING":
            described |= {"endpoint": self._endpoint, "certificateAuthority": {"data": self._authority}}
        return described

    def _keep_logs(self, cluster: Cluster) -> None:
        """Makes the log group. EKS makes it when it writes and there is none, and never removes it."""
        if any(kind.get("enabled") for kind in cluster.document["logging"].get("clusterLogging", [])):
            name = f"/aws/eks/{cluster.name}/cluster"
            try:
                self._service_context.call("logs", "create_log_group", {"logGroupName": name})
            except ClientError as error:
                if error.response["Error"]["Code"] != "ResourceAlreadyExistsException":
                    raise

    def _document(self, request: Document, version: str) -> Document:
        name, vpc = request["name"], request["resourcesVpcConfig"]
        subnets = self._subnets(name, vpc.get("subnetIds", []))
        vpc_id = subnets[0]["VpcId"]
        region, issuer = self._service_context.region, secrets.token_hex(16).upper()
        access = request.get("accessConfig") or {}
        auto = auto_mode.settings(request, {}) if auto_mode.switched(request) is not None else {}
        return {
            "name": name,
            "arn": self._service_context.arn("eks", f"cluster/{name}"),
            "createdAt": self._service_context.clock.now(),
            "version": version,
            "roleArn": request["roleArn"],
            "resourcesVpcConfig": {
                "subnetIds": vpc.get("subnetIds", []),
                "securityGroupIds": vpc.get("securityGroupIds", []),
                "clusterSecurityGroupId": self._security_group(name, vpc_id),
                "vpcId": vpc_id,
                "endpointPublicAccess": vpc.get("endpointPublicAccess", True),
                "endpointPrivateAccess": vpc.get("endpointPrivateAccess", False),
                "publicAccessCidrs": vpc.get("publicAccessCidrs") or ["0.0.0.0/0"],
            },
            **auto,
            "kubernetesNetworkConfig": {
                "serviceIpv4Cidr": "10.100.0.0/16",
                "ipFamily": "ipv4",
                "elasticLoadBalancing": {"enabled": False},
                **(request.get("kubernetesNetworkConfig") or {}),
            },
            "logging": request.get("logging") or {"clusterLogging": []},
            "identity": {"oidc": {"issuer": f"https://oidc.eks.{region}.amazonaws.com/id/{issuer}"}},
            "platformVersion": "eks.9",
            "tags": request.get("tags") or {},
            "encryptionConfig": request.get("encryptionConfig") or [],
            "health": {"issues": []},
            "accessConfig": {"authenticationMode": access.get("authenticationMode", "CONFIG_MAP")},
            "upgradePolicy": request.get("upgradePolicy") or {"supportType": "EXTENDED"},
            "deletionProtection": request.get("deletionProtection", False),
        }

    def _subnets(self, cluster: str, ids: list[str]) -> list[Document]:
        try:
            found: list[Document] = self._service_context.call("ec2", "describe_subnets", {"SubnetIds": ids})[
                "Subnets"
            ]
        except ClientError as error:
            raise AwsError("InvalidParameterException", error.response["Error"]["Message"]) from error
        if len({subnet["AvailabilityZone"] for subnet in found}) < 2:  # noqa: PLR2004 (EKS's own rule)
            raise AwsError(
                "InvalidParameterException", "Subnets specified must be in at least two different AZs"
            )
        for subnet in found:
            if subnet["AvailabilityZoneId"] in REFUSED_BY_EKS:
                self._refuse_zone(cluster, subnet["AvailabilityZone"])
        return found

    def _refuse_zone(self, cluster: str, zone: str) -> None:
        zones = self._service_context.call("ec2", "describe_availability_zones", {})["AvailabilityZones"]
        valid = [each["ZoneName"] for each in zones if each["ZoneId"] not in REFUSED_BY_EKS]
        # eksctl-io/eksctl 817
        raise AwsError(
            "UnsupportedAvailabilityZoneException",
            f"Cannot create cluster '{cluster}' because {zone}, the targeted availability zone, does not"
            " currently have sufficient capacity to support the cluster. Retry and choose from these"
            f" availability zones: {', '.join(valid)}",
            clusterName=cluster,
            validZones=valid,
        )

    def _security_group(self, cluster: str, vpc: str) -> str:
        tags = {f"kubernetes.io/cluster/{cluster}": "owned", "aws:eks:cluster-name": cluster}
        request = {
            "GroupName": f"eks-cluster-sg-{cluster}-{secrets.randbelow(10**9)}",
            "Description": "EKS created security group applied to ENI that is attached to EKS Control Plane"
            " master nodes, as well as any managed workloads.",
            "VpcId": vpc,
            "TagSpecifications": [
                {
                    "ResourceType": "security-group",
                    "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
                }
            ],
        }
        group: str = self._service_context.call("ec2", "create_security_group", request)["GroupId"]
        itself = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}]
        ingress = {"GroupId": group, "IpPermissions": itself}
        self._service_context.call("ec2", "authorize_security_group_ingress", ingress)
        return group
