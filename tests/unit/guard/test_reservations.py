"""The guard reads reservations at every sweep: the ledger keeps them, and a change wakes the planner."""

from contextlib import suppress
from dataclasses import dataclass, field, replace

import pytest

from lamplighter.application.guard.services import GuardServices
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.capacity.reservation import GONE, Reservation
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from tests.builders.leases import HOUR
from tests.unit.granting.test_reserved_hours import BLOCK, ID
from tests.unit.lab_on_moto import LabOnMoto

RESERVED = {"buy": "reserved", "reservation": ID, "reservation_type": "capacity-block"}


@dataclass
class Ec2:
    """What EC2 answers; an error is raised."""

    answer: Reservation | OutsideFailed | None = BLOCK
    asked: list[str] = field(default_factory=list)

    def read(self, named: str) -> Reservation | None:
        self.asked.append(named)
        if isinstance(self.answer, OutsideFailed):
            raise self.answer
        return self.answer


@pytest.fixture
def ec2() -> Ec2:
    return Ec2()


@pytest.fixture
def woken() -> list[str]:
    return []


@pytest.fixture
def guard(lab: LabOnMoto, ec2: Ec2, woken: list[str]) -> GuardServices:
    lab.capacity.lab = Lab.model_validate({"name": "lab", "pools": {"gpu": RESERVED}})
    return replace(
        lab.guard_services,
        reservations=lambda: ec2,  # type: ignore[arg-type, return-value]
        wake_planner=lambda: woken.append("planner"),
    )


def sweep(guard: GuardServices) -> None:
    with suppress(OutsideFailed):
        sweep_all(guard)


def test_what_is_read_first_is_kept_and_told_and_the_planner_plans_by_it(
    lab: LabOnMoto, guard: GuardServices, woken: list[str]
) -> None:
    sweep(guard)

    assert lab.capacity.ledger.reservation("gpu", ID) == BLOCK
    assert woken == ["planner"]
    [entry] = [one for one in lab.capacity.ledger.audit("gpu", lab.at(0)) if one.kind == "reservation"]
    assert str(entry.what) == f"read that reservation {ID} of pool gpu is active"
    hours = guard.lease_services.terms("gpu").hours
    assert hours is not None
    assert hours.closes == BLOCK.closes


def test_a_sweep_that_finds_it_as_it_was_writes_nothing(
    guard: GuardServices, ec2: Ec2, woken: list[str]
) -> None:
    sweep(guard)
    sweep(guard)

    assert (ec2.asked, woken) == ([ID, ID], ["planner"])


def test_an_end_that_moved_is_kept_and_wakes_the_planner_again(
    lab: LabOnMoto, guard: GuardServices, ec2: Ec2, woken: list[str]
) -> None:
    sweep(guard)
    assert BLOCK.ends is not None
    ec2.answer = replace(BLOCK, ends=BLOCK.ends + HOUR)

    sweep(guard)

    assert lab.capacity.ledger.reservation("gpu", ID) == ec2.answer
    assert woken == ["planner"] * 2


def test_without_an_answer_the_last_values_stay_and_the_sweep_says_so(
    lab: LabOnMoto, guard: GuardServices, ec2: Ec2, woken: list[str]
) -> None:
    sweep(guard)
    ec2.answer = OutsideFailed("ec2:DescribeCapacityReservations failed")

    sweep(guard)

    assert lab.capacity.ledger.reservation("gpu", ID) == BLOCK
    assert woken == ["planner"]
    assert [line.partition(":")[0] for line in guard.unread] == ["pool gpu, reservation"]


def test_one_that_ec2_no_longer_knows_is_gone_and_one_that_it_never_knew_is_unread(
    lab: LabOnMoto, guard: GuardServices, ec2: Ec2
) -> None:
    ec2.answer = None
    sweep(guard)
    assert lab.capacity.ledger.reservation("gpu", ID) is None
    ec2.answer = BLOCK
    sweep(guard)
    ec2.answer = None

    sweep(guard)

    assert lab.capacity.ledger.reservation("gpu", ID) == replace(BLOCK, state=GONE)


def test_another_reservation_of_the_pool_is_another_one(lab: LabOnMoto, guard: GuardServices) -> None:
    sweep(guard)

    assert lab.capacity.ledger.reservation("gpu", "cr-89abcdef") is None


def test_a_pool_that_is_bought_otherwise_asks_nothing(lab: LabOnMoto, guard: GuardServices, ec2: Ec2) -> None:
    lab.capacity.lab = Lab(name="lab")

    sweep(guard)

    assert ec2.asked == []
