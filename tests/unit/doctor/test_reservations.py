"""The doctor's check of reservations: each thing that would make a launch fail, and what is not known."""

from dataclasses import replace
from typing import Any

import pytest

from lamplighter.domain.capacity.reservation import Reservation, ReservationType
from lamplighter.domain.doctor.checks import examine
from lamplighter.domain.doctor.facts import Facts, ReservationFacts
from lamplighter.domain.doctor.line import DoctorLine, LineOutcome, Unread
from lamplighter.lab.model import Lab
from tests.unit.doctor.cases import FACTS, NOW, lab
from tests.unit.granting.test_reserved_hours import BLOCK, ID, TARGETED

POOL: dict[str, Any] = {"buy": "reserved", "reservation": ID}
OF_BLOCK = {**POOL, "reservation_type": "capacity-block"}


def lines(found: ReservationFacts | Unread, pool: dict[str, Any] = POOL) -> list[DoctorLine]:
    facts: Facts = replace(FACTS, reservations={"gpu": found})
    the_lab: Lab = lab(pools={"gpu": pool})
    return [line for line in examine(facts, the_lab, NOW) if line.check == "reservation"]


def test_a_reservation_that_fits_is_ok_with_its_nodes_and_hours() -> None:
    [targeted] = lines(ReservationFacts(TARGETED))
    [block] = lines(ReservationFacts(BLOCK, unavailable=0), OF_BLOCK)
    [endless] = lines(ReservationFacts(replace(TARGETED, ends=None)))

    assert {one.outcome for one in (targeted, block, endless)} == {LineOutcome.OK}
    assert "2 x g5.xlarge in ap-northeast-2a" in str(targeted.said)
    assert "21:15" in str(block.said)
    assert str(endless.said).endswith(" on")


@pytest.mark.parametrize(("found", "unavailable", "said"), [
    (replace(TARGETED, type=ReservationType.BLOCK), None, "write reservation_type: capacity-block"),
    (replace(TARGETED, instance_type="g6.xlarge"), None, "write instance_type: g6.xlarge"),
    (replace(TARGETED, zone="ap-northeast-2c"), None, "choose the zone_index of ap-northeast-2c"),
    (replace(TARGETED, targeted=False), None, "make a targeted one"),
    (replace(TARGETED, state="payment-failed"), None, "is payment-failed"),
    (replace(TARGETED, count=1), None, "has 1 nodes, and pool gpu may have 2"),
    (replace(TARGETED, count=8), 1, "7 of 8 instances"),
    (None, None, "EC2 knows no reservation"),
])  # fmt: skip
def test_whatever_would_make_a_launch_fail_is_not_ok(
    found: Reservation | None, unavailable: int | None, said: str
) -> None:
    [line] = lines(ReservationFacts(found, unavailable))

    assert line.outcome is LineOutcome.NOT_OK
    assert said in str(line.said)
    assert "pools.gpu" in str(line.advice)


def test_one_that_could_not_be_read_is_not_known() -> None:
    [line] = lines(Unread("ec2:DescribeCapacityReservations failed: AccessDenied"))

    assert line.outcome is LineOutcome.NOT_KNOWN


def test_a_lab_without_reservations_has_no_such_line() -> None:
    assert "reservation" not in {line.check for line in examine(FACTS, lab(), NOW)}
