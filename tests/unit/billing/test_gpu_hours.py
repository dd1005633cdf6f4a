"""Hours used beside hours paid: what the readings of the exporters add up to, and what stays not known."""

from typing import Any

import pytest

from lamplighter.domain.billing.gpu_hours import GpuHours, GpuUse, part
from lamplighter.domain.gpu.gpu_use import NodeReading
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT, MINUTE, lease
from tests.unit.billing.test_charges import started
from tests.unit.guard.test_gathering import facts
from tests.unit.guard.test_gpu_use import BUSY, IDLE, by_gpu, serve
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.leases.steps import closed

__all__ = ["by_gpu"]

HALF: list[NodeReading] = [(1, {"a": True}), (1, {"b": False}), (1, None)]


def use(*minutes: float, readings: list[NodeReading] = HALF, share: float = 1) -> GpuUse:
    found = GpuUse()
    for at in minutes:
        found = found.with_reading(readings, share, EIGHT + at * MINUTE)
    return found


def test_a_reading_stands_for_the_time_since_the_one_before() -> None:
    assert (use(3), use(3).busy) == (GpuUse(EIGHT + 3 * MINUTE), 0)
    assert use(0, 5, 10) == GpuUse(EIGHT + 10 * MINUTE, busy=600, idle=600)
    assert use(0, 5, share=0.5) == GpuUse(EIGHT + 5 * MINUTE, busy=150, idle=150)


def test_time_that_no_reading_stands_for_is_not_counted() -> None:
    assert use(0, 30) == GpuUse(EIGHT + 30 * MINUTE, busy=360, idle=360)
    assert use(0, 5, 5, 2) == use(0, 5)


def test_the_parts_add_up_to_what_was_paid() -> None:
    assert GpuUse(EIGHT, busy=3000, idle=4500).hours(10_000) == GpuHours(2.78, 0.83, 1.25, 0.7)
    assert GpuUse(EIGHT, busy=3000, idle=4500).hours(6000) == GpuHours(1.67, 0.83, 0.84, 0)
    assert GpuUse(EIGHT, busy=3000, idle=4500).hours(0) == GpuHours()
    assert GpuUse().hours(3600) == GpuHours(1, 0, 0, 1)


def test_leases_share_the_nodes_by_their_numbers_and_others_have_the_rest() -> None:
    one, three = lease("one", nodes=1), lease("three", nodes=3)
    assert [part(each, (one, three), 4) for each in (one, three)] == [0.25, 0.75]
    assert part(one, (one,), 2) == 0.5
    # As money does, the nodes that are there go to the earlier opening first.
    later = lease("later", opens=30, nodes=2)
    assert [part(each, (later, one), 1) for each in (one, later)] == [1, 0]
    assert [part(each, (later, one), 2) for each in (one, later)] == [0.5, 0.5]
    assert part(three, (three,), 1) == 1


def kept_use(lab: LabOnMoto) -> GpuUse:
    found: GpuUse = lab.capacity.ledger.gpu_use("gpu", "cli-1")
    return found


def test_a_sweep_that_runs_again_counts_nothing_again(
    by_gpu: LabOnMoto, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(by_gpu, IDLE, monkeypatch)
    facts(by_gpu)
    by_gpu.at(5)
    serve(by_gpu, BUSY.replace('UUID="GPU-a"', 'UUID="GPU-b"'), monkeypatch)
    facts(by_gpu)
    facts(by_gpu)
    once = GpuUse(EIGHT + 5 * MINUTE, busy=300)
    assert kept_use(by_gpu) == once

    # A sweep that read the ledger before that one wrote.
    stale = GpuUse(EIGHT)
    by_gpu.capacity.ledger.note_gpu_use(by_gpu.kept("cli-1"), GpuUse(EIGHT + 6 * MINUTE, idle=360), stale)
    by_gpu.capacity.ledger.note_gpu_use(by_gpu.kept("cli-1"), GpuUse(EIGHT + 6 * MINUTE), GpuUse())
    assert kept_use(by_gpu) == once


def test_a_lease_without_an_idle_limit_is_read_as_well(
    by_gpu: LabOnMoto, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = {"idle_by": "gpu", "idle_after": "off"}
    by_gpu.capacity.lab = Lab.model_validate({"name": "lab", "guard": guard})
    serve(by_gpu, IDLE, monkeypatch)
    assert facts(by_gpu).idle_since is None
    by_gpu.at(5)
    facts(by_gpu)
    assert kept_use(by_gpu).idle == 300


@pytest.mark.parametrize(("answer", "used"), [
    (IDLE, {"gpu_hours_paid": 0.5, "gpu_hours_used": 0.0, "gpu_hours_idle": 0.25, "gpu_hours_not_known": 0.25}),
    ("", {"gpu_hours_paid": 0.5, "gpu_hours_used": 0.0, "gpu_hours_idle": 0.0, "gpu_hours_not_known": 0.5}),
])  # fmt: skip
def test_the_receipt_has_hours_used_beside_hours_paid(
    by_gpu: LabOnMoto, monkeypatch: pytest.MonkeyPatch, answer: str, used: dict[str, float]
) -> None:
    serve(by_gpu, answer, monkeypatch)
    started(by_gpu, 1, 0)
    for minutes in range(0, 20, 5):
        by_gpu.at(minutes)
        facts(by_gpu)
    assert receipt(by_gpu)["gpu_use"] == used


def test_where_pods_are_counted_the_receipt_says_nothing_of_use(by_gpu: LabOnMoto) -> None:
    by_gpu.capacity.lab = Lab.model_validate({"name": "lab"})
    assert "gpu_use" not in receipt(by_gpu)


def receipt(lab: LabOnMoto) -> dict[str, Any]:
    lab.at(30)
    return closed(lab, lab.command("close"))
