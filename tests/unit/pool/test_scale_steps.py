"""What Scale orders, from when it waits for EKS, and what it records."""

from typing import Any

import pytest

from lamplighter.application.capacity.steps import scale
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.progress import Noted, Stage
from lamplighter.errors import TryLater
from lamplighter.reasons.document import document, read
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT
from tests.unit.granting.test_granting import forget
from tests.unit.lab_on_moto import LAB, Busy, LabOnMoto

SECOND = 1 / 60


@pytest.fixture(autouse=True)
def _leased(lab: LabOnMoto) -> None:
    lab.lease(nodes=2)


@pytest.mark.parametrize(
    ("minutes", "lease", "lowered"),
    [(15, None, True), (15 - SECOND, None, False), (135, "cli-1", True), (135 - SECOND, "cli-1", False)],
)
def test_a_close_waits_for_eks_from_its_command_or_end(
    lab: LabOnMoto, minutes: float, lease: str | None, *, lowered: bool
) -> None:
    lab.scale(2)
    if lease is None:
        forget("cli-1")
    lab.port.nodegroups = Busy(LAB)
    lab.at(minutes)
    run: dict[str, object] = {"command": lab.command("close", lease=lease)}

    if lowered:
        assert scale(run, lab.capacity)["update_id"] is None
    else:
        with pytest.raises(TryLater, match="EKS is busy"):
            scale(run, lab.capacity)


def test_an_opening_notes_that_its_nodes_are_ordered_and_a_close_what_was_drained(lab: LabOnMoto) -> None:
    drain = {"Drain": {"nodes": [{"name": "n-1", "instance": "i-9"}], "evicted": 1}}

    scale({"command": lab.command(), "results": drain}, lab.capacity)

    ledger = lab.capacity.ledger
    lease = ledger.lease("gpu", "cli-1")
    assert lease is not None
    assert (lease.state, lease.ordered) == (LeaseState.OPENING, EIGHT)
    assert ledger.progress("gpu", "cli-1") == {Stage.NODES: Noted(0, 2, EIGHT, EIGHT)}
    assert [each for each in ledger.audit("gpu", EIGHT) if each.kind == "drained"] == []
    scale({"command": lab.command("close"), "results": drain}, lab.capacity)
    [drained] = [each for each in ledger.audit("gpu", EIGHT) if each.kind == "drained"]
    assert (drained.what, drained.lease, drained.nodes) == (
        reason("audit.drained", nodes=("n-1",)),
        "cli-1",
        1,
    )


def test_what_stays_ordered_is_said_and_what_is_over_orders_nothing(lab: LabOnMoto) -> None:
    lab.scale(2)
    stays = scale({"command": lab.command()}, lab.capacity)
    gone = scale({"command": lab.command(lease="gone")}, lab.capacity)

    assert str(read(stays["reason"])).startswith("2 nodes stay ordered: alice's lease justifies 2")
    assert gone == {
        "over": True,
        "reason": document(reason("capacity.no-such-lease", pool="gpu")),
        "target": 0,
        "desired_before": 0,
        "update_id": None,
    }


@pytest.mark.parametrize("where", ["results", "run"])
def test_the_lease_that_was_granted_is_meant_whatever_the_command_names(lab: LabOnMoto, where: str) -> None:
    lab.lease(nodes=1, name="granted")
    granted: Any = {"id": "granted"}
    more: dict[str, Any] = (
        {"lease": granted} if where == "run" else {"results": {"Admit": {"lease": granted}}}
    )

    done = scale({"command": lab.command(lease="gone"), **more}, lab.capacity)

    assert (done["over"], done["target"]) == (False, 1)
