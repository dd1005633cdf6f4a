"""NVIDIA's software in full: the operator, its policy and its validator, and what each may still be waiting for."""

from typing import Any

import pytest

from tests.diagnosis_cases import node_of
from tests.snapshots import (
    NODES,
    POOL,
    Document,
    at,
    daemonset,
    event,
    healthy,
    judge,
    no_gpus,
    pod,
    policy,
    replace,
    waiting,
    without,
)

SECOND = 1 / 60
NODE = NODES[0]
VALIDATOR = "nvidia-operator-validator-0"
CALLED = f"gpu-operator/{VALIDATOR}"
PLUGIN = "nvidia-device-plugin-daemonset-0"
NOT_READY = ("operator-not-ready", "cluster-policy")


def told(document: Document) -> list[tuple[str, str, list[str]]]:
    return [(each.cause.name, each.about, list(each.evidence)) for each in judge(document).findings]


def under_way(document: Document) -> list[tuple[str, str, str]]:
    found = judge(document)
    assert found.findings == ()
    return [(each.stage.label, each.about, each.since.strftime("%H:%M:%S")) for each in found.in_progress]


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

    said = ["gpu-operator/gpu-operator-5d9: container main back-off 5m0s"]
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


def test_a_validator_may_take_five_minutes_and_three_crashes_are_enough() -> None:
    def validating(now: float, reason: str = "PodInitializing", restarts: int = 0) -> Document:
        document = one(now)
        stuck = waiting(pod(VALIDATOR, minute=4), reason, "odd", restarts=restarts, init="cuda-validation")
        replace(document, stuck)
        document["logs"][CALLED] = "first\nlast\n"
        return document

    waits = f"{CALLED}: container cuda-validation: PodInitializing odd, 0 restarts"
    assert under_way(validating(9)) == [("validation", NODE, "11:04:00")]
    assert told(validating(9 + SECOND)) == [("validator-stuck", NODE, [waits, "last"])]
    assert under_way(validating(9, "CrashLoopBackOff", 2)) == [("validation", NODE, "11:04:00")]
    assert told(validating(9, "CrashLoopBackOff", 3)) == [
        ("validator-stuck", NODE, [f"{CALLED}: container cuda-validation: odd, 3 restarts", "last"])
    ]


def test_a_validator_of_which_little_is_known_is_told_by_that() -> None:
    def validating(**status: Any) -> Document:
        document = one()
        stuck = pod(VALIDATOR, phase="Pending")
        stuck["status"] |= {"containerStatuses": [], **status}
        replace(document, stuck)
        return document

    assert told(validating()) == [("validator-stuck", NODE, [f"{CALLED} is Pending"])]
    runs = [{"name": "driver-validation", "state": {"running": {}}}, {"name": "x", "state": {}}]
    assert told(validating(initContainerStatuses=runs)) == [
        (
            "validator-stuck",
            NODE,
            [f"{CALLED}: container driver-validation: runs and does not end, 0 restarts"],
        )
    ]


def test_a_validator_whose_image_cannot_be_pulled_is_no_stuck_one() -> None:
    document = one()
    replace(document, waiting(pod(VALIDATOR), "ErrImagePull", "gone"))
    assert told(document) == [("image-pull-failed", CALLED, [f"{CALLED} main: ErrImagePull gone"])]


def test_a_validator_that_says_why_explains_its_node() -> None:
    document = one()
    replace(document, waiting(pod(VALIDATOR), "CrashLoopBackOff", "odd", restarts=5))
    document["logs"][CALLED] = "driver/library version mismatch"
    document["logs"]["lab/train-0"] = "driver/library version mismatch"
    said = [f"{CALLED}: driver/library version mismatch"]
    assert told(document) == [("driver-mismatch", NODE, said)]


def test_a_plugin_that_crashes_while_its_node_still_offers_all_is_said() -> None:
    def crashing(*, ready: bool, log: str = "") -> Document:
        document = one()
        replace(document, waiting(pod(PLUGIN), "CrashLoopBackOff", "back-off", restarts=1))
        document["logs"][f"gpu-operator/{PLUGIN}"] = log
        if not ready:
            node_of(document, 0)["status"]["conditions"][0]["status"] = "False"
        return document

    line = f"gpu-operator/{PLUGIN}: container main back-off"
    assert told(crashing(ready=True)) == [("device-plugin-missing", NODE, [line])]
    assert [cause for cause, _, _ in told(crashing(ready=False))] == ["node-not-ready"]
    said = f"gpu-operator/{PLUGIN}: driver/library version mismatch"
    assert told(crashing(ready=True, log="driver/library version mismatch")) == [
        ("driver-mismatch", NODE, [said])
    ]


@pytest.mark.parametrize(
    ("ami", "image", "driver", "wrong"),
    [
        ("AL2023_x86_64_NVIDIA", "Amazon Linux", False, None),
        ("AL2_x86_64_GPU", "Amazon Linux", False, None),
        ("CUSTOM", "Amazon Linux", False, None),
        ("AL2023_x86_64_STANDARD", "Amazon Linux", False, "amiType is AL2023_x86_64_STANDARD"),
        ("AL2023_x86_64_STANDARD", "Amazon Linux", True, None),
        ("", "Bottlerocket OS 1.50 (aws-k8s-1.35)", False, "osImage is Bottlerocket OS 1.50 (aws-k8s-1.35)"),
        ("", "Windows Server 2022", False, "osImage is Windows Server 2022"),
        ("", "Amazon Linux", False, None),
    ],
)
def test_an_image_without_a_driver_is_told_by_its_type_or_its_system(
    ami: str, image: str, wrong: str | None, *, driver: bool
) -> None:
    document = one()
    no_gpus(document)
    document["aws"]["nodegroup"]["amiType"] = ami
    node_of(document, 0)["status"]["nodeInfo"]["osImage"] = image
    document["kubernetes"]["clusterpolicies"] = [policy(driver={"enabled": driver})]
    found = [("wrong-ami", POOL, [wrong, f"{NODE} offers no GPU"])]
    short = [("gpu-count-short", NODE, [f"{NODE} offers 0 of its 1 GPUs"])]
    assert told(document) == (found if wrong else short)


def test_of_what_several_pods_say_the_most_fundamental_explains_the_node() -> None:
    document = one()
    no_gpus(document)
    texts = {
        "nvidia-operator-validator-0": "unsatisfied condition: cuda",
        "gpu-feature-discovery-0": "nvml error: driver not loaded",
        "nvidia-dcgm-0": "nvml error: driver not loaded",
    }
    document["kubernetes"]["pods"].append(pod("nvidia-dcgm-0"))
    document["logs"] = {f"gpu-operator/{name}": text for name, text in texts.items()}
    said = "nvml error: driver not loaded"
    assert told(document) == [
        (
            "driver-broken",
            NODE,
            [f"gpu-operator/gpu-feature-discovery-0: {said}", f"gpu-operator/nvidia-dcgm-0: {said}"],
        )
    ]


@pytest.mark.parametrize(
    ("name", "messages", "said"),
    [
        (
            "nvidia-dcgm",
            ["odd", 'RuntimeClass "nvidia" not found'],
            ['DaemonSet nvidia-dcgm: RuntimeClass "nvidia" not found'],
        ),
        ("nvidia-dcgm", ['RuntimeClass "nvidia" not found', "odd"], None),
        ("web", ['RuntimeClass "nvidia" not found'], None),
    ],
)
def test_a_runtime_class_is_missing_by_the_last_word_of_nvidia_s_daemonsets(
    name: str, messages: list[str], said: list[str] | None
) -> None:
    document = one()
    no_gpus(document)
    document["kubernetes"]["events"] = [
        event("DaemonSet", name, "FailedCreate", message, number)
        for number, message in enumerate(messages, 5)
    ]
    found = [evidence for cause, _, evidence in told(document) if cause == "runtime-missing"]
    assert found == ([said] if said else [])
