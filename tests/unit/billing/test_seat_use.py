"""Seats of a window: the most that pods held at once, their GPU-hours, and what the receipt has of them."""

from typing import Any

import pytest

from lamplighter.domain.billing.seat_use import Seats, SeatUse
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.billing.test_charges import started
from tests.unit.guard.test_gathering import facts
from tests.unit.guard.test_kubernetes_reads import work
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.leases.steps import closed

WINDOW = {"name": "class", "seats": 4, "dates": ["2026-11-20"], "start": "20:00", "end": "22:00"}
CLASS = Lab.model_validate({"name": "lab", "time_zone": "UTC", "gpu": {"share": 4}, "windows": [WINDOW]})


def use(*readings: tuple[float, int]) -> SeatUse:
    """After these readings: minutes, and how many seats of four on one GPU were held."""
    found = SeatUse()
    for minutes, held in readings:
        found = found.with_reading(held, held / 4, EIGHT + minutes * MINUTE)
    return found


def test_a_reading_counts_the_time_before_it_and_the_most_at_once() -> None:
    assert use((0, 2)) == SeatUse(EIGHT, 2, 0)
    assert use((0, 2), (5, 3), (10, 1)) == SeatUse(EIGHT + 10 * MINUTE, 3, 300)
    # A sweep that runs again, or late, counts nothing again; and no reading stands for more than six minutes.
    assert use((0, 2), (5, 4), (5, 4), (3, 4)) == use((0, 2), (5, 4))
    assert use((0, 4), (60, 4)).seconds == 360


def test_no_more_hours_are_used_than_paid_and_what_nobody_read_is_not_known() -> None:
    assert SeatUse(EIGHT, 3, 1800).of(4, 3600) == Seats(4, 3, 1.0, 0.5)
    assert SeatUse(EIGHT, 3, 7200).of(4, 3600) == Seats(4, 3, 1.0, 1.0)
    assert SeatUse().of(4, 3600) == Seats(4, None, 1.0, None)


@pytest.mark.parametrize(("read", "used", "hours"), [(True, 3, 0.25), (False, None, None)])
def test_the_receipt_of_a_window_with_seats_has_them(
    lab: LabOnMoto, used: int | None, hours: float | None, *, read: bool
) -> None:
    lab.capacity.lab = CLASS
    lab.lease(nodes=1, source="window", window="class")
    started(lab, 1, 0)
    lab.scale(1)
    lab.cluster.add_node("i-1")
    lab.cluster.nodes[0]["status"] = {"allocatable": {"nvidia.com/gpu": "4"}}
    for _ in range(3):
        work(lab, "nvidia.com/gpu")
    for minutes in (0, 5, 10, 15, 20) if read else ():
        lab.at(minutes)
        facts(lab)

    assert receipt(lab)["seats"] == {"asked": 4, "used": used, "gpu_hours_paid": 0.5, "gpu_hours_used": hours}


def test_a_window_without_seats_has_none(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, source="window", window="evening")
    started(lab, 1, 0)
    facts(lab)

    assert "seats" not in receipt(lab)


def receipt(lab: LabOnMoto) -> dict[str, Any]:
    lab.at(30)
    return closed(lab, lab.command("close"))
