"""Availability zones of an account: which letters it has, and which zones they are.

In regions that opened before November 2012, AWS deals the letters to each account apart (EC2 user guide, availability
zone IDs). moto has one deal for all accounts, and lets a subnet be in any zone of any region.
"""

from collections.abc import Mapping
from typing import Any

from moto.ec2.exceptions import InvalidAvailabilityZoneError
from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend, Zone
from moto.ec2.models.subnets import SubnetBackend

#: EKS puts no control plane there (EKS user guide, network requirements).
REFUSED_BY_EKS = frozenset({"use1-az3", "usw1-az2", "cac1-az3"})
_MOTO = dict(RegionsAndZonesBackend.zones)
_create_subnet = SubnetBackend.create_subnet


def install() -> None:
    """Puts the rules into moto, with moto's own letters. It may be called again."""
    RegionsAndZonesBackend.zones = dict(_MOTO)
    SubnetBackend.create_subnet = _created  # type: ignore[method-assign,assignment]


def deal(region: str, ids: Mapping[str, str]) -> None:
    """The zones of the account in a region from now on: ids by letter."""
    dealt = [Zone(region_name=region, name=f"{region}{letter}", zone_id=zone) for letter, zone in ids.items()]
    RegionsAndZonesBackend.zones[region] = dealt


def _created(
    backend: Any,
    vpc_id: str,
    cidr_block: str,
    ipv6_cidr_block: str | None = None,
    availability_zone: str | None = None,
    *more: Any,
    **options: Any,
) -> Any:
    here = [zone.name for zone in backend.describe_availability_zones()]
    if availability_zone and availability_zone not in here:
        raise InvalidAvailabilityZoneError(availability_zone, ", ".join(here))
    return _create_subnet(backend, vpc_id, cidr_block, ipv6_cidr_block, availability_zone, *more, **options)
