"""Updates that stop because pods stay: where EKS says so, and which pods are to blame."""

import json
from typing import Any

import pytest

from lamplighter.domain.diagnosis import Snapshot, diagnose
from lamplighter.domain.diagnosis.redaction import redacted
from tests.snapshots import NODES, POOL, Document, causes, healthy, judge, pod

MESSAGE = f"Reached max retries while trying to evict pods from nodes in node group {POOL}"


def stopped_health(*nodes: str):
    document = healthy()
    document["aws"]["nodegroup"]["health"]["issues"] = [
        {"code": "PodEvictionFailure", "message": MESSAGE, "resourceIds": list(nodes)}
    ]
    return document


def test_the_health_of_the_group_says_it_as_well() -> None:
    [found] = judge(stopped_health(NODES[1])).findings
    assert (found.cause.name, found.objects) == ("pods-not-evicted", (NODES[1],))
    assert f"PodEvictionFailure: {MESSAGE}" in " ".join(map(str, found.evidence))


def test_a_node_that_nobody_knows_leaves_the_group() -> None:
    [found] = judge(stopped_health("ip-10-0-0-1.ap-northeast-2.compute.internal")).findings
    assert found.objects == (POOL,)


def test_pods_that_come_back_to_any_node_are_named() -> None:
    document = stopped_health(NODES[0])
    for name, owner in (("agent", "ReplicaSet/agent"), ("daemon", "DaemonSet/daemon")):
        returns = pod(name, "lab", 0, owner=owner)
        returns["spec"]["tolerations"] = [{"operator": "Exists"}]
        document["kubernetes"]["pods"].append(returns)
    elsewhere = pod("elsewhere", "lab", 1)
    elsewhere["spec"]["tolerations"] = [{"operator": "Exists"}]
    document["kubernetes"]["pods"].append(elsewhere)

    [found] = judge(document).findings

    assert str(found.evidence[-1]) == "pods that tolerate every taint come back to the node: lab/agent"


def budget(name: str, allowed: int = 0, namespace: str = "class", **spec: object) -> Document:
    status = {"disruptionsAllowed": allowed, "desiredHealthy": 1, "currentHealthy": 1}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec, "status": status}


def kept(*budgets: Document, owner: str = "ReplicaSet", **changes: object) -> list[str]:
    """What the finding says after EKS's words, with these budgets and one labelled pod on the node."""
    document = stopped_health(NODES[0])
    mine = pod("train-0", "class", 0)
    mine["metadata"]["labels"] = {"app": "train", "tier": "gpu"}
    mine["metadata"]["ownerReferences"] = [{"kind": owner, "name": "train"}]
    mine["status"] |= changes
    document["kubernetes"]["pods"].append(mine)
    document["kubernetes"]["poddisruptionbudgets"] = list(budgets)
    [found] = judge(document).findings
    return [str(said) for said in found.evidence[1:]]


TRAIN = {"matchLabels": {"app": "train"}}
REFUSES = ["the PodDisruptionBudget class/tight allows no eviction of class/train-0"]


@pytest.mark.parametrize(
    ("selector", "says"),
    [
        (TRAIN, REFUSES),
        ({}, REFUSES),
        (None, []),
        ({"matchLabels": {"app": "other"}}, []),
        ({**TRAIN, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["gpu"]}]}, REFUSES),
        ({**TRAIN, "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gpu"]}]}, []),
        ({"matchExpressions": [{"key": "owner", "operator": "NotIn", "values": ["me"]}]}, REFUSES),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, REFUSES),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, []),
    ],
)
def test_the_budget_that_refuses_is_named_with_its_pods(selector: object, says: list[str]) -> None:
    assert kept(budget("tight", selector=selector)) == says


def test_a_budget_of_elsewhere_or_with_room_is_not_named() -> None:
    assert kept(budget("tight", namespace="default", selector=TRAIN)) == []
    assert kept(budget("tight", 1, selector=TRAIN)) == []


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_no_budget_holds_a_pod_that_does_not_run(phase: str) -> None:
    assert kept(budget("tight", selector=TRAIN), phase=phase) == []


@pytest.mark.parametrize(
    "conditions", [[], [{"type": "Ready", "status": "False"}], [{"type": "Ready", "status": "Unknown"}]]
)
def test_a_pod_that_is_not_ready_is_held_only_where_too_few_are_healthy(conditions: list[Document]) -> None:
    not_ready: dict[str, Any] = {"conditions": conditions}
    short = budget("tight", selector=TRAIN)
    short["status"]["currentHealthy"] = 0
    assert kept(short, **not_ready) == REFUSES
    assert kept(budget("tight", selector=TRAIN), **not_ready) == []
    short["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
    assert kept(short, **not_ready) == []


def test_a_budget_that_its_controller_has_not_read_since_its_change_refuses_too() -> None:
    changed = budget("tight", 1, selector=TRAIN)
    changed["metadata"]["generation"] = 2
    changed["status"]["observedGeneration"] = 1
    assert kept(changed) == REFUSES


@pytest.mark.parametrize("kind", ["DaemonSet", "Node"])
def test_no_drain_evicts_the_pods_of_a_daemon_or_of_the_node_itself(kind: str) -> None:
    assert kept(budget("tight", selector=TRAIN), owner=kind) == []


def test_two_budgets_for_one_pod_are_named_whatever_they_allow() -> None:
    [said] = kept(budget("b", 1, selector=TRAIN), budget("a", 1, selector={}))
    assert said == (
        "more than one PodDisruptionBudget (class/a, class/b) selects the same pod, so Kubernetes refuses to evict"
        " class/train-0"
    )


@pytest.mark.parametrize(
    "selector",
    [
        *("x", 5, [1], {"matchLabels": ["app"]}, {"matchLabels": "app"}, {"matchLabels": {"app": None}}),
        *({"matchExpressions": {}, "matchLabels": {"app": 1}}, {"matchExpressions": [5, None]}),
        {"matchExpressions": [{"key": "team", "operator": "NotIn"}]},
        {"matchExpressions": [{"key": "app", "operator": "Exists", "values": ["train"]}]},
        {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["train"]}]},
        {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": [{}]}]},
    ],
)
def test_a_selector_that_is_not_valid_selects_no_pod(selector: object) -> None:
    assert kept(budget("tight", selector=selector)) == []


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {"auth-token": "other"}},
        {"matchExpressions": [{"key": "auth-token", "operator": "NotIn", "values": ["mine"]}]},
        {"matchExpressions": [{"key": "auth-token", "operator": "In", "values": ["mine"]}]},
    ],
)
def test_what_redaction_took_out_makes_no_claim(selector: object) -> None:
    document = stopped_health(NODES[0])
    mine = pod("train-0", "class", 0)
    mine["metadata"]["labels"] = {"auth-token": "mine"}
    document["kubernetes"]["pods"].append(mine)
    document["kubernetes"]["poddisruptionbudgets"] = [budget("tight", selector=selector)]

    saved = redacted(document)

    assert "mine" not in json.dumps(saved["kubernetes"]["poddisruptionbudgets"])
    [found] = diagnose(Snapshot.read(saved)).findings
    assert len(found.evidence) == 1


def test_many_budgets_leave_room_for_the_rest_of_what_is_known() -> None:
    """Ten lines of evidence are shown."""
    document = stopped_health(NODES[0])
    for number in range(40):
        held = pod(f"train-{number}", "class", 0)
        held["metadata"]["labels"] = {"app": f"a{number}"}
        held["spec"]["tolerations"] = [{"operator": "Exists"}]
        document["kubernetes"]["pods"].append(held)
    document["kubernetes"]["poddisruptionbudgets"] = [
        budget(f"b{number:02}-{twin}", selector={"matchLabels": {"app": f"a{number}"}})
        for number in range(40)
        for twin in range(2 if number < 10 else 1)
    ]
    document["aws"]["subnets"] = [{"SubnetId": "subnet-1", "AvailableIpAddressCount": 0}]

    [found] = json.loads(json.dumps(diagnose(Snapshot.read(document)).to_json()))["findings"]

    words = " ".join(found["evidence"])
    assert "tolerate every taint" in words
    assert "more than one PodDisruptionBudget (class/b00-0, class/b00-1" in words
    assert "subnet-1 has 0 available addresses" in words
    assert sum("allows no eviction" in line for line in found["evidence"]) == 5


def test_a_full_subnet_of_the_group_is_named() -> None:
    document = stopped_health(NODES[0])
    document["aws"]["nodegroup"]["subnets"] = ["subnet-1", "subnet-2"]
    document["aws"]["subnets"] = [
        {"SubnetId": "subnet-1", "AvailableIpAddressCount": 0},
        {"SubnetId": "subnet-2", "AvailableIpAddressCount": 9},
        {"SubnetId": "subnet-3", "AvailableIpAddressCount": 0},
    ]
    [found] = judge(document).findings
    assert [str(said) for said in found.evidence[1:]] == ["subnet-1 has 0 available addresses"]


def test_an_update_that_stopped_for_another_reason_is_no_matter_of_evictions() -> None:
    document = healthy()
    document["aws"]["updates"] = [
        {
            "type": "VersionUpdate",
            "status": "Failed",
            "createdAt": "2026-11-20T11:03:00Z",
            "errors": [{"errorCode": "NodeCreationFailure", "errorMessage": "new nodes are not joining"}],
        }
    ]
    assert causes(document) == []


def test_an_update_that_succeeded_long_before_hides_nothing() -> None:
    document = stopped_health(NODES[1])
    document["aws"]["updates"] = [
        {"type": "VersionUpdate", "status": "Successful", "createdAt": "2026-06-01T00:00:00Z"},
        # It began before these nodes were expected; the health of the group says that it is still so.
        {"type": "VersionUpdate", "status": "Failed", "createdAt": "2026-11-20T10:00:00Z", "errors": []},
    ]
    assert causes(document) == ["pods-not-evicted"]

    document["aws"]["updates"].append(
        {"type": "VersionUpdate", "status": "Successful", "createdAt": "2026-11-20T10:30:00Z"}
    )
    assert causes(document) == []


def test_an_update_is_read_as_the_cli_prints_it() -> None:
    document = healthy()
    error = {"errorCode": "PodEvictionFailure", "errorMessage": MESSAGE, "resourceIds": [NODES[0]]}
    update = {
        "type": "VersionUpdate",
        "status": "Failed",
        "createdAt": "2026-11-20T11:03:00Z",
        "errors": [error],
    }
    for printed in ([update], [{"update": update}], {"update": update}):
        document["aws"]["updates"] = printed
        assert causes(document) == ["pods-not-evicted"]
