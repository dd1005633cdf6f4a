"""What EKS refuses of a node group, before anything changes: image, versions, instance types and launch template.

The rules are from EKS's service model (botocore 1.44.5) and from the user guide (launch-templates,
update-managed-node-group). A text with an issue beside it was published; the other texts are ours [est].
"""

import re

from moto.ec2.models.instance_types import INSTANCE_TYPES

from local.aws.api.own_services import AwsError, Document
from local.fleet.boot.images import AMI_TYPES, CUSTOM, Family, image_of, minor

CAPACITY_BLOCK = "CAPACITY_BLOCK"
DEFAULT_AMI_TYPE = "AL2023_x86_64_STANDARD"
#: The newest Kubernetes for which EKS has images of Amazon Linux 2.
LAST_AL2 = 32
#: The first one for which it has images of Windows Server 2025 (EKS user guide, eks-ami-versions-windows).
FIRST_WINDOWS_2025 = 35
#: The user guide's table of settings that a launch template must not have, by their names in the API.
_PROHIBITED = {
    "IamInstanceProfile": "an IAM instance profile",
    "InstanceInitiatedShutdownBehavior": "a shutdown behavior",
    "HibernationOptions": "a hibernate behavior",
}


def check_creation(request: Document, template: Document, cluster_version: str) -> str:
    """The amiType of a new group. `template` is the data of the launch template; empty if there is none.

    Raises AwsError.
    """
    ami_type = request.get("amiType") or (CUSTOM if template.get("ImageId") else DEFAULT_AMI_TYPE)
    _check_known(ami_type)
    _check_both_places(request, template)
    _check_template(template)
    custom = bool(template.get("ImageId"))
    if custom and ami_type != CUSTOM:
        # pulumi/pulumi-eks 1463
        raise _invalid(
            "You cannot specify an AMI Type other than CUSTOM, when specifying an image id in your launch"
            " template"
        )
    if custom and request.get("version"):
        # terraform-aws-modules/terraform-aws-eks 3459
        raise _invalid(
            "You cannot specify a kubernetes version to use when specifying an image id to use within the"
            " launch template."
        )
    if custom and request.get("releaseVersion"):
        raise _invalid(
            "You cannot specify a release version to use when specifying an image id to use within the"
            " launch template."
        )
    if ami_type == CUSTOM and not custom:
        raise _invalid("You must specify an image id in your launch template when the AMI Type is CUSTOM")
    if request.get("version") not in (None, cluster_version):
        raise _invalid(
            f"Nodegroup version {request['version']} must be the version of the cluster, {cluster_version}"
        )
    check_image(ami_type, cluster_version)
    check_types(ami_type, request.get("instanceTypes") or [], template)
    market = (template.get("InstanceMarketOptions") or {}).get("MarketType")
    if request.get("capacityType") == CAPACITY_BLOCK and (
        market != "capacity-block" or not template.get("InstanceType")
    ):
        # EKS user guide, "Create a managed node group with Capacity Blocks for ML"; the text is not published.
        raise _invalid(
            "A Capacity Block needs a launch template with its instance type, market and reservation."
        )
    return ami_type


def check_update(ami_type: str, request: Document, template: Document | None, cluster_version: str) -> None:
    """Whether an update of the version is possible. `template` is the new launch template's data, None if it stays."""
    if ami_type == CUSTOM:
        for name, told in (("version", "kubernetesVersion"), ("releaseVersion", "releaseVersion")):
            if request.get(name):
                # eksctl-io/eksctl 5999
                raise _invalid(f"You cannot specify the field {told} when using custom AMIs.")
        if template is None:
            # kubernetes-sigs/cluster-api-provider-aws 4327
            raise _invalid("Launch template details can't be null for Custom ami type node group")
    if template is not None:
        _check_template(template)
        if bool(template.get("ImageId")) is not (ami_type == CUSTOM):
            raise AwsError(
                "InvalidRequestException",
                "A nodegroup cannot switch between specifying an image id in its launch template and not"
                " specifying one",
            )
        check_types(ami_type, [], template)
    version = request.get("version")
    if version is not None:
        check_image(ami_type, version)
        if minor(version) > minor(cluster_version):
            raise _invalid(
                f"Nodegroup version {version} must not be newer than the version of the cluster,"
                f" {cluster_version}"
            )


def check_release(named: str, version: str, newest: str) -> None:
    """Whether there is such a release, as 1.35.4-20260714, of a version's images until a date."""
    known = re.fullmatch(rf"{re.escape(version)}\.4-(\d{{8}})", named)
    if known is None or known[1] > newest:
        # eksctl-io/eksctl 7976
        raise _invalid(f"Requested release version {named} is not valid for kubernetes version {version}.")


def check_image(ami_type: str, version: str) -> None:
    """Whether EKS has images of this type for a version of Kubernetes."""
    if ami_type == CUSTOM:
        return
    image = image_of(ami_type)
    if image.family is Family.AL2 and minor(version) > LAST_AL2:
        # scylladb/scylla-cluster-tests 12524
        raise _invalid(f"AMI Type {ami_type} is only supported for kubernetes versions 1.32 or earlier")
    if image.windows and image.edition.endswith("2025") and minor(version) < FIRST_WINDOWS_2025:
        raise _invalid(f"AMI Type {ami_type} is only supported for kubernetes versions 1.35 or later")


def check_types(ami_type: str, given: list[str], template: Document) -> None:
    """Whether the instance types exist and have the image's architecture."""
    written = template.get("InstanceType")
    unknown = [name for name in [*given, *([written] if written else [])] if name not in INSTANCE_TYPES]
    if unknown:
        raise _invalid(f"The following supplied instance types do not exist: [{', '.join(unknown)}]")
    if ami_type == CUSTOM:
        return
    architecture = image_of(ami_type).architecture
    wrong = [name for name in given if architecture not in _architectures(name)]
    if wrong:
        # HHS/simpler-grants-gov 12404
        raise _invalid(f"[{', '.join(wrong)}] is not a valid instance type for requested amiType {ami_type}")
    if written and architecture not in _architectures(written):
        # eksctl-io/eksctl 8235
        raise AwsError(
            "InvalidRequestException",
            "You must use a valid fully-formed launch template. The architecture"
            f" '{_architectures(written)[0]}' of the specified instance type does not match the architecture"
            f" '{architecture}' of the specified AMI. Specify an instance type and an AMI that have matching"
            " architectures, and try again.",
        )


def _check_known(ami_type: str) -> None:
    if ami_type not in (*AMI_TYPES, CUSTOM):
        raise _invalid(
            f"1 validation error detected: Value '{ami_type}' at 'amiType' failed to satisfy constraint:"
            f" Member must satisfy enum value set: [{', '.join((*AMI_TYPES, CUSTOM))}]"
        )


def _check_both_places(request: Document, template: Document) -> None:
    """What belongs into the launch template or into the request, and not into both."""
    if template.get("InstanceType") and request.get("instanceTypes"):
        raise AwsError(
            "InvalidRequestException",
            "Instance types in the request and in the launch template cannot both be given",
        )
    if not request.get("launchTemplate"):
        return
    if request.get("diskSize"):
        raise AwsError("InvalidRequestException", "Disk size must be specified within the launch template.")
    if request.get("remoteAccess"):
        raise AwsError(
            "InvalidRequestException",
            "Remote access configuration cannot be specified with a launch template.",
        )


def _check_template(template: Document) -> None:
    for name, told in _PROHIBITED.items():
        if template.get(name):
            raise AwsError("InvalidRequestException", f"Launch template should not specify {told}.")
    if any(interface.get("SubnetId") for interface in template.get("NetworkInterfaces") or []):
        raise AwsError("InvalidRequestException", "Launch template should not specify subnets.")


def _architectures(instance_type: str) -> list[str]:
    found: list[str] = INSTANCE_TYPES[instance_type]["ProcessorInfo"]["SupportedArchitectures"]
    # i386 comes before x86_64 where a type has both.
    return [name for name in found if name != "i386"]


def _invalid(message: str) -> AwsError:
    return AwsError("InvalidParameterException", message)
