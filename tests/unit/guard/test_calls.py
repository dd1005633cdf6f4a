"""How many calls a sweep makes, and that it makes them only where a rule needs the answer."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest

from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.pool.pool import SeenGpus
from lamplighter.lab.model import Lab
from tests.unit import aws_calls
from tests.unit.lab_on_moto import LAB, NODEGROUP, LabOnMoto


@contextmanager
def counted(lab: LabOnMoto) -> Iterator[Counter[str]]:
    """Every call to AWS and Kubernetes."""
    calls: Counter[str] = Counter()

    def count(service: str, operation: str, _given: object) -> None:
        calls[f"{service}:{operation}"] += 1

    listing = lab.cluster.list

    def listed(path: str, **query: str) -> list[dict[str, Any]]:
        calls[f"Kubernetes:{path.rpartition('/')[2]}"] += 1
        return listing(path, **query)

    lab.cluster.list = listed  # type: ignore[method-assign]
    try:
        with aws_calls.heard(count):
            yield calls
    finally:
        lab.cluster.list = listing  # type: ignore[method-assign]


def test_a_sweep_of_an_idle_lab_asks_what_it_must_and_writes_nothing(lab: LabOnMoto) -> None:
    sweep_all(lab.guard_services)  # the very first one notes since when the pool is guarded

    with counted(lab) as calls:
        sweep_all(lab.guard_services)

    assert calls == {
        "Scheduler:ListSchedules": 1,
        "SSM:GetParameters": 1,
        "EKS:DescribeNodegroup": 1,
        "Auto Scaling:DescribeAutoScalingGroups": 1,
        "EC2:DescribeInstances": 1,
        # One of them reads when the planner last ran.
        "DynamoDB:GetItem": 5,
        "DynamoDB:Query": 4,
    }


def test_a_sweep_of_a_running_lease_looks_at_its_failsafe_and_its_pods_too(lab: LabOnMoto) -> None:
    lease = lab.lease(nodes=2, opens=-60)
    lab.guard_services.lease_services.arm("gpu")
    lab.guard_services.lease_services.schedule_end(lease)
    lab.scale(2)
    for instance in lab.members:
        lab.cluster.add_node(instance)
        lab.cluster.add_pod(f"work-{instance}", instance)
        lab.cluster.pods[-1]["spec"]["containers"] = [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]
    sweep_all(lab.guard_services)  # protects the nodes

    with counted(lab) as calls:
        assert sweep_all(lab.guard_services) == {"breaches": []}

    assert calls["Scheduler:GetSchedule"] == 4
    assert calls["Kubernetes:nodes"] == 1
    assert calls["Kubernetes:pods"] == 2, (
        "each node is asked once: for idleness and for how many GPUs are in use"
    )
    assert not [name for name in calls if name.endswith(("PutItem", "UpdateItem", "TransactWriteItems"))]
    assert sum(calls.values()) == 23, calls


def test_a_sweep_notes_how_many_gpus_are_in_use_and_a_sweep_right_after_it_nothing(lab: LabOnMoto) -> None:
    lab.lease(nodes=2, opens=-60)
    lab.scale(2)
    for instance in lab.members:
        lab.cluster.add_node(instance)
        lab.cluster.nodes[-1]["status"] = {"allocatable": {"nvidia.com/gpu": "1"}}
    lab.cluster.add_pod("work", lab.members[0])
    lab.cluster.pods[-1]["spec"]["containers"] = [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]
    now = lab.at(5)

    sweep_all(lab.guard_services)

    assert lab.capacity.ledger.pool("gpu").seen_gpus == SeenGpus(1, 2, now)
    with counted(lab) as calls:
        sweep_all(lab.guard_services)
    assert "DynamoDB:UpdateItem" not in calls


def claimed(*labs: str) -> None:
    """The claim on the node group, by the first lab's deploy; each other lab is written over it."""
    for value in labs:
        boto3.client("ssm").put_parameter(
            Name=f"/lamplighter/claims/{LAB}/{NODEGROUP}",
            Value=value,
            Type="String",
            Overwrite=value != labs[0],
        )


ADOPTED = {"existing": NODEGROUP, "instance_type": "g5.xlarge", "max_nodes": 2}


@pytest.mark.parametrize("pool", [{}, ADOPTED], ids=["created", "adopted"])
def test_a_claim_that_somebody_overwrites_is_seen_and_the_pool_closed_all_the_same(
    lab: LabOnMoto, pool: dict[str, Any]
) -> None:
    guarded = {"name": LAB, "guard": {"mode": "enforce"}, "pools": {"gpu": pool}}
    lab.capacity.lab = Lab.model_validate(guarded)
    claimed(LAB, "physics")
    lab.scale(1)

    found: Any = sweep_all(lab.guard_services)["breaches"]

    assert {(each["rule"], each["action"]) for each in found} == {
        ("second-claim", "say"),
        ("node-without-lease", "close"),
    }
    assert lab.closes


def test_a_claim_of_another_lab_is_seen_and_its_adopted_pool_left_alone(lab: LabOnMoto) -> None:
    guarded = {"name": LAB, "guard": {"mode": "enforce"}, "pools": {"gpu": ADOPTED}}
    lab.capacity.lab = Lab.model_validate(guarded)
    claimed("physics")
    lab.scale(1)

    found: Any = sweep_all(lab.guard_services)["breaches"]

    assert {(each["rule"], each["action"]) for each in found} == {
        ("second-claim", "say"),
        ("node-without-lease", "say"),
    }
    assert (lab.sizes["desiredSize"], lab.closes) == (1, [])


def test_leased_nodes_are_kept_from_autoscalers_once(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    lab.guard_services.lease_services.arm("gpu")
    lab.scale(1)
    lab.cluster.add_node(lab.members[0])

    first: Any = sweep_all(lab.guard_services)["breaches"]

    assert [(each["rule"], each["done"]) for each in first] == [("node-unprotected", True)]
    assert lab.cluster.nodes[0]["metadata"]["annotations"] == {
        "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"
    }
    assert sweep_all(lab.guard_services) == {"breaches": []}
