"""The launch bar of a pool is moved with its failsafe: after it, to the last end of its leases, and never past it."""

from dataclasses import dataclass, field, replace
from datetime import datetime

import pytest

from lamplighter.adapters.capacity.node_group.capacity import NodeGroupCapacity
from lamplighter.application.leases.extending import extend
from lamplighter.application.leases.services import LeaseServices
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.errors import OutsideFailed
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.leases.steps import schedules


@dataclass
class Silence:
    """Whether the API server that has the bar answers."""

    silent: bool = False
    moved: list[tuple[datetime, int]] = field(default_factory=list)
    """Each instant, and how many schedules of a failsafe there were then."""


class Barred(NodeGroupCapacity):
    """A capacity with a launch bar, such as a NodePool."""

    silence = Silence()

    def bar(self, pool: str, until: datetime) -> None:
        if self.silence.silent:
            raise OutsideFailed(f"the API server of {pool} does not answer")
        self.silence.moved.append((until, len([name for name in schedules() if name.startswith("failsafe")])))


@pytest.fixture
def silence() -> Silence:
    Barred.silence = Silence()
    return Barred.silence


@pytest.fixture
def barred(lab: LabOnMoto, silence: Silence) -> LeaseServices:
    capacity = replace(lab.capacity, capacities={NODE_GROUP: Barred(lab.lab)})
    return replace(lab.guard_services.lease_services, capacity=capacity)


def test_a_bar_opens_until_the_last_end(lab: LabOnMoto, barred: LeaseServices, silence: Silence) -> None:
    lab.lease(nodes=1, closes=60)
    lab.lease(nodes=1, closes=120, name="cli-2")
    barred.arm("gpu")
    assert silence.moved == [(EIGHT + 120 * MINUTE, 4)]


def test_a_bar_that_stays_shut_is_an_error(lab: LabOnMoto, barred: LeaseServices, silence: Silence) -> None:
    lab.lease(nodes=1)
    lab.capacity.ledger.set_failsafe("gpu", None)
    silence.silent = True

    with pytest.raises(OutsideFailed, match="does not answer"):
        barred.arm("gpu")

    # What was armed stays: it can only close.
    assert lab.capacity.ledger.pool("gpu").failsafe_at is None
    assert len(schedules()) == 4


def test_no_bar_holds_up_a_close(lab: LabOnMoto, barred: LeaseServices, silence: Silence) -> None:
    silence.silent = True
    assert barred.arm("gpu") == (None, ())


def test_without_leases_a_pool_is_barred(lab: LabOnMoto, barred: LeaseServices, silence: Silence) -> None:
    barred.arm("gpu")
    assert silence.moved == [(EIGHT, 0)]


def test_an_extension_moves_the_bar_first(lab: LabOnMoto, barred: LeaseServices, silence: Silence) -> None:
    """Without the bar there is no extension: nodes that failed in the time beyond it would not come again."""
    lab.lease(nodes=1, closes=60)
    barred.arm("gpu")
    longer = {"command": lab.command("extend", id="extend-1", closes="2026-11-20T22:00:00Z")}

    silence.silent = True
    with pytest.raises(OutsideFailed):
        extend(longer, barred)
    kept = lab.capacity.ledger.lease("gpu", "cli-1")
    assert kept is not None
    assert kept.closes == EIGHT + 60 * MINUTE

    silence.silent = False
    assert extend(longer, barred)["outcome"] == "extended"
    assert silence.moved[-1][0] == EIGHT + 120 * MINUTE
