"""Pools that are bought from reservations: nodes come from them alone, and a block whose end moves moves leases."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from lamplighter.domain.leases.lease import LeaseState
from local.aws.ec2.capacity.reservations import CapacityReservation
from local.cloud import Cloud
from tests.scenarios.deployed_lab import NOON, deployed_lab
from tests.scenarios.lab_day import LabDay

pytestmark = pytest.mark.long

TARGETED, BLOCK = "cr-0123456789abcdef0", "cr-0fedcba9876543210"
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
ENDS = NOON + 8 * HOUR
LAB = f"""
name: reserved
time_zone: UTC
gpu_operator: {{enabled: false}}
device_plugin: {{enabled: true}}
guard:
  budget: {{amount: "20", currency: USD, period: month}}
pools:
  gpu: {{buy: reserved, reservation: {TARGETED}}}
  block:
    {{buy: reserved, reservation: {BLOCK}, reservation_type: capacity-block, instance_type: p4d.24xlarge, max_nodes: 1}}
"""
#: The guard reads reservations every five minutes, and the planner moves the leases after it.
READ = 8 * MINUTE


def bought(cloud: Cloud) -> None:
    """What the account has before the lab is deployed."""
    zone, begins = f"{cloud.lab.region}a", NOON - HOUR
    for made in (
        CapacityReservation(TARGETED, "default", "g5.xlarge", zone, 1, begins, None),
        CapacityReservation(BLOCK, "capacity-block", "p4d.24xlarge", zone, 1, begins, ENDS),
    ):
        cloud.aws.moto_additions.reservations.add(made)


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDay]:
    with deployed_lab(tmp_path_factory, LAB, found=bought) as cloud:
        yield LabDay(cloud)


@pytest.fixture(scope="module")
def block(gpu: LabDay) -> LabDay:
    return LabDay(gpu.cloud, "block")


def used(day: LabDay, reservation: str) -> list[str]:
    return sorted(day.cloud.aws.moto_additions.reservations.used(reservation))


def test_a_targeted_pool_has_its_nodes_from_the_reservation_alone(gpu: LabDay) -> None:
    lease = gpu.open(2, "1h")
    gpu.until("one node of two is ready", lambda _: gpu.lease(lease.id).state is LeaseState.OPEN, HOUR)

    assert list(gpu.look().instances) == used(gpu, TARGETED)
    assert gpu.lease(lease.id).missing == 1
    assert gpu.command("close", "gpu", "--yes").code == 0
    gpu.until_state(lease.id, LeaseState.CLOSED)
    assert used(gpu, TARGETED) == []


def test_no_lease_passes_the_end_of_a_block_before_it_is_extended(block: LabDay) -> None:
    refused = block.command("open", "block", "1", "until", (ENDS - 44 * MINUTE).strftime("%H:%M"), "--json")
    assert refused.code == 1
    assert "choose a time within these hours" in refused.stdout

    lease = block.open(1, "1h")
    block.until_state(lease.id, LeaseState.OPEN)
    assert list(block.look().instances) == used(block, BLOCK)
    move_end(block, lease.closes + 30 * MINUTE)

    block.until(
        "it ends 45 minutes before the block", lambda _: block.lease(lease.id).closes < lease.closes, READ
    )
    assert block.lease(lease.id).closes == lease.closes - 15 * MINUTE
    assert block.ledger.pool("block").failsafe_at == lease.closes - 5 * MINUTE

    move_end(block, ENDS + 24 * HOUR)
    block.pass_until(block.now + READ)
    assert block.command("extend", "block", "30m", "--json").code == 0
    assert block.lease(lease.id).closes == lease.closes + 15 * MINUTE


def test_its_receipt_says_that_it_was_prepaid(block: LabDay) -> None:
    [lease] = [one for one in block.ledger.leases("block") if one.granted]
    assert block.command("close", "block", "--yes").code == 0
    block.until_state(lease.id, LeaseState.CLOSED)

    receipt = block.receipt(lease.id)

    assert (Decimal(receipt["cost"]["amount"]), receipt["prepaid"]) == (Decimal(0), True)
    assert receipt["proof_of_zero"]["instances"] == []


def move_end(day: LabDay, ends: datetime) -> None:
    day.cloud.aws.moto_additions.reservations.extend(BLOCK, ends)


def test_the_doctor_reads_both_reservations(gpu: LabDay) -> None:
    visit = gpu.doctor()

    assert "reservation" not in visit["not_known"], visit
