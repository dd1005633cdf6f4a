"""A Karpenter that does not run, classes that are not ready, the launch bar, and instance types."""

from typing import Any

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
from tests.snapshots import NODES, Document, at, event, pod, train, waiting
from tests.unit.diagnosis.table import UNREAD, change, given, table

UNKNOWN_KEY = (
    f"the controller of NodePool {NODE_POOL} does not know the requirement eks.amazonaws.com/instance-category, so it"
    " excludes no instance type"
)
KARPENTER = "kube-system/karpenter-5f9c"
SYSTEM_NODE = "ip-192-168-0-1.ap-northeast-2.compute.internal"


def others(document: Document) -> list[Document]:
    return [each for each in document["kubernetes"]["deployments"] if each["metadata"]["name"] != "karpenter"]


def down(now: float = 20, *pods: Document, parts: dict[str, Any] | None = None, **more: Any) -> Document:
    """No node is there, and Karpenter has been down since the first minute."""
    document = empty(now)
    stopped = karpenter(**{"available": 0, "minute": 1, **more})
    return given(document, *pods, **{"deployments": [*others(document), stopped]} | (parts or {}))


def says(*messages: str, now: float = 20) -> Document:
    document = pool_of(now=now)
    for message in messages:
        logged(document, message)
    return document


def controller() -> Document:
    crashing = waiting(pod("karpenter-5f9c", "kube-system", None), "CrashLoopBackOff", restarts=4)
    crashing["spec"]["nodeName"] = SYSTEM_NODE
    return crashing


def absent() -> Document:
    definitions = [{"metadata": {"name": "nodeclaims.karpenter.sh"}}]
    return given(empty(), nodepools=UNREAD, ec2nodeclasses=UNREAD, customresourcedefinitions=definitions)


DOWN = (
    "karpenter-not-ready",
    "kube-system/karpenter",
    "deployment kube-system/karpenter: 0 of 2 pods available",
)
CPU = "0/2 nodes are available: 2 Insufficient cpu."
QUEUE_LOG = {f"{KARPENTER}/main": "starting\npanic: QueueDoesNotExist: gpu-lab-karpenter"}
STARVED = pod("karpenter-5f9c", "kube-system", None, phase="Pending")
UNHEARD = f"{KARPENTER}: {says(NO_QUEUE)['logs'][f'{KARPENTER}/controller']}"
KINDS = "nodepools.karpenter.sh, ec2nodeclasses.karpenter.k8s.aws"


test_karpenter_does_not_run = table(
    ("not before five minutes", down(5), ["unknown", "karpenter"]),
    ("after that it explains the missing nodes", down(7), [DOWN]),
    ("without replicas", down(wanted=0), [(*DOWN[:2], "Deployment kube-system/karpenter has 0 replicas")]),
    ("without a Deployment", down(parts={"deployments": others(empty())}),
     [("karpenter-not-ready", "Karpenter", "the cluster has no Deployment of Karpenter")]),
    ("for want of a node, in the words of the scheduler", down(20, STARVED, parts={"events": [
     event("Pod", "karpenter-5f9c", "FailedScheduling", CPU, namespace="kube-system")]}),
     [(*DOWN, f"{KARPENTER} has no node: {CPU}")]),
    ("at once where it crashes, with its last words", down(2, controller(), parts={"logs_previous": QUEUE_LOG}),
     [(*DOWN, f"{KARPENTER}: panic: QueueDoesNotExist: gpu-lab-karpenter")]),
    ("while it runs without its queue, by its log", says(NO_QUEUE), [("interruptions-unheard", KARPENTER, UNHEARD)]),
    ("not by a line of long ago", given(says(NO_QUEUE), now=at(26)), []),
    ("for want of its kinds of object", absent(),
     [("karpenter-not-ready", "Karpenter", f"the cluster has no CustomResourceDefinition {KINDS}")]),
    ("not in Auto Mode, which has none", given(pool_of(auto=True), customresourcedefinitions=[]), []),
)  # fmt: skip


STATES = (
    (condition("AMIsReady", "False", "AMINotFound", "AMISelector did not match any AMIs"), "node-class-not-ready"),
    (condition("SubnetsReady", "False", "SubnetsNotFound", "SubnetSelector did not match any"), "node-class-not-ready"),
    (condition("SecurityGroupsReady", "False", "SecurityGroupsNotFound", "did not match any"), "node-class-not-ready"),
    (condition("ValidationSucceeded", "False", "CreateFleetAuthCheckFailed",
               "Controller isn't authorized to call ec2:CreateFleet"), "launch-denied"),
)  # fmt: skip
UNREADY = condition("Ready", "False", "UnhealthyDependents", "SubnetsReady=False")
AWAITED = condition("Ready", "Unknown", "AwaitingReconciliation", "object is awaiting reconciliation", 18.5)


test_a_class_that_is_not_ready_explains_the_missing_nodes = table(
    *((f"by its {state['type']}", given(empty(), ec2nodeclasses=[node_class(state, UNREADY)]),
       [(cause, NODE_POOL, f"{NODE_POOL} {state['type']}=False, {state['reason']}: {state['message']}")])
      for state, cause in STATES),
    ("not for two minutes", given(empty(), ec2nodeclasses=[node_class(AWAITED)]), ["unknown", "node-class"]),
    ("at once where it does not exist", given(empty(), ec2nodeclasses=[]),
     [("node-class-not-ready", NODE_POOL, f"NodePool {NODE_POOL} names NodeClass {NODE_POOL}, which does not exist")]),
    ("not where it was not read", given(empty(), ec2nodeclasses=UNREAD), ["unknown"]),
)  # fmt: skip


def bar(end: str, name: str = NODE_POOL) -> list[Document]:
    return [{"metadata": {"name": name, "namespace": "lamplighter"}, "data": {"notAfter": end}}]


def barred(document: Document, minute: float = 5, **parts: Any) -> Document:
    logged(document, BARRED, minute)
    return given(document, **parts)


def claimed(minute: float) -> Document:
    """A third node was barred before or after the last claim came."""
    document = barred(pool_of(), 1, nodepools=[node_pool(replicas=3)])
    document["kubernetes"]["nodeclaims"][0]["metadata"]["creationTimestamp"] = at(minute)
    return document


DENIED = BARRED.rpartition("is forbidden: ")[2]
REFUSED = f'{KARPENTER}: {DENIED}","NodePool":{{"name":"{NODE_POOL}"}}}}'
SHUT = "the launch bar has been shut since 2026-11-20T10:30:00Z"
AGAIN = (
    "the launch bar is open until 2026-11-20T12:40:00Z; Karpenter tries again within 1000 seconds, and at once after a"
    " change of the replicas"
)
ASKS = f"NodePool {NODE_POOL} asks for {{}} and has 0 NodeClaims"


test_a_node_pool_is_barred = table(
    ("after somebody scaled it without a lease",
     barred(empty(), expected={"nodes": 0}, nodepools=[node_pool(replicas=2)], configmaps=bar(at(-30))),
     [("launch-barred", NODE_POOL, ASKS.format("2 nodes"), REFUSED, SHUT)]),
    ("by the end of the bar alone", given(empty(), configmaps=bar(at(10))), ["launch-barred"]),
    ("not by one that is to come", given(empty(), configmaps=bar(at(100))), ["unknown"]),
    ("not by that of another", given(empty(), configmaps=bar(at(10), "x")), ["unknown"]),
    ("though it is open again", barred(empty(), configmaps=bar(at(100))),
     [("launch-barred", NODE_POOL, ASKS.format("1 node"), REFUSED, AGAIN)]),
    ("not before the lease", barred(empty(now=1), -1), ["instance-launch"]),
    ("not before a claim that came", claimed(2), []),
    ("after the last claim", claimed(0), ["launch-barred"]),
)  # fmt: skip


def unknown_key(**node: Any) -> Document:
    """Document 001 writes a key of Auto Mode in a NodePool of Karpenter."""
    document = pool_of(nodes=1)
    unknown = {"key": "eks.amazonaws.com/instance-category", "operator": "In", "values": ["g", "p"]}
    change(document, "kubernetes nodepools 0 spec template spec requirements", [unknown])
    return given(document, node=node)


def for_another_architecture() -> Document:
    """Document 000 allows arm64 and amd64, and got a T4G."""
    document = pool_of(nodes=1, auto=True)
    change(document, "kubernetes nodepools 0 spec template spec requirements 1 values", ["arm64", "amd64"])
    labels = {"node.kubernetes.io/instance-type": "g5g.xlarge", "kubernetes.io/arch": "arm64"}
    return given(document, waiting(train(), "CrashLoopBackOff", restarts=3),
                 node={f"metadata labels {label}": value for label, value in labels.items()},
                 logs={"lab/train-0/main": "exec /usr/bin/python3: exec format error"})  # fmt: skip


def by_the_chart() -> Document:
    """Document 002: the worker of discovery tolerates only nvidia.com/gpu=present."""
    document = given(pool_of(nodes=1), clusterpolicies=[], node={"status allocatable nvidia.com/gpu": "0"})
    kubernetes = document["kubernetes"]
    value = {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}
    worker = {
        "metadata": {"name": "nvdp-node-feature-discovery-worker", "namespace": "nvidia-device-plugin"},
        "spec": {"template": {"spec": {"tolerations": [value]}}},
        "status": {"desiredNumberScheduled": 0},
    }
    pods = [each for each in kubernetes["pods"] if each["spec"].get("nodeName") != NODES[0]]
    return given(document, deployments=kubernetes["deployments"][1:], daemonsets=[worker], pods=pods)


def not_initialized(now: float) -> Document:
    states = [condition("Launched", minute=0.1), condition("Registered", minute=1),
              condition("Initialized", "Unknown", "StartupTaintsExist", "StartupTaint a=b:NoSchedule still exists",
              1)]  # fmt: skip
    return given(pool_of(nodes=1, now=now), nodeclaims=[claim(0, *states)])


WITHOUT_GPU = {
    "metadata labels node.kubernetes.io/instance-type": "c6a.large",
    "status allocatable nvidia.com/gpu": UNREAD,
    "status capacity nvidia.com/gpu": UNREAD,
}
WRONG_TYPE = "wrong-instance-type"
TAINTED = "Initialized=Unknown, StartupTaintsExist: StartupTaint a=b:NoSchedule still exists"


test_a_node_is_there = table(
    ("with a requirement that Karpenter does not know, and a GPU", unknown_key(), []),
    ("with one and without a GPU", given(unknown_key(**WITHOUT_GPU), pods=[]),
     [(WRONG_TYPE, NODES[0], f"{NODES[0]} is a c6a.large, which has no NVIDIA GPU", UNKNOWN_KEY)]),
    ("of another architecture than an image", for_another_architecture(),
     [(WRONG_TYPE, "lab/train-0", "lab/train-0: exec /usr/bin/python3: exec format error",
       f"{NODES[0]} is a g5g.xlarge with the architecture arm64",
       f"NodePool {NODE_POOL} allows the architectures amd64, arm64")]),
    ("that a worker of discovery does not tolerate", by_the_chart(), ["untolerated-taint"]),
    ("that does not initialize, for a while", not_initialized(2.5), ["node-initialization"]),
    ("that does not initialize", not_initialized(4), [("unknown", NODE_POOL, f"{NODE_POOL}-abc01 {TAINTED}")]),
)  # fmt: skip
