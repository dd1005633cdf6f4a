"""A pool of two instance types and two zones while EC2 runs short: what stands in, what it costs, that it stays."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import pytest

from lamplighter.data import prices
from lamplighter.domain.leases.lease import LeaseState
from tests.scenarios.deployed_lab import NOON, deployed_lab
from tests.scenarios.lab_day import LabDay

LAB = """
name: scarce
time_zone: UTC
gpu_operator: {enabled: false}
device_plugin: {enabled: true}
pools:
  gpu: {instance_types: [g6.xlarge, g5.xlarge], zones: [0, 2], max_nodes: 2}
"""
FIRST, SECOND = "g6.xlarge", "g5.xlarge"
A, B = "ap-northeast-2a", "ap-northeast-2c"
HOURS = 2


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDay]:
    with deployed_lab(tmp_path_factory, LAB) as cloud:
        yield LabDay(cloud)


def price(day: LabDay, kind: str) -> Decimal:
    found = prices.on_demand(day.lab.region, kind)
    assert found is not None
    return found


def machines(day: LabDay) -> list[tuple[str, str, str]]:
    """Id, type and zone of the pool's running instances."""
    asked = [
        {"Name": "tag:eks:nodegroup-name", "Values": [day.pool.nodegroup]},
        {"Name": "instance-state-name", "Values": ["running"]},
    ]
    found = day.api("ec2").describe_instances(Filters=asked)["Reservations"]
    every = [instance for reservation in found for instance in reservation["Instances"]]
    return [(one["InstanceId"], one["InstanceType"], one["Placement"]["AvailabilityZone"]) for one in every]


def test_the_second_type_comes_where_the_first_is_short_and_is_paid_at_its_own_price(day: LabDay) -> None:
    # given that EC2 has one node of the first type
    with day.faults() as faults:
        faults.few(FIRST, 1)
        lease = day.open(2, f"{HOURS}h")
        day.until_state(lease.id, LeaseState.OPEN)

        # then one node of each runs, and the hold is that of the dearest
        assert {kind for _, kind, _ in machines(day)} == {FIRST, SECOND}
        dearest = max(price(day, FIRST), price(day, SECOND))
        assert lease.hold.amount == 2 * HOURS * dearest
        proofs = day.command("status", "--gpus", "--json").document["pools"][0]
        assert {node["verdict"] for node in proofs["nodes"]} == {"passed"}
        assert day.command("close", "gpu", "--yes").code == 0
        day.until_quiet()

    # and the receipt has each at its own price
    receipt = day.receipt(lease.id)
    paid = Decimal(receipt["cost"]["amount"]) * 3600 / receipt["node_seconds"]
    assert min(price(day, FIRST), price(day, SECOND)) < paid < dearest
    middle = (price(day, FIRST) + price(day, SECOND)) / 2
    assert abs(paid - middle) < middle / 20, "both ran about as long"


def test_the_other_zone_serves_and_its_nodes_stay_when_the_first_has_capacity_again(day: LabDay) -> None:
    # given that EC2 has nothing in the first zone
    begun = day.now
    with day.faults() as faults:
        faults.no_capacity(A)
        lease = day.open(2, f"{HOURS}h")
        day.until_state(lease.id, LeaseState.OPEN)
        served = machines(day)
        assert [(kind, zone) for _, kind, zone in served] == [(FIRST, B)] * 2

    # when it has some again, then no node moves there
    day.pass_until(lease.opens + timedelta(minutes=45))
    assert machines(day) == served
    assert day.command("close", "gpu", "--yes").code == 0
    day.until_quiet()
    receipt = day.receipt(lease.id)
    paid = Decimal(receipt["cost"]["amount"]) * 3600 / receipt["node_seconds"]
    assert abs(paid - price(day, FIRST)) < price(day, FIRST) / 1000
    assert {law: verdict.held for law, verdict in day.verdicts(begun, 5, 7).items()} == {5: True, 7: True}


def test_no_capacity_of_any_type_in_any_zone_is_named(day: LabDay) -> None:
    begun = day.now
    with day.faults() as faults:
        faults.no_capacity(FIRST)
        faults.no_capacity(SECOND)
        lease = day.open(1, "1h")
        day.until("it is said", lambda _: bool(day.entries(begun, "degraded")), timedelta(minutes=10))
        (said, *_) = day.entries(begun, "degraded")
        assert "capacity" in str(said.why)
    day.until_state(lease.id, LeaseState.OPEN)
    assert [kind for _, kind, _ in machines(day)] == [FIRST]
    assert day.command("close", "gpu", "--yes").code == 0
    day.until_quiet()
    assert day.entries(NOON, "breach") == []
