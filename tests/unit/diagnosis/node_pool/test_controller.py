"""Karpenter that does not run, classes that are not ready, the launch bar, drains, and instance types."""

from typing import Any

import pytest

from tests.diagnosis_cases.node_pool import NO_QUEUE
from tests.node_pool_snapshots import (
    BARRED,
    NODE_POOL,
    claim,
    condition,
    empty,
    karpenter,
    logged,
    node_class,
    node_pool,
    pool_of,
)
from tests.snapshots import NODES, Document, at, causes, event, judge, pod, replace, stages, told, waiting

HEALTHY: dict[str, list[Document]] = {"findings": [], "in_progress": []}
ENDLESS = (
    f"NodeClaim {NODE_POOL}-abc11 has no terminationGracePeriod: Karpenter waits for these pods without end, and the"
    " node costs money"
)
UNKNOWN_KEY = (
    f"the controller of NodePool {NODE_POOL} does not know the requirement eks.amazonaws.com/instance-category, so it"
    " excludes no instance type"
)
KARPENTER = "kube-system/karpenter-5f9c"


def down(now: float = 20, **more: Any) -> Document:
    document = empty(now)
    others = [
        each for each in document["kubernetes"]["deployments"] if each["metadata"]["name"] != "karpenter"
    ]
    document["kubernetes"]["deployments"] = [*others, karpenter(**{"available": 0, "minute": 1, **more})]
    return document


def test_a_karpenter_that_does_not_run_explains_the_missing_nodes() -> None:
    assert stages(down(5)) == ["karpenter"]
    assert told(down(7)) == [
        (
            "karpenter-not-ready",
            "kube-system/karpenter",
            ["deployment kube-system/karpenter: 0 of 2 pods available"],
        )
    ]
    assert told(down(wanted=0))[0][2] == ["Deployment kube-system/karpenter has 0 replicas"]
    absent = down()
    absent["kubernetes"]["deployments"].pop()
    assert told(absent) == [
        ("karpenter-not-ready", "Karpenter", ["the cluster has no Deployment of Karpenter"])
    ]


def test_a_karpenter_that_is_starved_is_told_in_the_words_of_the_scheduler() -> None:
    document = down()
    starved = pod("karpenter-5f9c", "kube-system", None, phase="Pending")
    replace(document, starved)
    words = "0/2 nodes are available: 2 Insufficient cpu."
    document["kubernetes"]["events"] = [
        event("Pod", "karpenter-5f9c", "FailedScheduling", words, namespace="kube-system")
    ]
    assert told(document)[0][2][1] == f"{KARPENTER} has no node: {words}"


def test_a_karpenter_that_crashes_is_told_at_once_with_its_last_words() -> None:
    document = down(2)
    crashing = waiting(pod("karpenter-5f9c", "kube-system", None), "CrashLoopBackOff", restarts=4)
    crashing["spec"]["nodeName"] = "ip-192-168-0-1.ap-northeast-2.compute.internal"
    replace(document, crashing)
    document["logs_previous"] = {f"{KARPENTER}/main": "starting\npanic: QueueDoesNotExist: gpu-lab-karpenter"}
    assert told(document)[0][2][1] == f"{KARPENTER}: panic: QueueDoesNotExist: gpu-lab-karpenter"


def test_a_running_karpenter_without_its_queue_is_told_by_its_log() -> None:
    document = pool_of()
    logged(document, NO_QUEUE)
    [(cause, about, [line])] = told(document)
    assert (cause, about) == ("interruptions-unheard", KARPENTER)
    assert "NonExistentQueue" in line
    document["now"] = at(26)
    assert causes(document) == []


def test_absent_kinds_of_object_are_named() -> None:
    document = empty()
    del document["kubernetes"]["nodepools"], document["kubernetes"]["ec2nodeclasses"]
    document["kubernetes"]["customresourcedefinitions"] = [{"metadata": {"name": "nodeclaims.karpenter.sh"}}]
    names = "nodepools.karpenter.sh, ec2nodeclasses.karpenter.k8s.aws"
    assert told(document) == [
        ("karpenter-not-ready", "Karpenter", [f"the cluster has no CustomResourceDefinition {names}"])
    ]


def test_auto_mode_has_no_karpenter_to_look_at() -> None:
    document = pool_of(auto=True)
    document["kubernetes"]["customresourcedefinitions"] = []
    assert judge(document).to_json() == HEALTHY


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        (condition("AMIsReady", "False", "AMINotFound", "AMISelector did not match any AMIs"), "class"),
        (
            condition("SubnetsReady", "False", "SubnetsNotFound", "SubnetSelector did not match any Subnets"),
            "class",
        ),
        (condition("SecurityGroupsReady", "False", "SecurityGroupsNotFound", "did not match any"), "class"),
        (
            condition(
                "ValidationSucceeded",
                "False",
                "CreateFleetAuthCheckFailed",
                "Controller isn't authorized to call ec2:CreateFleet",
            ),
            "denied",
        ),
    ],
)
def test_a_class_that_is_not_ready_explains_the_missing_nodes(state: Document, cause: str) -> None:
    document = empty()
    unready = condition("Ready", "False", "UnhealthyDependents", "SubnetsReady=False")
    document["kubernetes"]["ec2nodeclasses"] = [node_class(state, unready)]

    [(found, about, [line])] = told(document)

    assert found == {"class": "node-class-not-ready", "denied": "launch-denied"}[cause]
    assert about == NODE_POOL
    assert line == f"{NODE_POOL} {state['type']}=False, {state['reason']}: {state['message']}"


def test_a_class_may_take_two_minutes_and_one_that_does_not_exist_takes_none() -> None:
    unknown = condition(
        "Ready", "Unknown", "AwaitingReconciliation", "object is awaiting reconciliation", 18.5
    )
    document = empty(now=20)
    document["kubernetes"]["ec2nodeclasses"] = [node_class(unknown)]
    assert "node-class" in stages(document)
    document["kubernetes"]["ec2nodeclasses"] = []
    [(cause, _, evidence)] = told(document)
    assert cause == "node-class-not-ready"
    assert evidence == [f"NodePool {NODE_POOL} names NodeClass {NODE_POOL}, which does not exist"]
    del document["kubernetes"]["ec2nodeclasses"]
    assert causes(document) == ["unknown"]


def bar(end: str) -> Document:
    return {"metadata": {"name": NODE_POOL, "namespace": "lamplighter"}, "data": {"notAfter": end}}


def test_a_node_pool_that_somebody_scaled_without_a_lease_is_barred() -> None:
    document = empty()
    document["expected"]["nodes"] = 0
    document["kubernetes"]["nodepools"] = [node_pool(replicas=2)]
    logged(document, BARRED)
    document["kubernetes"]["configmaps"] = [bar(at(-30))]

    [(cause, about, evidence)] = told(document)

    assert (cause, about) == ("launch-barred", NODE_POOL)
    assert evidence[0] == f"NodePool {NODE_POOL} asks for 2 nodes and has 0 NodeClaims"
    assert "denied request: lamplighter: no lease for NodePool gpu-lab-gpu" in evidence[1]
    assert evidence[2] == "the launch bar has been shut since 2026-11-20T10:30:00Z"


def test_the_end_of_the_bar_alone_tells_it_too() -> None:
    document = empty()
    document["kubernetes"]["configmaps"] = [bar(at(10))]
    assert causes(document) == ["launch-barred"]
    document["kubernetes"]["configmaps"] = [bar(at(100))]
    assert causes(document) == ["unknown"]
    document["kubernetes"]["configmaps"] = [
        {**bar(at(10)), "metadata": {"name": "x", "namespace": "lamplighter"}}
    ]
    assert causes(document) == ["unknown"]


def test_a_bar_that_is_open_again_says_when_karpenter_tries_again() -> None:
    document = empty()
    logged(document, BARRED)
    document["kubernetes"]["configmaps"] = [bar(at(100))]
    [(cause, _, evidence)] = told(document)
    assert cause == "launch-barred"
    assert evidence[-1] == (
        "the launch bar is open until 2026-11-20T12:40:00Z; Karpenter tries again within 1000 seconds, and at once"
        " after a change of the replicas"
    )


def test_a_refusal_before_a_claim_that_came_or_before_the_lease_is_history() -> None:
    document = empty(now=1)
    logged(document, BARRED, minute=-1)
    assert causes(document) == []
    document = pool_of()
    logged(document, BARRED, minute=1)
    document["kubernetes"]["nodepools"] = [node_pool(replicas=3)]
    document["kubernetes"]["nodeclaims"][0]["metadata"]["creationTimestamp"] = at(2)
    assert causes(document) == []
    document["kubernetes"]["nodeclaims"][0]["metadata"]["creationTimestamp"] = at(0)
    assert causes(document) == ["launch-barred"]


def leaving(now: float, *states: Document, **metadata: Any) -> Document:
    document = pool_of(now=now)
    document["expected"]["nodes"] = 1
    document["kubernetes"]["nodepools"] = [node_pool(replicas=1)]
    launched = [condition("Launched", minute=0.1), condition("Registered", minute=1)]
    kept = claim(1, *launched, *states, deletionTimestamp=at(10), **metadata)
    document["kubernetes"]["nodeclaims"][1] = kept
    document["kubernetes"]["nodes"][2]["metadata"]["deletionTimestamp"] = at(10)
    document["kubernetes"]["pods"] = [
        each for each in document["kubernetes"]["pods"] if each["spec"].get("nodeName") != NODES[1]
    ]
    return document


DRAINS = condition("Drained", "Unknown", "Draining", minute=10)


def test_a_node_may_drain_for_two_minutes() -> None:
    assert stages(leaving(11, DRAINS)) == ["node-drain"]
    assert causes(leaving(13, DRAINS)) == ["pods-not-evicted"]


@pytest.mark.parametrize(
    ("changes", "held"),
    [
        ({}, True),
        ({"owner": "DaemonSet/agent"}, True),
        ({"tolerations": [{"operator": "Exists"}]}, False),
        ({"tolerations": [{"key": "karpenter.sh/disrupted", "operator": "Exists"}]}, False),
        ({"annotations": {"karpenter.sh/do-not-disrupt": "true"}}, False),
    ],
)
def test_a_budget_is_named_for_each_pod_that_karpenter_evicts(changes: dict[str, Any], held: bool) -> None:
    document = leaving(20, DRAINS)
    kept = pod("agent-1", "lab", 1, owner=changes.get("owner", "ReplicaSet/agent"))
    kept["metadata"]["annotations"] = changes.get("annotations", {})
    kept["spec"]["tolerations"] += changes.get("tolerations", [])
    document["kubernetes"]["pods"].append(kept)
    document["kubernetes"]["poddisruptionbudgets"] = [
        {
            "metadata": {"name": "agents", "namespace": "lab"},
            "spec": {"selector": {}},
            "status": {"disruptionsAllowed": 0, "desiredHealthy": 1, "currentHealthy": 1},
        }
    ]

    [(_, _, evidence)] = told(document)

    said = "the PodDisruptionBudget lab/agents allows no eviction of lab/agent-1"
    assert (said in evidence) is held


def test_what_holds_a_node_is_named() -> None:
    document = leaving(20, DRAINS)
    del document["kubernetes"]["nodeclaims"][1]["spec"]["terminationGracePeriod"]
    stubborn = pod("train-9", "lab", 1, gpus=1)
    stubborn["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true", "token": "s3cret"}
    document["kubernetes"]["pods"].append(stubborn)
    words = "Failed to drain node, evicting pod violates a PDB (Pod=lab/train-9)"
    document["kubernetes"]["events"] = [event("Node", NODES[1], "FailedDraining", words, 19)]

    [(cause, about, evidence)] = told(document)

    assert (cause, about) == ("pods-not-evicted", NODES[1])
    assert evidence == [
        f"{NODES[1]}: FailedDraining: {words}",
        "pods with the annotation karpenter.sh/do-not-disrupt are on the node: lab/train-9",
        ENDLESS,
    ]


def test_a_grace_that_ends_is_told() -> None:
    annotations = {"karpenter.sh/nodeclaim-termination-timestamp": at(25)}
    [(_, _, evidence)] = told(leaving(20, DRAINS, annotations=annotations))
    assert evidence == ["Karpenter deletes the pods that are left at 2026-11-20T11:25:00Z"]


def test_a_volume_that_stays_attached_is_told_and_a_node_that_is_shutting_down_is_not() -> None:
    drained = condition("Drained", minute=11)
    volumes = condition(
        "VolumesDetached", "Unknown", "AwaitingVolumeDetachment", "AwaitingVolumeDetachment", 11
    )
    [(cause, _, [line])] = told(leaving(20, drained, volumes))
    assert (cause, line) == (
        "unknown",
        f"{NODES[1]} VolumesDetached=Unknown, AwaitingVolumeDetachment: AwaitingVolumeDetachment",
    )
    assert causes(leaving(20, drained, condition("VolumesDetached", minute=11))) == []


def test_without_karpenter_no_pod_is_blamed_for_a_node_that_stays() -> None:
    document = leaving(20, DRAINS)
    document["kubernetes"]["deployments"][-1] = karpenter(available=0, minute=2)
    assert causes(document) == ["karpenter-not-ready"]


def test_a_requirement_that_karpenter_does_not_know_is_named_beside_a_node_without_a_gpu() -> None:
    """Document 001 writes a key of Auto Mode in a NodePool of Karpenter."""
    document = pool_of(nodes=1)
    unknown = {"key": "eks.amazonaws.com/instance-category", "operator": "In", "values": ["g", "p"]}
    template = document["kubernetes"]["nodepools"][0]["spec"]["template"]["spec"]
    template["requirements"] = [unknown]
    node = document["kubernetes"]["nodes"][1]
    assert causes(document) == []

    node["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "c6a.large"
    node["status"]["allocatable"].pop("nvidia.com/gpu")
    node["status"]["capacity"].pop("nvidia.com/gpu")
    document["kubernetes"]["pods"] = []
    [(cause, about, evidence)] = told(document)

    assert (cause, about) == ("wrong-instance-type", NODES[0])
    assert evidence == [
        f"{NODES[0]} is a c6a.large, which has no NVIDIA GPU",
        UNKNOWN_KEY,
    ]


def test_an_image_for_x86_on_an_arm_node_is_told_with_the_architectures_that_the_pool_allows() -> None:
    """Document 000 allows arm64 and amd64, and got a T4G."""
    document = pool_of(nodes=1, auto=True)
    requirements = document["kubernetes"]["nodepools"][0]["spec"]["template"]["spec"]["requirements"]
    requirements[1]["values"] = ["arm64", "amd64"]
    labels = document["kubernetes"]["nodes"][1]["metadata"]["labels"]
    labels |= {"node.kubernetes.io/instance-type": "g5g.xlarge", "kubernetes.io/arch": "arm64"}
    replace(document, waiting(pod("train-0", "lab", 0, gpus=1), "CrashLoopBackOff", restarts=3))
    document["logs"] = {"lab/train-0/main": "exec /usr/bin/python3: exec format error"}

    [(cause, about, evidence)] = told(document)

    assert (cause, about) == ("wrong-instance-type", "lab/train-0")
    assert evidence == [
        "lab/train-0: exec /usr/bin/python3: exec format error",
        f"{NODES[0]} is a g5g.xlarge with the architecture arm64",
        f"NodePool {NODE_POOL} allows the architectures amd64, arm64",
    ]


def test_a_node_that_does_not_initialize_is_in_progress_and_then_quoted() -> None:
    taint = condition(
        "Initialized", "Unknown", "StartupTaintsExist", "StartupTaint a=b:NoSchedule still exists", 1
    )
    document = pool_of(nodes=1, now=2.5)
    document["kubernetes"]["nodeclaims"] = [
        claim(0, condition("Launched", minute=0.1), condition("Registered", minute=1), taint)
    ]
    assert stages(document) == ["node-initialization"]
    document["now"] = at(4)
    [(cause, _, [line])] = told(document)
    assert (cause, line) == (
        "unknown",
        f"{NODE_POOL}-abc01 Initialized=Unknown, StartupTaintsExist: StartupTaint a=b:NoSchedule still exists",
    )


def test_the_worker_of_discovery_that_does_not_tolerate_the_taint_is_found_on_karpenter_s_nodes_too() -> None:
    """Document 002: the worker tolerates only nvidia.com/gpu=present."""
    document = pool_of(nodes=1)
    kubernetes = document["kubernetes"]
    kubernetes["clusterpolicies"] = []
    kubernetes["deployments"] = kubernetes["deployments"][1:]
    node = kubernetes["nodes"][1]
    node["status"]["allocatable"]["nvidia.com/gpu"] = "0"
    kubernetes["pods"] = [each for each in kubernetes["pods"] if each["spec"].get("nodeName") != NODES[0]]
    worker: Document = {
        "metadata": {"name": "nvdp-node-feature-discovery-worker", "namespace": "nvidia-device-plugin"},
        "spec": {
            "template": {
                "spec": {
                    "tolerations": [
                        {
                            "key": "nvidia.com/gpu",
                            "operator": "Equal",
                            "value": "present",
                            "effect": "NoSchedule",
                        }
                    ]
                }
            }
        },
        "status": {"desiredNumberScheduled": 0},
    }
    kubernetes["daemonsets"] = [worker]
    assert causes(document) == ["untolerated-taint"]
