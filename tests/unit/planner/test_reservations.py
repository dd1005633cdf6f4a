"""The planner and a pool that is bought from a reservation: windows outside its hours, and ends that moved."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from lamplighter.application.planner.plan import PlannerServices, plan_all
from lamplighter.domain.capacity.reservation import BLOCK_ENDS_EARLY, Reservation
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import Reason
from tests.builders.leases import EIGHT, HOUR
from tests.unit.granting.test_reserved_hours import BLOCK, ID
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.planner.test_planner import EVENING, deployed

POOLS = {"gpu": {"buy": "reserved", "reservation": ID, "reservation_type": "capacity-block"}}
#: The evening window is from nine to eleven, and its lease ends in time if the block ends so late.
ENOUGH = replace(BLOCK, ends=EIGHT + 3 * HOUR + BLOCK_ENDS_EARLY)


@dataclass
class Ec2:
    """What EC2 answers; an error is raised."""

    answer: Reservation | OutsideFailed

    def read(self, _named: str) -> Reservation:
        if isinstance(self.answer, OutsideFailed):
            raise self.answer
        return self.answer


def planner(lab: LabOnMoto, answer: Reservation | OutsideFailed) -> PlannerServices:
    made = deployed(lab, EVENING, pools=POOLS)
    made.reservations = lambda: Ec2(answer)  # type: ignore[assignment, return-value]
    return made


def foreseen(lab: LabOnMoto) -> str | None:
    """The code for which the evening window is refused ahead; None if it is not."""
    lease = lab.capacity.ledger.lease("gpu", "evening-2026-11-20")
    assert lease is not None
    assert lease.state is LeaseState.PLANNED
    assert lease.refusal is None or isinstance(lease.refusal, Reason)
    return None if lease.refusal is None else lease.refusal.code


def test_at_a_deploy_it_reads_what_no_sweep_has_read_yet(lab: LabOnMoto) -> None:
    plan_all(planner(lab, ENOUGH))

    assert foreseen(lab) is None
    assert lab.capacity.ledger.reservation("gpu", ID) == ENOUGH


@pytest.mark.parametrize(("answer", "code"), [
    (replace(ENOUGH, ends=EIGHT + 3 * HOUR), "lease.outside-reservation"),
    (OutsideFailed("ec2:DescribeCapacityReservations failed"), "lease.reservation-unread"),
])  # fmt: skip
def test_a_window_outside_the_hours_is_refused_ahead_until_the_block_is_extended(
    lab: LabOnMoto, answer: Any, code: str
) -> None:
    office = planner(lab, answer)
    plan_all(office)
    assert foreseen(lab) == code

    lab.capacity.ledger.keep_reservation("gpu", ENOUGH)
    plan_all(office)

    assert foreseen(lab) is None


def test_an_end_that_moved_nearer_moves_a_running_lease_by_one_command(lab: LabOnMoto) -> None:
    lab.lease(closes=120)
    office = planner(lab, ENOUGH)
    assert plan_all(office)["started"] == []
    lab.capacity.ledger.keep_reservation("gpu", replace(ENOUGH, ends=EIGHT + 2 * HOUR))

    first, again = (plan_all(office)["started"] for _ in range(2))

    assert isinstance(first, list)
    assert [name.startswith("follow-cli-1-") for name in first] == [True]
    # AWS starts no second run of the same name.
    assert again == first
