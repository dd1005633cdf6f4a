"""A sweep reads what EC2 took away only in a lease, reports it once, and goes on where it is not told."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from lamplighter.adapters.capacity.node_group.capacity import NodeGroupCapacity
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.capacity.evidence import NOW, Interruption, InterruptionCause, Part, Seen
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LabOnMoto

CLAIM = "lab-gpu-12345"


class Interrupted(NodeGroupCapacity):
    """A capacity whose controller tells of a Spot interruption."""

    tells = True
    asked = 0

    def see(self, pool: str, parts: Collection[Part] = NOW, known: Seen | None = None) -> Seen:
        seen = super().see(pool, parts, known)
        if Part.INTERRUPTIONS not in parts:
            return seen
        self.asked += 1
        if not self.tells:
            raise OutsideFailed(reason("guard.interrupted.unknown"), "events", "gpu")
        found = Interruption(CLAIM, EIGHT, InterruptionCause.SPOT)
        return replace(seen, interruptions=(found,))


@pytest.fixture
def interrupted(lab: LabOnMoto) -> Interrupted:
    port = Interrupted(lab.lab)
    lab.port = port
    lab.scale(1)
    return port


def swept(lab: LabOnMoto) -> list[tuple[str, bool]]:
    found: Any = sweep_all(lab.guard_services)["breaches"]
    return [(each["rule"], each["done"]) for each in found if each["rule"] == "node-interrupted"]


def leased(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    lab.guard_services.lease_services.arm("gpu")


def test_an_interruption_is_reported_once_in_the_trail(lab: LabOnMoto, interrupted: Interrupted) -> None:
    leased(lab)

    assert [swept(lab), swept(lab)] == [[("node-interrupted", True)], [("node-interrupted", False)]]

    trail = lab.capacity.ledger.audit("gpu", EIGHT)
    [told] = [entry for entry in trail if entry.details.get("rule") == "node-interrupted"]
    assert (told.kind, told.lease, told.details["subject"]) == ("breach", "cli-1", CLAIM)
    assert f"(NodeClaim {CLAIM}): EC2 announces a Spot interruption" in str(told.why)


def test_without_a_lease_nobody_asks(lab: LabOnMoto, interrupted: Interrupted) -> None:
    assert swept(lab) == []
    assert interrupted.asked == 0


def test_where_it_is_not_told_the_sweep_says_so_at_its_end(lab: LabOnMoto, interrupted: Interrupted) -> None:
    leased(lab)
    interrupted.tells = False
    with pytest.raises(OutsideFailed, match=r"^pool gpu, interruptions: [^;]+$"):
        swept(lab)
    assert interrupted.asked == 1
