"""Reads the account's quotas of EC2, EBS and Lambda, and the zones that offer an instance type."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.data.instance_types import DISK_QUOTA
from lamplighter.data.lambda_concurrency import CONCURRENCY
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_service_quotas import ServiceQuotasClient


@border
class AccountQuotas:
    """The quotas of the account in the region."""

    def __init__(self, quotas: "ServiceQuotasClient | None" = None) -> None:
        self._quotas: ServiceQuotasClient = quotas or client("service-quotas")

    def vcpus(self, code: str) -> float:
        """How many vCPUs the instances under a quota may have at once."""
        return self._of("ec2", code)

    def disks(self) -> float:
        """How many TiB the gp3 volumes may have together."""
        return self._of("ebs", DISK_QUOTA)

    def concurrency(self) -> float:
        """How many functions Lambda may run at once."""
        return self._of("lambda", CONCURRENCY)

    def _of(self, service: str, code: str) -> float:
        with outside("servicequotas:GetServiceQuota", f"{service}/{code}"):
            found = self._quotas.get_service_quota(ServiceCode=service, QuotaCode=code)["Quota"].get("Value")
        if not isinstance(found, int | float):
            raise OutsideFailed(reason("doctor.quota-without-value", quota=f"{service}/{code}"))
        return found


@border
class Zones:
    """The zones of the region."""

    def __init__(self, ec2: "EC2Client | None" = None) -> None:
        self._ec2: EC2Client = ec2 or client("ec2")

    def offering(self, types: Collection[str]) -> Mapping[str, frozenset[str]]:
        """The zones that offer each instance type to this account."""
        wanted = sorted(types)
        found: dict[str, set[str]] = {name: set() for name in wanted}
        if not wanted:
            return {}
        with outside("ec2:DescribeInstanceTypeOfferings", ", ".join(wanted)):
            pages = self._ec2.get_paginator("describe_instance_type_offerings").paginate(
                LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": wanted}]
            )
            for page in pages:
                for each in page["InstanceTypeOfferings"]:
                    found.setdefault(each.get("InstanceType", ""), set()).add(each.get("Location", ""))
        return {name: frozenset(zones) for name, zones in found.items()}

    def ids(self) -> Mapping[str, str]:
        """The id of each zone that this account has, by its name."""
        with outside("ec2:DescribeAvailabilityZones", "this region"):
            found = self._ec2.describe_availability_zones(
                Filters=[{"Name": "zone-type", "Values": ["availability-zone"]}]
            )["AvailabilityZones"]
        return {each.get("ZoneName", ""): each.get("ZoneId", "") for each in found}

    def of_subnets(self, subnets: Sequence[str]) -> tuple[tuple[str, ...], int | None]:
        """The zones of these subnets, and how many addresses are free in them; None where that is not said."""
        if not subnets:
            return (), None
        with outside("ec2:DescribeSubnets", ", ".join(subnets)):
            described = self._ec2.describe_subnets(SubnetIds=list(subnets))["Subnets"]
        free = [each.get("AvailableIpAddressCount") for each in described]
        known = [count for count in free if isinstance(count, int)]
        zones = tuple(sorted({each.get("AvailabilityZone", "") for each in described}))
        return zones, sum(known) if described and len(known) == len(described) else None
