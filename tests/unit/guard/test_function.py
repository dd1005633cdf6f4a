"""The guard function: what a sweep does about a breach, and when zero is proven."""

from dataclasses import replace
from datetime import timedelta

import boto3
import pytest

from lamplighter.adapters.aws.notices import Notices
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.application.guard.proof import mark_leaked, prove_zero
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.errors import TryLater
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT
from tests.unit.guard.test_acts import sent, silent
from tests.unit.lab_on_moto import LAB, NODEGROUP, REGION, LabOnMoto


def test_a_node_without_a_lease_is_ordered_away_at_once_and_closed(lab: LabOnMoto) -> None:
    lab.scale(1)

    sweep_all(lab.guard_services)

    assert lab.sizes["desiredSize"] == 0
    [close] = lab.closes
    assert (close["verb"], close["lease"], close["by"]) == ("close", None, "guard")
    why = reason("guard.no-lease", pool="gpu", nodes=1)
    assert close["because"] == document(why)
    [entry] = lab.entries("breach")
    assert (entry.what, entry.why) == (reason("guard.did.close", pool="gpu"), why)
    # Another event starts no other close.
    sweep_all(lab.guard_services)
    assert (len(lab.closes), len(lab.entries("breach"))) == (1, 1)


def test_a_node_started_again_after_the_close_is_closed_again(lab: LabOnMoto) -> None:
    lab.scale(1)
    sweep_all(lab.guard_services)
    lab.catch_up()
    lab.at(6)
    lab.scale(2)

    sweep_all(lab.guard_services)

    assert lab.sizes["desiredSize"] == 0
    assert len(lab.closes) == 2


def test_a_failsafe_that_somebody_deleted_is_armed_again(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    lab.guard_services.lease_services.arm("gpu")
    lab.scale(1)
    boto3.client("scheduler").delete_schedule(GroupName=LAB, Name="failsafe-gpu-30")

    sweep_all(lab.guard_services)

    armed = lab.guard_services.lease_services.failsafes.read("failsafe-gpu-30")
    assert armed is not None
    assert armed.at == EIGHT + timedelta(minutes=150)


def test_raised_bounds_are_put_back_and_the_size_stays(lab: LabOnMoto) -> None:
    lab.lease(nodes=2)
    lab.guard_services.lease_services.arm("gpu")
    lab.scale(2)
    boto3.client("eks").update_nodegroup_config(
        clusterName=LAB, nodegroupName=NODEGROUP, scalingConfig={"minSize": 1, "maxSize": 9}
    )

    sweep_all(lab.guard_services)

    assert lab.sizes == {"minSize": 0, "maxSize": 2, "desiredSize": 2}


def test_zero_is_proven_when_nothing_is_left_anywhere(lab: LabOnMoto) -> None:
    done = prove_zero({"command": lab.command("close")}, lab.guard_services)

    assert done == {
        "zero": True,
        "target": 0,
        "at": "2026-11-20T20:00:00Z",
        "desired": 0,
        "instances": [],
        "kubernetes_nodes": [],
        "reason": document(reason("guard.zero.proven", pool="gpu")),
    }


def test_what_is_proven_counts_from_the_first_look_and_is_said_after_the_last(lab: LabOnMoto) -> None:
    def slowly() -> Connection:
        lab.at(1)
        return lab.guard_services.connect()

    done = prove_zero({"command": lab.command("close")}, replace(lab.guard_services, connect=slowly))

    assert done["at"] == "2026-11-20T20:00:00Z"
    [said] = lab.entries("zero-proven")
    assert said.at == EIGHT + timedelta(minutes=1)


def test_a_cluster_that_does_not_answer_proves_nothing(lab: LabOnMoto) -> None:
    guard_services = replace(lab.guard_services, connect=silent)
    with pytest.raises(TryLater, match="not known whether Kubernetes"):
        prove_zero({"command": lab.command("close")}, guard_services)


def test_without_proof_for_half_an_hour_the_pool_is_leaked_and_paged_once(lab: LabOnMoto) -> None:
    lab.scale(1)
    lab.at(30)
    run: dict[str, object] = {"command": lab.command("close", lease=None)}

    assert prove_zero(run, lab.guard_services)["zero"] is False
    first = mark_leaked(run, lab.guard_services)
    lab.at(31)
    second = mark_leaked(run, lab.guard_services)

    assert first["leaked"] is True
    assert first == second
    assert lab.capacity.ledger.pool("gpu").leaked_since == EIGHT + timedelta(minutes=30)
    assert [entry.details.get("action") for entry in lab.entries("leaked")].count("page") == 1


def test_a_leak_that_nobody_heard_of_is_paged_by_the_next_sweep(lab: LabOnMoto) -> None:
    lab.scale(1)
    lab.at(30)
    nobody = Notices(f"arn:aws:sns:{REGION}:123456789012:gone")
    mark_leaked({"command": lab.command("close", lease=None)}, replace(lab.guard_services, pages=nobody))
    assert sent("pages") == []

    lab.at(31)
    sweep_all(lab.guard_services)

    assert len([page for page in sent("pages") if "leaked" in page]) == 1
