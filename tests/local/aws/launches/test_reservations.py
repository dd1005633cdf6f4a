"""Capacity reservations of the embedded EC2: what launches into them, what it refuses, and how a block ends."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import boto3
import pytest

from lamplighter.adapters.aws.capacity.reservations import Reservations
from lamplighter.application.deploy.reservation import refuse_reservation
from lamplighter.domain.capacity.launch_cause import LaunchAttempt, LaunchCause, refusals
from lamplighter.domain.capacity.reservation import Reservation, ReservationType
from lamplighter.errors import Refused
from local.aws.ec2.capacity.reservations import CapacityReservation
from tests.local.aws.eks_lab import GPU, Lab

ID, ZONE = "cr-0123456789abcdef0", "ap-northeast-2a"
HOUR = timedelta(hours=1)
Make = Callable[..., CapacityReservation]


@pytest.fixture
def lab(aws: Any, monkeypatch: pytest.MonkeyPatch) -> Lab:
    for name, value in aws.environment().items():
        monkeypatch.setenv(name, value)
    return Lab(aws)


@pytest.fixture
def make(lab: Lab) -> Make:
    """Adds a reservation of the account: on demand and active unless said otherwise."""

    def made(**more: Any) -> CapacityReservation:
        now: datetime = lab.clock.now().replace(microsecond=0)
        known: dict[str, Any] = {
            "type": "default", "instance_type": "g5.xlarge", "zone": ZONE, "count": 1, "begins": now, "ends": None,
        }  # fmt: skip
        reservation = CapacityReservation(ID, **{**known, **more})
        lab.moto_additions.reservations.add(reservation)
        return reservation

    return made


def open_from_reservation(lab: Lab, nodes: int, *, block: bool = False) -> None:
    """A node group in zone a that launches only into the reservation, with so many nodes ordered."""
    data: dict[str, Any] = {
        "InstanceType": "g5.xlarge",
        "CapacityReservationSpecification": {
            "CapacityReservationPreference": "capacity-reservations-only",
            "CapacityReservationTarget": {"CapacityReservationId": ID},
        },
    }
    if block:
        data["InstanceMarketOptions"] = {"MarketType": "capacity-block"}
    made = lab.aws.call(
        "ec2", "create_launch_template", LaunchTemplateName="reserved", LaunchTemplateData=data
    )
    lab.create(
        capacityType="CAPACITY_BLOCK" if block else "ON_DEMAND",
        launchTemplate={"id": made["LaunchTemplate"]["LaunchTemplateId"], "version": "1"},
        scalingConfig={"minSize": 0, "maxSize": 2, "desiredSize": nodes},
    )
    lab.clock.sleep(120)


def alive(lab: Lab) -> list[str]:
    described = lab.aws.call("ec2", "describe_instances")["Reservations"]
    found = [one for reservation in described for one in reservation["Instances"]]
    return [one["InstanceId"] for one in found if one["State"]["Name"] in {"pending", "running"}]


def said(lab: Lab) -> list[str]:
    """What Auto Scaling says of launches that failed."""
    [group] = lab.aws.call("autoscaling", "describe_auto_scaling_groups")["AutoScalingGroups"]
    activities = lab.aws.call(
        "autoscaling", "describe_scaling_activities", AutoScalingGroupName=group["AutoScalingGroupName"]
    )["Activities"]
    return [one["StatusMessage"] for one in activities if one["StatusCode"] == "Failed"]


def test_a_group_starts_as_many_nodes_as_its_reservation_has_left(lab: Lab, make: Make) -> None:
    reservation = make()

    open_from_reservation(lab, 2)

    assert alive(lab) == sorted(reservation.used)
    assert reservation.available == 0
    [text, *_] = said(lab)
    [refusal] = refusals([LaunchAttempt(None, "Failed", text)], [])
    assert refusal.cause is LaunchCause.NO_CAPACITY


def test_a_reservation_has_its_nodes_where_its_zone_has_none_left(lab: Lab, make: Make) -> None:
    make()
    lab.moto_additions.faults.no_capacity(ZONE)

    open_from_reservation(lab, 1)

    assert len(alive(lab)) == 1


@pytest.mark.parametrize(("more", "block", "text"), [
    ({"type": "capacity-block", "ends": None}, False, "The market type (purchasing) option is not valid"),
    ({}, True, "The market type (purchasing) option is not valid"),
    ({"zone": "ap-northeast-2c"}, False, "does not have sufficient compatible and available capacity"),
    ({"instance_type": "g6.xlarge"}, False, "does not have sufficient compatible and available capacity"),
    ({"state": "payment-failed"}, False, "does not have sufficient compatible and available capacity"),
    ({"count": 2, "unavailable": 2}, False, "does not have sufficient compatible and available capacity"),
])  # fmt: skip
def test_one_that_does_not_fit_refuses_every_launch(
    lab: Lab, make: Make, more: dict[str, Any], text: str, *, block: bool
) -> None:
    make(**more)

    open_from_reservation(lab, 1, block=block)

    assert alive(lab) == []
    assert text in said(lab)[0]


def test_a_block_s_nodes_go_by_eks_40_minutes_before_its_end_and_a_node_left_over_by_ec2_at_30(
    lab: Lab, make: Make
) -> None:
    ends = lab.clock.now().replace(microsecond=0) + 2 * HOUR
    make(type="capacity-block", ends=ends)
    open_from_reservation(lab, 1, block=True)
    assert len(alive(lab)) == 1

    lab.clock.sleep((ends - timedelta(minutes=41) - lab.clock.now()).total_seconds())
    assert len(alive(lab)) == 1
    lab.clock.sleep(120)

    assert lab.aws.call("eks", "describe_nodegroup", **GPU)["nodegroup"]["scalingConfig"]["desiredSize"] == 0
    lab.clock.sleep((ends - timedelta(minutes=29) - lab.clock.now()).total_seconds())
    assert alive(lab) == []


def test_an_extension_moves_the_end_and_what_happens_before_it(lab: Lab, make: Make) -> None:
    ends = lab.clock.now().replace(microsecond=0) + HOUR
    make(type="capacity-block", ends=ends)
    open_from_reservation(lab, 1, block=True)

    lab.moto_additions.reservations.extend(ID, ends + 24 * HOUR)
    lab.clock.sleep(2 * HOUR.total_seconds())

    assert len(alive(lab)) == 1


def test_the_adapter_reads_what_ec2_has_and_that_it_has_nothing(lab: Lab, make: Make) -> None:
    block = make(
        type="capacity-block", ends=lab.clock.now().replace(microsecond=0) + HOUR, count=8, unavailable=1
    )
    reservations = Reservations(boto3.client("ec2"))

    assert reservations.read(ID) == Reservation(
        ID, ReservationType.BLOCK, "active", "g5.xlarge", ZONE, 8, True, block.begins, block.ends
    )
    assert reservations.unavailable(ID) == 1
    assert reservations.read("cr-89abcdef") is None


def test_one_for_a_date_is_scheduled_until_it_begins_and_expired_after_its_end(lab: Lab, make: Make) -> None:
    now = lab.clock.now().replace(microsecond=0)
    make(begins=now + HOUR, ends=now + 2 * HOUR)
    reservations, states = Reservations(boto3.client("ec2")), []

    for _ in range(3):
        found = reservations.read(ID)
        assert found is not None
        states.append(found.state)
        lab.clock.sleep(HOUR.total_seconds() + 1)

    assert states == ["scheduled", "active", "expired"]


PROPERTIES = {
    "Pool": "gpu",
    "Reservation": ID,
    "ReservationType": "on-demand",
    "InstanceType": "g5.xlarge",
    "Zone": ZONE,
}


def test_a_deploy_goes_on_with_a_reservation_that_fits_or_is_over_by_now(lab: Lab, make: Make) -> None:
    make()

    refuse_reservation(PROPERTIES)
    refuse_reservation({**PROPERTIES, "Reservation": "cr-89abcdef"})


@pytest.mark.parametrize(("key", "value", "said"), [
    ("ReservationType", "capacity-block", "write reservation_type: on-demand"),
    ("Zone", "ap-northeast-2c", f"choose the zone_index of {ZONE}"),
    ("InstanceType", "g6.xlarge", "write instance_type: g5.xlarge"),
])  # fmt: skip
def test_a_deploy_is_refused_with_one_that_does_not_fit(
    lab: Lab, make: Make, key: str, value: str, said: str
) -> None:
    make()

    with pytest.raises(Refused, match=said):
        refuse_reservation({**PROPERTIES, key: value})
