"""Starts an instance for a NodeClaim, with the rights of the cluster's role.

EKS takes the role with a session tag that names the cluster, which AmazonEKSComputePolicy compares (EKS user guide,
auto-cluster-iam-role). So a Deny on that role by the tag of a NodePool bars its launches. EKS's service-linked role
does the rest, which nobody can deny.
"""

from dataclasses import dataclass

from botocore.exceptions import ClientError
from moto.ec2.models import ec2_backends
from moto.ec2.models.instances import Instance

from local.auto_mode import requirements
from local.auto_mode.node_class import Resolved
from local.aws import iam
from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext
from local.aws.ec2 import prices
from local.aws.ec2.ec2 import end
from local.kubernetes.api import Object

EKS = iam.Service("eks.amazonaws.com")
POOL, CLASS = "eks:kubernetes-node-pool-name", "eks:kubernetes-node-class-name"
CLUSTER = "eks:eks-cluster-name"
#: karpenter-provider-aws, pkg/errors/errors.go: what counts as a shortage.
SHORTAGES = frozenset(
    {
        "InsufficientInstanceCapacity",
        "MaxSpotInstanceCountExceeded",
        "VcpuLimitExceeded",
        "UnfulfillableCapacity",
        "Unsupported",
        "InsufficientFreeAddressesInSubnet",
        "MaxFleetCountExceeded",
    }
)
UNAVAILABLE = "all requested instance types were unavailable during launch"
#: The most choices of one CreateFleet.
_MOST = 60
_IMAGE = "eks-auto-mode-{architecture}-{variant}-1.50.0"


class Refused(Exception):
    """EC2 starts nothing. `shortage` tells a lack of capacity from any other error."""

    def __init__(self, reason: str, message: str, *, shortage: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.shortage = shortage


@dataclass(frozen=True)
class Launched:
    """The instance, and what is known of it before it runs."""

    instance: str
    instance_type: str
    zone: str
    capacity_type: str
    image: str


class Launcher:
    """Launches for one cluster. `cluster` is what DescribeCluster returns."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    def launch(self, cluster: Document, pool: str, wanted: list[Object], resolved: Resolved) -> Launched:
        """Starts the cheapest fitting type in a zone of the NodeClass. Raises Refused."""
        types = requirements.types(wanted)
        zones = requirements.allowed(wanted, requirements.ZONE, [zone for zone, _ in resolved.subnets])
        subnets = [subnet for zone, subnet in resolved.subnets if zone in zones]
        capacity = requirements.capacity_types(wanted)
        if not (types and subnets and capacity):
            raise Refused("InsufficientCapacityError", UNAVAILABLE, shortage=True)
        region = self._context.region
        cheapest = sorted(types, key=lambda name: prices.on_demand(region, name))
        overrides = [{"InstanceType": name, "SubnetId": subnet} for name in cheapest for subnet in subnets][
            :_MOST
        ]
        try:
            found = self._fleet(cluster, pool, capacity[0], overrides, resolved)
        except ClientError as error:
            raise _refused(error.response["Error"]["Code"], error.response["Error"]["Message"]) from error
        if not found["Instances"]:
            raise _refused_by_fleet(found["Errors"])
        return self._taken(cluster, found["Instances"][0]["InstanceIds"][0], capacity[0])

    def end(self, instance: str) -> None:
        """Terminates as EKS's service-linked role, which is the only one that may."""
        end(self._context.account_id, self._context.region, instance)

    def _fleet(
        self, cluster: Document, pool: str, capacity: str, overrides: list[Document], resolved: Resolved
    ) -> Document:
        context, name = self._context, cluster["name"]
        tags = [
            {"Key": key, "Value": value}
            for key, value in {CLUSTER: name, POOL: pool, CLASS: resolved.name, **dict(resolved.tags)}.items()
        ]
        template = f"eks-auto-mode-{pool}-{context.clock.time():.6f}"
        data = {
            "ImageId": self._image(overrides[0]["InstanceType"]),
            "IamInstanceProfile": {"Name": resolved.profile},
            **_network(resolved),
            # Only EKS ends the instance, and EC2 hides it (local/aws/ec2/managed_instances.py).
            "Operator": {"Principal": EKS.principal},
            "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        }
        self._call(
            cluster,
            "create_launch_template",
            LaunchTemplateName=template,
            LaunchTemplateData=data,
            TagSpecifications=[{"ResourceType": "launch-template", "Tags": tags}],
        )
        named: Document = {"LaunchTemplateName": template}
        choices: Document = {
            "LaunchTemplateSpecification": {**named, "Version": "$Latest"},
            "Overrides": overrides,
        }
        try:
            return self._call(
                cluster,
                "create_fleet",
                Type="instant",
                LaunchTemplateConfigs=[choices],
                TargetCapacitySpecification={
                    "TotalTargetCapacity": 1,
                    "DefaultTargetCapacityType": capacity,
                },
                TagSpecifications=[
                    {"ResourceType": kind, "Tags": tags}
                    for kind in ("fleet", "instance", "volume", "network-interface")
                ],
            )
        finally:
            context.call("ec2", "delete_launch_template", named)

    def _call(self, cluster: Document, operation: str, **request: object) -> Document:
        """One call to EC2 as the cluster's role."""
        of_session = ((CLUSTER, str(cluster["name"])),)
        role = cluster["roleArn"]
        return self._context.call("ec2", operation, request, role=role, by=EKS, session_tags=of_session)

    def _taken(self, cluster: Document, instance: str, capacity: str) -> Launched:
        """Tags the instance as the cluster's."""
        backend = ec2_backends[self._context.account_id][self._context.region]
        known: Instance = backend.get_instance(instance)
        known.add_tags({f"kubernetes.io/cluster/{cluster['name']}": "owned"})
        return Launched(
            instance=instance,
            instance_type=known.instance_type,
            zone=str(known.availability_zone),
            capacity_type=capacity,
            image=known.image_id,
        )

    def _image(self, instance_type: str) -> str:
        """AWS chooses the image: its own, after Bottlerocket."""
        labels = requirements.labels_of(instance_type)
        architecture = "arm64" if labels[requirements.ARCHITECTURE] == "arm64" else "x86_64"
        variant = "nvidia" if f"{requirements.EKS}instance-gpu-count" in labels else "standard"
        name = _IMAGE.format(architecture=architecture, variant=variant)
        wanted = {"Filters": [{"Name": "name", "Values": [name]}]}
        found = self._context.call("ec2", "describe_images", wanted)["Images"]
        if found:
            return str(found[0]["ImageId"])
        request = {"Name": name, "Architecture": architecture, "RootDeviceName": "/dev/xvda"}
        return str(self._context.call("ec2", "register_image", request)["ImageId"])


def _network(resolved: Resolved) -> Document:
    """The security groups, on the interfaces where the NodeClass describes them."""
    groups = list(resolved.security_groups)
    if not resolved.interfaces:
        return {"SecurityGroupIds": groups}
    written = [
        {
            "DeviceIndex": one.get("deviceIndex", 0),
            "NetworkCardIndex": one.get("networkCardIndex", 0),
            "InterfaceType": one.get("interfaceType", "interface"),
            "Groups": groups,
        }
        for one in resolved.interfaces
    ]
    return {"NetworkInterfaces": written}


def _refused_by_fleet(errors: list[Document]) -> Refused:
    """The first error tells the code; a fleet of which any choice lacks the right is not authorized."""
    denied = next((one for one in errors if one["ErrorCode"] not in SHORTAGES), None)
    first = denied or errors[0]
    if denied is not None:
        return _refused(first["ErrorCode"], first["ErrorMessage"])
    said = "; ".join(dict.fromkeys(f"{one['ErrorCode']}: {one['ErrorMessage']}" for one in errors))
    return Refused("InsufficientCapacityError", f"with fleet error(s), {said}", shortage=True)


def _refused(code: str, message: str) -> Refused:
    if code in SHORTAGES:
        return Refused("InsufficientCapacityError", f"with fleet error(s), {code}: {message}", shortage=True)
    if code in ("UnauthorizedOperation", "AccessDenied"):
        return Refused("Unauthorized", f"Error creating fleet request: {message}")
    return Refused("LaunchFailed", f"creating instance, {code}: {message}")
