"""EC2's API over the world's machines, found by their tags, and the security groups."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from lamplighter.lab.model import Lab
from tests.world.aws.machines import ZONE, Machine, Machines
from tests.world.aws.security_groups import SecurityGroups
from tests.world.outside import REGION, NotInTheWorld, refused

Json = dict[str, Any]


class Ec2(SecurityGroups):
    """The instances and the security groups, with EC2's own API."""

    def __init__(self, machines: Machines, lab: Lab, now: Callable[[], datetime]) -> None:
        super().__init__(lab.name, lab.cluster.vpc.cidr, now)
        self._machines = machines
        self.ends: Callable[[Sequence[str], Callable[[], None]], None] = lambda _ids, end: end()
        """Called with the ids that are terminated, and with what ends them."""
        self.reservations: dict[str, Json] = {}
        """The account's capacity reservations, by id."""

    def describe_instances(
        self,
        *,
        Filters: list[Json],
        MaxResults: int | None = None,
        NextToken: str = "",
        IncludeManagedResources: bool = False,
    ) -> Json:
        # EC2 user guide, managed resource visibility: a list hides them unless it asks for them.
        found = [
            _document(each)
            for each in self._machines.machines.values()
            if self._listed(each) and _fits(each, Filters) and (IncludeManagedResources or not each.managed)
        ]
        first = int(NextToken or 0)
        last = len(found) if MaxResults is None else first + MaxResults
        page: Json = {"Reservations": [{"Instances": found[first:last]}]}
        return page | ({"NextToken": str(last)} if last < len(found) else {})

    def _listed(self, machine: Machine) -> bool:
        """EC2 is eventually consistent: a new instance runs before every answer has it."""
        return self._now() - machine.launched >= timedelta(seconds=machine.listed_after)

    def describe_launch_template_versions(self, *, LaunchTemplateId: str, Versions: list[str]) -> Json:
        """Each version of each template names the same type."""
        data = {"InstanceType": "g5.xlarge"}
        return {
            "LaunchTemplateVersions": [
                {"LaunchTemplateId": LaunchTemplateId, "VersionNumber": number, "LaunchTemplateData": data}
                for number, _ in enumerate(Versions, 1)
            ]
        }

    def describe_capacity_reservations(self, *, CapacityReservationIds: list[str]) -> Json:
        for name in CapacityReservationIds:
            if name not in self.reservations:
                code = "InvalidCapacityReservationId.NotFound"
                raise refused(code, f"{name} does not exist", "DescribeCapacityReservations")
        return {"CapacityReservations": [self.reservations[name] for name in CapacityReservationIds]}

    def describe_instance_type_offerings(self, *, LocationType: str, Filters: list[Json]) -> Json:
        [types] = [each["Values"] for each in Filters]
        return {
            "InstanceTypeOfferings": [
                {"InstanceType": name, "LocationType": LocationType, "Location": ZONE} for name in types
            ]
        }

    def describe_subnets(self, *, SubnetIds: list[str]) -> Json:
        return {"Subnets": [{"SubnetId": name, "AvailabilityZone": ZONE} for name in SubnetIds]}

    def describe_availability_zones(self, *, Filters: list[Json]) -> Json:
        assert Filters == [{"Name": "zone-type", "Values": ["availability-zone"]}]
        zones = enumerate("abc", 1)
        return {
            "AvailabilityZones": [
                {"ZoneName": f"{REGION}{name}", "ZoneId": f"apne2-az{at}"} for at, name in zones
            ]
        }

    def describe_tags(self, *, Filters: list[Json], MaxResults: int) -> Json:
        """EC2 has the tags of an ended instance for a while."""
        wanted = {each["Name"]: each["Values"] for each in Filters}
        found = [
            {"Key": key, "ResourceId": machine.id, "ResourceType": "instance", "Value": value}
            for machine in self._machines.machines.values()
            for key, value in machine.tags.items()
            if key in wanted["key"] and value in wanted["value"]
        ]
        assert len(found) <= MaxResults
        return {"Tags": found}

    def terminate_instances(self, *, InstanceIds: list[str]) -> Json:
        for name in InstanceIds:
            if name not in self._machines.machines:
                raise refused("InvalidInstanceID.NotFound", f"{name} does not exist", "TerminateInstances")
            if self._machines.machines[name].managed:
                # Whoever asks: https://docs.aws.amazon.com/eks/latest/userguide/automode-learn-instances.html
                raise refused("UnauthorizedOperation", f"{name} is managed by EKS", "TerminateInstances", 403)

        def end() -> None:
            for name in InstanceIds:
                self._machines.shut_down(self._machines.machines[name])

        self.ends(InstanceIds, end)
        return {}


def _fits(machine: Machine, filters: list[Json]) -> bool:
    for each in filters:
        name, values = each["Name"], each["Values"]
        if name == "instance-state-name":
            has: str | None = machine.state
        elif name == "instance-id":
            has = machine.id
        elif name.startswith("tag:"):
            has = machine.tags.get(name.removeprefix("tag:"))
        else:
            raise NotInTheWorld(f"the world does not know the filter {name}")
        if has not in values:
            return False
    return True


def _document(machine: Machine) -> Json:
    document: Json = {
        "InstanceId": machine.id,
        "InstanceType": machine.type,
        "LaunchTime": machine.launched,
        "Placement": {"AvailabilityZone": ZONE},
        "State": {"Name": machine.state},
        "PrivateDnsName": machine.private_dns,
        "Tags": [{"Key": key, "Value": value} for key, value in machine.tags.items()],
    }
    ended = machine.ended or machine.shutting_down
    if ended is not None:
        document["StateTransitionReason"] = f"User initiated ({ended:%Y-%m-%d %H:%M:%S} GMT)"
    return document
