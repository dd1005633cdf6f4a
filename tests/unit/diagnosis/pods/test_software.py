"""The GPU Operator: its deployment, its ClusterPolicy, and their normal times."""

from typing import Any

import pytest

from tests.diagnosis_cases import node_of
from tests.snapshots import (
    Document,
    at,
    daemonset,
    event,
    healthy,
    no_gpus,
    pod,
    policy,
    told,
    under_way,
    waiting,
    without,
)

SECOND = 1 / 60

NOT_READY = ("operator-not-ready", "cluster-policy")


def one(now: float = 20) -> Document:
    document = healthy(nodes=1, now=now)
    without(document, "train-waits")
    document["kubernetes"]["events"] = []
    return document


def deployment(name: str = "gpu-operator", minute: float | None = -600, **more: Any) -> Document:
    created = {} if minute is None else {"creationTimestamp": at(minute)}
    return {
        "metadata": {"name": name, "namespace": "gpu-operator", **created},
        "spec": {"replicas": 1},
        "status": {"availableReplicas": 0},
    } | more


def available(minute: float, message: str = "") -> Document:
    condition = {
        "type": "Available",
        "status": "False",
        "lastTransitionTime": at(minute),
        "message": message,
    }
    return {"availableReplicas": 0, "conditions": [condition]}


def operated(*deployments: Document, now: float = 20) -> Document:
    document = one(now)
    document["kubernetes"]["deployments"] = [*deployments]
    return document


def test_an_operator_may_be_down_for_five_minutes() -> None:
    down = ["deployment gpu-operator/gpu-operator: 0 of 1 pods available"]
    assert under_way(operated(deployment(minute=1), now=6)) == [("operator", "gpu-operator", "11:01:00")]
    assert told(operated(deployment(minute=1), now=6 + SECOND)) == [
        ("operator-not-ready", "gpu-operator", down)
    ]
    assert under_way(operated(deployment(status=available(16)))) == [("operator", "gpu-operator", "11:16:00")]
    assert told(operated(deployment(status=available(2, "no pod is ready")))) == [
        ("operator-not-ready", "gpu-operator", [*down, "no pod is ready"])
    ]
    assert under_way(operated(deployment(minute=None), now=5)) == [("operator", "gpu-operator", "11:00:00")]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (deployment("gpu-operator-node-feature-discovery-master"), "0 of 1 pods available"),
        (deployment(spec={"replicas": 3}), "0 of 3 pods available"),
        (deployment(spec={}), "0 of 1 pods available"),
        (deployment(spec={"replicas": 0}), None),
        (deployment(status={"availableReplicas": 1}), None),
        (deployment(status={"readyReplicas": 1}), None),
        (deployment("gpu-operator-node-feature-discovery-gc"), None),
        (deployment("web"), None),
    ],
)
def test_a_deployment_of_the_operator_without_a_pod_is_named(found: Document, said: str | None) -> None:
    name = found["metadata"]["name"]
    line = f"deployment gpu-operator/{name}: {said}"
    assert told(operated(deployment("web"), found)) == (
        [] if said is None else [("operator-not-ready", name, [line])]
    )


def test_an_operator_whose_image_cannot_be_pulled_or_that_waits_says_so() -> None:
    def waits(reason: str) -> Document:
        document = operated(deployment())
        document["kubernetes"]["pods"].append(waiting(pod("gpu-operator-5d9", number=None), reason, "gone"))
        return document

    assert told(waits("ErrImagePull")) == [
        ("image-pull-failed", "gpu-operator", ["gpu-operator/gpu-operator-5d9 main: ErrImagePull gone"])
    ]
    said = [
        "deployment gpu-operator/gpu-operator: 0 of 1 pods available",
        "gpu-operator/gpu-operator-5d9: ContainerCreating gone",
    ]
    assert told(waits("ContainerCreating")) == [("operator-not-ready", "gpu-operator", said)]


def test_where_deployments_were_not_read_the_operator_s_pods_say_whether_it_works() -> None:
    def unread(*more: Document) -> Document:
        document = one()
        del document["kubernetes"]["deployments"]
        crashes = waiting(
            pod("gpu-operator-5d9", number=None), "CrashLoopBackOff", "back-off 5m0s", restarts=9
        )
        document["kubernetes"]["pods"] += [crashes, *more]
        return document

    said = ["gpu-operator/gpu-operator-5d9: container main: back-off 5m0s"]
    down = ("operator-not-ready", "gpu-operator/gpu-operator-5d9", said)
    assert told(unread()) == [down]
    assert told(unread(pod("gpu-operator-7f8", number=None))) == []
    master = pod("node-feature-discovery-master-1", number=None)
    assert told(unread(master)) == [down]


def test_a_policy_may_be_not_ready_for_five_minutes() -> None:
    def policied(now: float, found: Document) -> Document:
        document = one(now)
        document["kubernetes"]["clusterpolicies"] = [found]
        return document

    plain = policy("notReady", minute=3)
    assert under_way(policied(8, plain)) == [("operator", "cluster-policy", "11:03:00")]
    line = "ClusterPolicy cluster-policy is notReady"
    assert told(policied(8 + SECOND, plain)) == [(*NOT_READY, [line])]
    error = policy("odd", reason="Odd", message="odd", minute=3)
    assert told(policied(8 + SECOND, error)) == [(*NOT_READY, [line, "Odd: odd"])]
    old = policy("notReady", minute=-90)
    assert under_way(policied(5, old)) == [("operator", "cluster-policy", "11:00:00")]
    assert told(policied(20, {"status": {"state": "notReady"}})) == [(*NOT_READY, [line])]
    assert told(policied(20, policy("ignored", reason="Odd"))) == []


@pytest.mark.parametrize(
    ("cause", "explained"),
    [
        ("xid", True),
        ("gpu-lost", False),
        ("image-pull-slow", False),
    ],
)
def test_a_policy_that_is_not_ready_is_said_where_nothing_else_explains_it(
    cause: str, *, explained: bool
) -> None:
    document = one()
    document["kubernetes"]["clusterpolicies"] = [policy("notReady")]
    if cause == "xid":
        fault = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error"}
        node_of(document, 0)["status"]["conditions"].append(fault)
    elif cause == "gpu-lost":
        document["logs"]["lab/train-0"] = "GPU is lost"
    else:
        said = 'Successfully pulled image "x" in 3m0s (3m0s including waiting)'
        document["kubernetes"]["events"] = [event("Pod", "train-0", "Pulled", said, namespace="lab")]
    assert [each[0] for each in told(document) if each[0] != cause] == (
        [] if explained else ["operator-not-ready"]
    )


def test_what_the_operator_cannot_write_is_said_whatever_else_is_found() -> None:
    document = one()
    no_gpus(document)
    document["kubernetes"]["clusterpolicies"] = [policy("notReady", reason="ReconcileFailed", message="no")]
    found = dict(each[:2] for each in told(document))
    assert found == {"operator-not-ready": "cluster-policy"}
    plain = one()
    no_gpus(plain)
    plain["kubernetes"]["clusterpolicies"] = [policy("notReady", reason="OperandNotReady", message="no")]
    assert [cause for cause, _, _ in told(plain)] == ["gpu-count-short"]


@pytest.mark.parametrize(
    ("reason", "ready", "desired", "here", "healthy_here", "said"),
    [
        ("OperandNotReady", 1, 2, 1, True, False),
        ("OperandNotReady", 1, 1, 1, True, True),
        ("OperandNotReady", 0, 1, 1, True, True),
        ("OperandNotReady", 1, 2, 2, True, True),
        ("OperandNotReady", 1, 2, 1, False, True),
        ("Odd", 1, 2, 1, True, True),
    ],
)
def test_a_policy_that_waits_for_another_pool_s_nodes_is_no_finding_of_this_one(  # noqa: PLR0913, RUF100
    reason: str, ready: int, desired: int, here: int, *, healthy_here: bool, said: bool
) -> None:
    document = one()
    document["kubernetes"]["clusterpolicies"] = [policy("notReady", reason=reason, message="x")]
    dcgm = daemonset("nvidia-dcgm", desired)
    dcgm["status"]["numberReady"] = ready
    web = daemonset("web", 9)
    web["status"]["numberReady"] = 0
    document["kubernetes"]["daemonsets"] = [daemonset(desired=1), dcgm, web]
    for number in range(here):
        document["kubernetes"]["pods"].append(
            pod(f"nvidia-dcgm-{number}", phase="Running" if healthy_here else "Pending", minute=19)
        )
    assert ("operator-not-ready" in [cause for cause, _, _ in told(document)]) is said
