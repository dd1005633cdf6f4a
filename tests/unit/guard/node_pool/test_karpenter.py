"""What the guard says of Karpenter itself: dead, starved, deleted, without its queue, without its kinds of object."""

from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.audit.entry import Entry
from tests.builders.leases import EIGHT
from tests.unit import aws_calls
from tests.unit.node_pool_on_moto import (
    ALL_KINDS,
    CLAIMS,
    CORE,
    KARPENTERS,
    NODE_POOL,
    QUEUE,
    NodePoolOnMoto,
    deployment,
)

UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
STARVED: dict[str, Any] = {
    "metadata": {
        "name": "karpenter-5f9c",
        "namespace": "kube-system",
        "labels": {"app.kubernetes.io/name": "karpenter"},
        "creationTimestamp": "2026-11-20T19:00:00Z",
    },
    "spec": {"containers": []},
    "status": {
        "phase": "Pending",
        "conditions": [UNSCHEDULABLE | {"message": "0/2 nodes are available: 2 Insufficient cpu."}],
    },
}
FEW = "Deployment does not have minimum availability."


def unavailable(since: str = "2026-11-20T19:55:00Z", **more: Any) -> dict[str, Any]:
    condition = {"type": "Available", "status": "False", "lastTransitionTime": since, **more}
    return deployment(available=0, conditions=[condition])


def said(pool: NodePoolOnMoto) -> list[Entry]:
    sweep_all(pool.guard_services)
    entries = pool.capacity.ledger.audit("gpu", EIGHT)
    return [entry for entry in entries if entry.details.get("rule") == "karpenter-not-ready"]


def test_of_one_in_order_nothing_is_said(pool: NodePoolOnMoto) -> None:
    assert said(pool) == []


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (deployment(wanted=0, available=0), "Deployment kube-system/karpenter has 0 replicas"),
        (unavailable(message=FEW), f"Deployment kube-system/karpenter has 0 of 2 pods available: {FEW}"),
        (None, "the cluster has no Deployment of it"),
    ],
)
def test_one_that_does_not_run_is_said_once_a_day(pool: NodePoolOnMoto, found: Any, why: str) -> None:
    pool.api.objects |= {KARPENTERS: found}
    if found is None:
        del pool.api.objects[KARPENTERS]

    [entry] = said(pool)

    assert str(entry.why) == f"Karpenter does not run: {why}"
    assert (entry.details["action"], entry.details["paged"]) == ("say", "yes")
    assert len(said(pool)) == 1


def test_a_starved_one_is_said_in_the_words_of_the_scheduler(pool: NodePoolOnMoto) -> None:
    pool.api.objects[KARPENTERS] = unavailable(message=FEW)
    pool.api.objects[f"{CORE}/namespaces/kube-system/pods/karpenter-5f9c"] = STARVED

    [entry] = said(pool)

    assert str(entry.why) == (
        "Karpenter does not run: Deployment kube-system/karpenter has 0 of 2 pods available: pod"
        " kube-system/karpenter-5f9c has no node: 0/2 nodes are available: 2 Insufficient cpu."
    )


def test_a_restart_is_waited_for(pool: NodePoolOnMoto) -> None:
    pool.api.objects[KARPENTERS] = unavailable(since="2026-11-20T19:55:01Z")
    assert said(pool) == []
    pool.at(1 / 60)
    assert len(said(pool)) == 1


def test_a_missing_queue_is_said(pool: NodePoolOnMoto) -> None:
    sqs = boto3.client("sqs")
    sqs.delete_queue(QueueUrl=sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"])

    [entry] = said(pool)

    assert str(entry.why).startswith(
        f"queue {QUEUE}, from which Karpenter reads interruptions, does not exist"
    )


def test_without_its_kinds_of_object_a_sweep_says_so_and_ends_what_runs(pool: NodePoolOnMoto) -> None:
    pool.node()
    del pool.api.objects[NODE_POOL], pool.api.objects[f"{CLAIMS}/lab-gpu-a"]
    pool.api.absent_kinds = set(ALL_KINDS)

    [entry] = said(pool)

    kinds = "nodepools.karpenter.sh, nodeclaims.karpenter.sh and ec2nodeclasses.karpenter.k8s.aws"
    assert str(entry.why) == (
        f"the cluster has no CustomResourceDefinition {kinds}, so Karpenter starts no node and ends none"
    )
    assert pool.running() == set()


def test_where_kubernetes_does_not_answer_nothing_is_known(pool: NodePoolOnMoto) -> None:
    pool.api.objects[KARPENTERS] = deployment(wanted=0, available=0)
    pool.api.silent = True

    with pytest.raises(Exception, match="got no answer"):
        said(pool)

    pool.api.silent = False
    assert [str(entry.why) for entry in said(pool)] != []


@pytest.fixture
def existing(pool: NodePoolOnMoto) -> NodePoolOnMoto:
    """The cluster had a Karpenter before the lab; the test says which."""
    del pool.api.objects[KARPENTERS]
    keys = {
        "name": "lab",
        "cluster": {"karpenter": {"existing": True}},
        "pools": {"gpu": {"kind": "karpenter"}},
    }
    pool.lab = type(pool.lab).model_validate(keys)
    return pool


def deployed(
    pool: NodePoolOnMoto, namespace: str, created: str = "2026-01-01T00:00:00Z", **made: Any
) -> None:
    found = deployment(**made)
    found["metadata"] = {"namespace": namespace, "name": "theirs", "creationTimestamp": created}
    pool.api.objects[f"/apis/apps/v1/namespaces/{namespace}/deployments/theirs"] = found


DOWN: dict[str, Any] = {"wanted": 0, "available": 0}
LATER, EARLIER = "2026-11-01T00:00:00Z", "2025-01-01T00:00:00Z"


def test_an_existing_one_is_found_by_its_image(existing: NodePoolOnMoto) -> None:
    deployed(existing, "autoscaling", **DOWN)

    [entry] = said(existing)

    assert str(entry.why) == "Karpenter does not run: Deployment autoscaling/theirs has 0 replicas"


@pytest.mark.parametrize(
    ("namespace", "tenant_s"),
    [("karpenter", LATER), ("karpenter", EARLIER), ("kube-system", EARLIER), ("autoscaling", LATER)],
)
def test_a_tenant_s_deployment_with_its_image_hides_no_fault_and_makes_none(
    existing: NodePoolOnMoto, namespace: str, tenant_s: str
) -> None:
    deployed(existing, namespace)
    deployed(existing, "student", tenant_s, **DOWN)
    assert said(existing) == []

    deployed(existing, namespace, **DOWN)
    deployed(existing, "student", tenant_s)

    [entry] = said(existing)
    assert str(entry.why) == f"Karpenter does not run: Deployment {namespace}/theirs has 0 replicas"


def test_a_queue_that_cannot_be_read_is_said_and_hides_no_other_fault(pool: NodePoolOnMoto) -> None:
    pool.api.objects[KARPENTERS] = deployment(**DOWN)

    def refuse(service: str, operation: str, _given: object) -> None:
        if service == "SQS":
            raise ClientError({"Error": {"Code": "InvalidAddress", "Message": "no queue's name"}}, operation)

    with aws_calls.heard(refuse):
        down, unread = said(pool)

    assert str(down.why) == "Karpenter does not run: Deployment kube-system/karpenter has 0 replicas"
    assert str(unread.why).startswith(
        f"it is not known whether queue {QUEUE}, from which Karpenter reads interruption"
    )
    assert "no queue's name" in str(unread.why)
