"""A controller that does not end what it was told to end: the guard sets a limit, ends it in EC2, and says why."""

from copy import deepcopy
from datetime import timedelta
from typing import Any

import boto3
import pytest

from lamplighter.adapters.capacity.node_pool.claims import ENDS_AT
from lamplighter.application.capacity.sizes import Direction, Order, write
from lamplighter.application.guard.proof import prove_zero
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.pool.drain import LEAVING
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.node_pool_on_moto import KARPENTERS, NODE_POOL, NodePoolOnMoto, deployment

SECONDS = 1 / 60


def closed(pool: NodePoolOnMoto, minutes: float = 0) -> None:
    """The step Scale of a close."""
    since = pool.at(minutes)
    write(pool.capacity, Order("gpu", "close 1", "alice", Direction.DOWN, since=since))


def proves(pool: NodePoolOnMoto, minutes: float, lease: Any = "cli-1", **results: Any) -> str:
    """The step ProveZero, and what it waits for."""
    pool.at(minutes)
    run = {"command": pool.moto.command("close", lease), "results": results}
    with pytest.raises(TryLater) as waits:
        prove_zero(run, pool.guard_services)
    return str(waits.value)


def told(pool: NodePoolOnMoto) -> list[str]:
    """What the audit trail has of it."""
    entries = pool.capacity.ledger.audit("gpu", EIGHT)
    return [str(entry.why) for entry in entries if entry.details.get("rule") == "node-not-ended"]


def test_a_close_orders_the_claims_away_itself(pool: NodePoolOnMoto) -> None:
    """Where Karpenter is dead, a size of zero alone tells nobody which nodes go."""
    pool.node()
    pool.size(1)

    closed(pool)

    assert pool.api.objects["/apis/karpenter.sh/v1/nodepools/lab-gpu"]["spec"]["replicas"] == 0
    assert pool.claim()["metadata"]["deletionTimestamp"] == "2026-11-20T20:00:00Z"
    seen = pool.capacity.see("gpu")
    assert (seen.staying, len(seen.members)) == ((), 1)


def test_a_size_of_zero_that_a_dead_karpenter_never_followed_is_ordered_again(pool: NodePoolOnMoto) -> None:
    pool.node()
    pool.size(0)
    closed(pool)
    assert "deletionTimestamp" in pool.claim()["metadata"]


def test_zero_is_written_even_if_it_was_read(pool: NodePoolOnMoto) -> None:
    """A size that was misread as zero would stay, and zero be proven."""
    pool.size(0)
    misread = pool.capacity.see("gpu")
    pool.size(1)

    pool.capacity.of("gpu").order("gpu", 0, misread)

    assert pool.api.objects[NODE_POOL]["spec"]["replicas"] == 0


@pytest.mark.parametrize("size", [10**30, -1])
def test_a_number_that_is_no_size_is_not_known(pool: NodePoolOnMoto, size: int) -> None:
    """A removal orders the size that was read, less the removed nodes."""
    pool.size(size)
    with pytest.raises(OutsideFailed, match=f"replicas is {size}"):
        pool.capacity.see("gpu")


def test_a_dynamic_pool_of_somebody_else_that_no_lease_sized_is_left_alone(lab: LabOnMoto) -> None:
    theirs = NodePoolOnMoto.on(lab)
    pool = {"kind": "karpenter", "existing": "lab-gpu", "instance_type": "g5.xlarge", "max_nodes": 4}
    theirs.lab = Lab.model_validate({"name": "lab", "cluster": {"existing": "lab"}, "pools": {"gpu": pool}})
    spec = theirs.api.objects[NODE_POOL]["spec"]
    del spec["replicas"]
    before = deepcopy(spec)

    closed(theirs)

    assert theirs.api.objects[NODE_POOL]["spec"] == before


def test_a_claim_born_during_the_order_of_zero_goes_with_the_next_sweep(pool: NodePoolOnMoto) -> None:
    """Its Karpenter died then. Alive again, it would launch it whatever the launch bar says."""
    pool.node()
    del pool.claim()["status"]["providerID"]
    pool.api.objects[KARPENTERS] = deployment(wanted=0, available=0)

    sweep_all(pool.guard_services)

    assert "deletionTimestamp" in pool.claim()["metadata"]


def test_of_two_nodes_the_one_that_ec2_does_not_list_yet_is_the_youngest(pool: NodePoolOnMoto) -> None:
    pool.node("old")
    young = pool.node("young", age=timedelta(0))
    boto3.client("ec2").delete_tags(Resources=[young], Tags=[{"Key": "karpenter.sh/nodepool"}])
    pool.size(2)
    pool.moto.lease(nodes=1)

    closed(pool)

    assert "deletionTimestamp" in pool.claim("young")["metadata"]
    assert "deletionTimestamp" not in pool.claim("old")["metadata"]


def test_what_a_dead_karpenter_leaves_is_ended_in_ec2_after_three_minutes(pool: NodePoolOnMoto) -> None:
    instance = pool.node()
    pool.size(1)
    pool.api.objects[KARPENTERS] = deployment(wanted=0, available=0)
    closed(pool)

    proves(pool, 89 * SECONDS)
    assert ENDS_AT not in pool.claim()["metadata"].get("annotations", {})
    proves(pool, 90 * SECONDS)
    assert pool.claim()["metadata"]["annotations"][ENDS_AT] == "2026-11-20T20:01:30Z"
    proves(pool, 179 * SECONDS)
    assert pool.running() == {instance}
    assert told(pool) == []

    proves(pool, 180 * SECONDS)

    assert pool.running() == set()
    why = "Karpenter does not run: Deployment kube-system/karpenter has 0 replicas"
    assert told(pool) == [f"{why}; the guard ends {instance} of pool gpu itself, in EC2"]
    [entry] = pool.moto.entries("breach")
    assert (entry.lease, entry.details["paged"]) == ("cli-1", "yes")


def test_of_a_close_of_the_whole_pool_it_is_told_for_the_first_lease(pool: NodePoolOnMoto) -> None:
    pool.node()
    pool.size(1)
    closed(pool)
    for minutes in (2, 4):
        proves(pool, minutes, None, RestoreExperiments={"closing": ["cli-2", "cli-1"]})

    assert [entry.lease for entry in pool.moto.entries("breach")] == ["cli-2"]


def test_one_that_runs_is_told_once_as_one_that_does_not_obey(pool: NodePoolOnMoto) -> None:
    instance = pool.node()
    pool.size(1)
    closed(pool)
    for minutes in (2, 4):
        proves(pool, minutes)

    pool.at(4.5)
    prove_zero({"command": pool.moto.command("close")}, pool.guard_services)
    sweep_all(pool.guard_services)

    slow = "Karpenter has not ended what it was told to end"
    assert told(pool) == [f"{slow}; the guard ends {instance} of pool gpu itself, in EC2"]


def test_a_node_with_pods_keeps_them_for_the_time_of_a_drain(pool: NodePoolOnMoto) -> None:
    instance = pool.node(pods=True)
    pool.size(1)
    closed(pool)

    # It evicts them, and from then on they have four minutes.
    proves(pool, 2)
    proves(pool, 5.9)
    assert ENDS_AT not in pool.claim()["metadata"].get("annotations", {})
    proves(pool, 6)
    assert ENDS_AT in pool.claim()["metadata"]["annotations"]
    assert pool.running() == {instance}
    proves(pool, 8)
    assert pool.running() == set()


def test_a_longer_drain_of_the_pool_is_kept_where_karpenter_is_dead_too(lab: LabOnMoto) -> None:
    pool = NodePoolOnMoto.on(lab, drain="10m")
    instance = pool.node(pods=True)
    pool.size(1)
    closed(pool)
    # The step Drain noted it when the close began.
    pool.api.objects["/api/v1/nodes/node-a"]["metadata"]["annotations"] = {LEAVING: "2026-11-20T20:00:00Z"}

    proves(pool, 9.9)
    assert ENDS_AT not in pool.claim()["metadata"].get("annotations", {})
    proves(pool, 10)
    assert pool.running() == {instance}
    proves(pool, 11.5)
    assert pool.running() == set()


def test_a_leased_node_beside_it_stays(pool: NodePoolOnMoto) -> None:
    kept, goes = pool.node("a"), pool.node("b")
    pool.size(2)
    pool.moto.lease(nodes=1, name="cli-2", opens=-60)
    leaving = {"Drain": {"nodes": [{"name": "node-b", "instance": goes}]}}
    since = pool.at(0)
    write(pool.capacity, Order("gpu", "close 1", "alice", Direction.DOWN, since=since, leaving=[goes]))

    proves(pool, 2, **leaving)
    proves(pool, 4, **leaving)

    assert pool.running() == {kept}
    assert "deletionTimestamp" not in pool.claim("a")["metadata"]


def test_a_sweep_ends_it_too_where_no_close_is_at_work(pool: NodePoolOnMoto) -> None:
    pool.node()
    pool.size(1)
    closed(pool)
    for minutes in (5, 10):
        pool.at(minutes)
        sweep_all(pool.guard_services)

    assert pool.running() == set()
    assert len(told(pool)) == 1


def test_beside_a_lease_a_sweep_leaves_the_drain_its_whole_grace(pool: NodePoolOnMoto) -> None:
    kept, goes = pool.node("a"), pool.node("b")
    pool.size(2)
    pool.moto.lease(nodes=1, name="cli-2", opens=-60)
    since = pool.at(0)
    write(pool.capacity, Order("gpu", "close 1", "alice", Direction.DOWN, since=since, leaving=[goes]))

    for minutes in (5, 10, 11.4):
        pool.at(minutes)
        sweep_all(pool.guard_services)
    assert ENDS_AT not in pool.claim("b")["metadata"].get("annotations", {})
    for minutes in (11.5, 13):
        pool.at(minutes)
        sweep_all(pool.guard_services)

    assert pool.running() == {kept}


def test_a_close_is_started_once_while_the_claims_go(pool: NodePoolOnMoto) -> None:
    """A sweep between the order and what Karpenter does of it finds nothing that anybody would still have to close."""
    pool.node()
    pool.size(1)
    pool.at(0)
    sweep_all(pool.guard_services)
    begun = len(pool.moto.closes)

    for minutes in (0.1, 1, 5, 10):
        pool.at(minutes)
        sweep_all(pool.guard_services)

    assert (begun, len(pool.moto.closes)) == (1, 1)
