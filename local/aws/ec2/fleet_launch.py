"""One instance of a fleet: a launch template with one override on top, as EC2 merges them.

moto takes over less of the template. Whether the launch may happen is for fleets.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from moto.core.types import Base64EncodedString
from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance
from moto.ec2.models.launch_templates import LaunchTemplateVersion
from moto.iam.exceptions import NotFoundException
from moto.iam.models import iam_backends

from local.aws.api.own_services import Document
from local.aws.authorization.launches import tags_by_kind
from local.aws.ec2 import spot_requests
from local.aws.ec2.interfaces import described, groups
from local.aws.ec2.launch_refusal import LaunchRefusal
from local.aws.ec2.managed_instances import LAUNCHED, take

Tags = dict[str, str]


@dataclass(frozen=True)
class Choice:
    """One type in one subnet. `named` is the launch template as the request names it."""

    template: LaunchTemplateVersion
    named: Document
    override: Document
    spot: bool

    @property
    def merged(self) -> Document:
        return {**self.template.data, **self.override}

    @property
    def instance_type(self) -> str:
        return str(self.merged["InstanceType"])

    @property
    def subnet(self) -> str:
        """The subnet; of the first network interface where the override has none."""
        first = next(iter(self.merged.get("NetworkInterfaces") or [{}]))
        return str(self.merged.get("SubnetId") or first.get("SubnetId") or "")

    @property
    def profile(self) -> Document:
        """The instance profile, by name or ARN; empty without one."""
        return self.merged.get("IamInstanceProfile") or {}

    def tags(self, asked: Mapping[str, Tags]) -> dict[str, Tags]:
        """The tags of each kind of resource: those of the request over those of the template."""
        tags = tags_by_kind(self.template.data.get("TagSpecifications"))
        return {kind: tags.get(kind, {}) | asked.get(kind, {}) for kind in {*tags, *asked}}

    def document(self) -> Document:
        """`LaunchTemplateAndOverrides` of a fleet's answer. EC2 tells the id, and the number of the version."""
        template = self.template.template
        named = {"LaunchTemplateId": template.id, "Version": str(self.template.number)}
        zone = {"AvailabilityZone": template.ec2_backend.get_subnet(self.subnet).availability_zone}
        return {"LaunchTemplateSpecification": named, "Overrides": {**zone, **self.override}}


def profile_missing(backend: EC2Backend, choice: Choice) -> LaunchRefusal | None:
    """The refusal of an instance profile that IAM does not have."""
    iam = iam_backends[backend.account_id]["aws"]
    name, arn = choice.profile.get("Name"), choice.profile.get("Arn")
    try:
        if name:
            iam.get_instance_profile(name)
        elif arn:
            iam.get_instance_profile_by_arn(arn)
    except NotFoundException:
        field = "name" if name else "arn"
        # aws/karpenter-provider-aws: pkg/errors/errors.go reads this text.
        said = f"Value ({name or arn}) for parameter iamInstanceProfile.{field} is invalid. Invalid IAM"
        return LaunchRefusal("InvalidParameterValue", f"{said} Instance Profile {field}")
    return None


def launch(backend: EC2Backend, choice: Choice, fleet: str, asked: Mapping[str, Tags]) -> Instance:
    """Starts the instance."""
    merged, tags = choice.merged, choice.tags(asked)
    operator = (merged.get("Operator") or {}).get("Principal")
    managed = {LAUNCHED: "true"} if operator else {}
    reservation = backend.run_instances(
        merged["ImageId"],
        1,
        _user_data(merged),
        [],
        instance_type=choice.instance_type,
        is_instance_type_default=False,
        region_name=backend.region_name,
        subnet_id=choice.subnet,
        key_name=merged.get("KeyName"),
        security_group_ids=groups(merged),
        nics=described(merged),
        associate_public_ip=None,
        ebs_optimized=bool(merged.get("EbsOptimized")),
        monitoring_state="enabled" if (merged.get("Monitoring") or {}).get("Enabled") else "disabled",
        metadata_options=merged.get("MetadataOptions") or {},
        block_device_mappings=_disks(merged),
        instance_market_options={},
        tags={"instance": tags.get("instance", {}) | managed, "volume": tags.get("volume", {})},
    )
    [instance] = reservation.instances
    if operator:
        take(instance, operator)
    template = choice.template.template
    instance.add_tags(
        {
            "aws:ec2:fleet-id": fleet,
            "aws:ec2launchtemplate:id": template.id,
            "aws:ec2launchtemplate:version": str(choice.template.number),
        }
    )
    _complete(backend, instance, choice, tags.get("network-interface", {}))
    return instance


def _complete(backend: EC2Backend, instance: Instance, choice: Choice, tags: Tags) -> None:
    profile = choice.profile
    if profile:
        backend.associate_iam_instance_profile(
            instance_id=instance.id,
            iam_instance_profile_name=profile.get("Name"),
            iam_instance_profile_arn=profile.get("Arn"),
        )
    if choice.spot:
        spot_requests.bought(instance)
    zone_id = backend.get_subnet(choice.subnet).availability_zone_id
    vars(instance.placement)["availability_zone_id"] = zone_id
    for interface in instance.nics.values():
        interface.add_tags(tags)


def _disks(merged: Document) -> list[Document]:
    return [each for each in merged.get("BlockDeviceMappings") or [] if "Ebs" in each]


def _user_data(merged: Document) -> Base64EncodedString | None:
    found = merged.get("UserData")
    return found if isinstance(found, Base64EncodedString) else None
