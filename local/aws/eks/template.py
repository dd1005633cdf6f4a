"""The launch template that EKS derives from a node group's: image by AMI type, tags, its part of the user data."""

import base64
import threading

from local.aws.api.own_services import AwsError, Document
from local.aws.api.service_context import ServiceContext
from local.aws.eks.booting import start_of, text_of
from local.aws.eks.nodegroup import Nodegroup
from local.aws.eks.start_data import merged
from local.fleet.boot.images import CUSTOM, image_of

DEFAULT_INSTANCE_TYPE = "t3.medium"


class DerivedTemplates:
    """Creates and updates them. An image is registered for each AMI type when it is first needed."""

    def __init__(self, service_context: ServiceContext) -> None:
        self._service_context = service_context
        self._images: dict[tuple[str, str, str], str] = {}
        self._lock = threading.Lock()

    def create(self, nodegroup: Nodegroup, cluster: Document) -> None:
        """`cluster` is what DescribeCluster returns."""
        data = self._data(nodegroup, cluster)
        reply = self._service_context.call(
            "ec2",
            "create_launch_template",
            {"LaunchTemplateName": f"eks-{nodegroup.uuid}", "LaunchTemplateData": data},
        )
        nodegroup.derived_template = reply["LaunchTemplate"]["LaunchTemplateId"]

    def renew(self, nodegroup: Nodegroup, cluster: Document) -> str:
        """A new version after the user's template or the release changed."""
        reply = self._service_context.call(
            "ec2",
            "create_launch_template_version",
            {
                "LaunchTemplateId": nodegroup.derived_template,
                "LaunchTemplateData": self._data(nodegroup, cluster),
            },
        )
        return str(reply["LaunchTemplateVersion"]["VersionNumber"])

    def delete(self, nodegroup: Nodegroup) -> None:
        template = {"LaunchTemplateId": nodegroup.derived_template}
        self._service_context.call("ec2", "delete_launch_template", template)

    def data_of(self, template: Document) -> Document:
        """The data of the user's launch template."""
        key = "LaunchTemplateId" if template.get("id") else "LaunchTemplateName"
        named = template.get("id") or template["name"]
        version = str(template.get("version") or "$Default")
        reply = self._service_context.call(
            "ec2", "describe_launch_template_versions", {key: named, "Versions": [version]}
        )
        found = reply["LaunchTemplateVersions"]
        if not found:
            raise AwsError("InvalidParameterException", f"Launch template {named} has no version {version}")
        data: Document = found[0]["LaunchTemplateData"]
        return data

    def _data(self, nodegroup: Nodegroup, cluster: Document) -> Document:
        given = self.data_of(nodegroup.launch_template) if nodegroup.launch_template else {}
        data = dict(given)
        data.setdefault("InstanceType", (nodegroup.instance_types or [DEFAULT_INSTANCE_TYPE])[0])
        if nodegroup.ami_type != CUSTOM:
            data["ImageId"] = self._image(nodegroup.ami_type, nodegroup.version, nodegroup.released)
            start = start_of(nodegroup, data["ImageId"], data["InstanceType"], cluster)
            text = merged(image_of(nodegroup.ami_type).family, start, text_of(given))
            data["UserData"] = base64.b64encode(text.encode()).decode()
        if not data.get("SecurityGroupIds") and not data.get("NetworkInterfaces"):
            data["SecurityGroupIds"] = [cluster["resourcesVpcConfig"]["clusterSecurityGroupId"]]
        tags = {"eks:cluster-name": nodegroup.cluster, "eks:nodegroup-name": nodegroup.name}
        own = [{"Key": key, "Value": value} for key, value in tags.items()]
        specifications = [dict(spec) for spec in given.get("TagSpecifications") or []]
        for kind in ("instance", "volume"):
            spec = next((known for known in specifications if known["ResourceType"] == kind), None)
            if spec is None:
                specifications.append({"ResourceType": kind, "Tags": own})
            else:
                spec["Tags"] = [*spec.get("Tags", []), *own]
        return {**data, "TagSpecifications": specifications}

    def _image(self, ami_type: str, version: str, released: str) -> str:
        """An image, named as Amazon names them, such as amazon-eks-node-al2023-x86_64-nvidia-1.35-v20260714."""
        flavour = ami_type.lower().replace("x86_64", "x86@64").replace("_", "-").replace("@", "_")
        with self._lock:
            known = self._images.get((ami_type, version, released))
            if known is None:
                reply = self._service_context.call(
                    "ec2",
                    "register_image",
                    {
                        "Name": f"amazon-eks-node-{flavour}-{version}-v{released}",
                        "Architecture": "arm64" if "ARM_64" in ami_type else "x86_64",
                        "RootDeviceName": "/dev/xvda",
                        "VirtualizationType": "hvm",
                    },
                )
                known = self._images[ami_type, version, released] = str(reply["ImageId"])
        return known
