"""The close that the guard starts: for which lease, until when it is valid, and only one at a time."""

from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.guard.breach import GuardAction, Rule
from lamplighter.domain.leases.lease import LeaseState
from tests.builders.leases import EIGHT
from tests.unit.guard.test_acts import does
from tests.unit.lab_on_moto import LabOnMoto


def test_the_close_of_a_pool_is_good_for_an_hour_and_named_by_its_five_minutes(lab: LabOnMoto) -> None:
    lab.scale(1)
    lab.at(8)

    sweep_all(lab.guard_services)

    [close] = lab.closes
    assert (close["id"], close["issued"]) == ("guard-gpu-pool-20261120T2005Z", "2026-11-20T20:08:00Z")
    assert close["expires"] == "2026-11-20T21:08:00Z"
    assert (close.get("closes"), close.get("generation")) == (None, None)


def test_the_nodes_of_a_lease_are_left_to_its_close(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, opens=-60, closes=0)
    lab.guard_services.lease_services.arm("gpu")
    lab.scale(1)
    lab.at(3)

    assert does(lab, Rule.LEASE_PAST_ITS_END, GuardAction.CLOSE, lease="cli-1", target=0) is True

    [close] = lab.closes
    assert (close["id"], close["closes"], close["generation"]) == (
        "guard-gpu-cli-1-20261120T2000Z",
        "2026-11-20T20:00:00Z",
        0,
    )
    assert lab.sizes["desiredSize"] == 1


def test_the_close_of_a_lease_that_is_being_closed_is_for_no_end_of_it(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    closing = lab.capacity.ledger.leases("gpu")
    why = Entry(EIGHT, "gpu", "closing", "alice", "closes", "so it is")
    lab.capacity.ledger.begin_closing(closing, lab.capacity.ledger.pool("gpu"), EIGHT, why)
    assert [each.state for each in lab.capacity.ledger.leases("gpu")] == [LeaseState.CLOSING]

    does(lab, Rule.CLOSING_ABANDONED, GuardAction.CLOSE, lease="cli-1", target=0)

    [close] = lab.closes
    assert (close.get("closes"), close.get("generation"), close["lease"]) == (None, None, "cli-1")


def test_a_surplus_beside_a_lease_is_left_to_its_close(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    lab.guard_services.lease_services.arm("gpu")
    lab.scale(2)

    assert does(lab, Rule.MORE_NODES_THAN_LEASES, GuardAction.CLOSE, target=1) is True

    assert (lab.sizes["desiredSize"], len(lab.closes)) == (2, 1)


def test_the_close_of_another_lease_is_not_held_up_by_one_that_was_started(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, opens=-60, closes=0)
    lab.lease(nodes=1, opens=-60, closes=0, name="cli-2")

    for name in ("cli-1", "cli-1", "cli-2"):
        does(lab, Rule.LEASE_PAST_ITS_END, GuardAction.CLOSE, lease=name, target=0)

    assert [close["lease"] for close in lab.closes] == ["cli-1", "cli-2"]
