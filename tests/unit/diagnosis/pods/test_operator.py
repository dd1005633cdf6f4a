"""The GPU Operator: its Deployments and its ClusterPolicy, their normal times, and what another finding explains."""

from typing import Any

from tests.snapshots import (
    NODES,
    POOL,
    Document,
    at,
    at_work,
    daemonset,
    event,
    healthy,
    node,
    pod,
    policy,
    waiting,
    without_gpus,
    without_plugin,
)
from tests.unit.diagnosis.table import DEAD, SECOND, UNREAD, Told, given, table

NODE = NODES[0]
MASTER = "node-feature-discovery-master"
POD = "gpu-operator-5d9"


def deployment(name: str = "gpu-operator", minute: float | None = -600, **more: Any) -> Document:
    created = {} if minute is None else {"creationTimestamp": at(minute)}
    metadata = {"name": name, "namespace": "gpu-operator", **created}
    return {"metadata": metadata, "spec": {"replicas": 1}, "status": {"availableReplicas": 0}} | more


def available(minute: float, message: str = "") -> Document:
    state = {"type": "Available", "status": "False", "lastTransitionTime": at(minute), "message": message}
    return {"availableReplicas": 0, "conditions": [state]}


def operated(*deployments: Document, now: float = 20, **parts: Any) -> Document:
    return given(at_work(now=now), deployments=[*deployments], **parts)


def begun(minute: str, about: str = "gpu-operator") -> list[Told]:
    return [("operator", about, f"11:{minute}:00")]


def down(*lines: str, name: str = "gpu-operator", replicas: int = 1) -> list[Told]:
    available_ = f"deployment gpu-operator/{name}: 0 of {replicas} pods available"
    return [("operator-not-ready", name, available_, *lines)]


def crashes(name: str) -> Document:
    return waiting(pod(name, number=None), "CrashLoopBackOff", "back-off", restarts=9)


def waits(reason: str, message: str = "gone", name: str = POD, **metadata: str) -> Document:
    found = waiting(pod(name, number=None), reason, message)
    found["metadata"] |= metadata
    return found


def unread(*pods: Document) -> Document:
    """Deployments were not read, and a pod of the operator crashes."""
    document = given(at_work(), deployments=UNREAD)
    document["kubernetes"]["pods"] += [crashes(POD), *pods]
    return document


def without_pod(name: str = "gpu-operator", **more: Any) -> Document:
    return operated(deployment("web"), deployment(name, **more))


CRASHES = ("operator-not-ready", f"gpu-operator/{POD}", f"gpu-operator/{POD}: container main: back-off")
NFD_MASTER = "gpu-operator-node-feature-discovery-master"
TWO = [f"gpu-operator/gpu-operator-{number}: container main: back-off" for number in (1, 2)]
LEAVES = {"deletionTimestamp": at(19)}


test_an_operator_is_down = table(
    ("for five minutes", operated(deployment(minute=1), now=6), begun("01")),
    ("and not a second more", operated(deployment(minute=1), now=6 + SECOND), down()),
    ("since it was last available", operated(deployment(status=available(16))), begun("16")),
    ("in its own words", operated(deployment(status=available(2, "no pod is ready"))), down("no pod is ready")),
    ("since the expectation where nobody says since when", operated(deployment(minute=None), now=5), begun("00")),
    ("as the master of feature discovery", without_pod(NFD_MASTER), down(name=NFD_MASTER)),
    ("with 3 replicas", without_pod(spec={"replicas": 3}), down(replicas=3)),
    ("with one by default", without_pod(spec={}), down()),
    ("not with none", without_pod(spec={"replicas": 0}), []),
    ("not with an available one", without_pod(status={"availableReplicas": 1}), []),
    ("not with a ready one", without_pod(status={"readyReplicas": 1}), []),
    ("not as another part of feature discovery", without_pod("gpu-operator-node-feature-discovery-gc"), []),
    ("not as another Deployment", without_pod("web"), []),
    ("for want of its image", given(operated(deployment()), waits("ErrImagePull")),
     [("image-pull-failed", "gpu-operator", f"gpu-operator/{POD} main: ErrImagePull gone")]),
    ("in the words of its pod", given(operated(deployment()), waits("ContainerCreating")),
     down(f"gpu-operator/{POD}: ContainerCreating gone")),
    ("not in those of a pod that leaves, or of another", given(operated(deployment()),
     waits("ContainerCreating", "1", "gpu-operator-1", **LEAVES), waits("ContainerCreating", "2", "gpu-operator-2"),
     waiting(pod("web", "lab", None), "ContainerCreating", "web")),
     down("gpu-operator/gpu-operator-2: ContainerCreating 2")),
    ("by its pods where Deployments were not read", unread(), [CRASHES]),
    ("not where another of them works", unread(pod("gpu-operator-7f8", number=None)), []),
    ("though the master works", unread(pod(f"{MASTER}-1", number=None)), [CRASHES]),
    ("by two pods, of which both speak", given(at_work(), crashes("gpu-operator-1"), crashes("gpu-operator-2"),
     deployments=UNREAD), [("operator-not-ready", "gpu-operator/gpu-operator-1", *TWO)]),
    ("though another is young", operated(deployment(minute=16, status={}), deployment(MASTER, -90, status={})),
     [("operator-not-ready", MASTER), ("operator", "gpu-operator")]),
    ("which explains a missing plugin", given(without_plugin(), daemonsets=[], deployments=[deployment()]),
     ["operator-not-ready"]),
    ("once where it is young and a node waits for it",
     given(without_plugin(), daemonsets=[], deployments=[deployment(minute=16, status={})]),
     [("device-plugin-missing", NODE), ("operator", "gpu-operator")]),
)  # fmt: skip


def policied(found: Document, now: float = 20, **parts: Any) -> Document:
    return given(at_work(now=now), clusterpolicies=[found], **parts)


def late(document: Document | None = None, *pods: Document, **parts: Any) -> Document:
    """A policy that has not been ready for a quarter of an hour, of which nobody says why."""
    return given(document or at_work(), *pods, **{"clusterpolicies": [policy("notReady", minute=5)]} | parts)


def becoming_ready() -> Document:
    document = late()
    document["kubernetes"]["nodes"][1] = node(0, ready=False, minute=18)
    return document


def operand(*counts: tuple[int | None, int | None]) -> Document:
    """A policy that waits for operands, with so many pods that are wanted and ready."""
    operands = [daemonset(f"nvidia-dcgm-{number}") for number in range(len(counts))]
    for each, (desired, ready) in zip(operands, counts, strict=True):
        each["status"] = {"desiredNumberScheduled": desired, "numberReady": ready}
    return policied(policy("notReady", reason="OperandNotReady", message="x"), daemonsets=operands)


def elsewhere(
    ready: int, desired: int, here: int, *, reason: str = "OperandNotReady", well: bool = True
) -> Document:
    dcgm, web = daemonset("nvidia-dcgm", desired), daemonset("web", 9)
    dcgm["status"]["numberReady"], web["status"]["numberReady"] = ready, 0
    pods = [pod(f"nvidia-dcgm-{n}", phase="Running" if well else "Pending", minute=19) for n in range(here)]
    document = policied(
        policy("notReady", reason=reason, message="x"), daemonsets=[daemonset(desired=1), dcgm, web]
    )
    return given(document, *pods)


def validators(ready: int, desired: int) -> Document:
    found = daemonset("nvidia-operator-validator", desired)
    found["status"]["numberReady"] = ready
    waits_ = policy(
        "notReady", reason="OperandNotReady", message="states not ready: [state-operator-validation]"
    )
    return given(healthy(), clusterpolicies=[waits_], daemonsets=[daemonset(desired=desired), found])


def of_a_young_validator() -> Document:
    return late(
        None,
        waiting(pod("nvidia-operator-validator-0", minute=18), "PodInitializing", init="cuda-validation"),
    )


POLICY = ("operator-not-ready", "cluster-policy")
LINE = "ClusterPolicy cluster-policy is notReady"
CANNOT = policy("notReady", reason="ReconcileFailed", message="no")
SETTLED = {"status conditions 0 lastTransitionTime": at(18)}
STARTS = [("container-start", "gpu-operator/nvidia-dcgm-0")]
SLOW = 'Successfully pulled image "x" in 3m0s (3m0s including waiting)'
FABRIC = {"type": "AcceleratedHardwareReady", "status": "False", "reason": "DCGMHealthCode71"}


test_a_policy_is_not_ready = table(
    ("for five minutes", policied(policy("notReady", minute=3), 8), begun("03", "cluster-policy")),
    ("and not a second more", policied(policy("notReady", minute=3), 8 + SECOND), [(*POLICY, LINE)]),
    ("in its own words", policied(policy("odd", reason="Odd", message="odd", minute=3), 8 + SECOND),
     [(*POLICY, LINE, "Odd: odd")]),
    ("since the expectation", policied(policy("notReady", minute=-90), 5), begun("00", "cluster-policy")),
    ("also without a name or a time", policied({"status": {"state": "notReady"}}), [(*POLICY, LINE)]),
    ("not where the operator ignores it", policied(policy("ignored", reason="Odd")), []),
    ("not while its operands may take their time", given(healthy(), clusterpolicies=[policy("notReady",
     reason="OperandNotReady", message="states not ready: [state-dcgm-exporter]", minute=18)]), ["operator"]),
    ("after that", given(healthy(), clusterpolicies=[policy("notReady", reason="OperandNotReady", message="x")]),
     ["operator-not-ready"]),
    ("not where a dead GPU explains it", late(conditions=[DEAD]), ["xid"]),
    ("beside a lost GPU", late(logs={"lab/train-0": "GPU is lost"}), ["gpu-lost", "operator-not-ready"]),
    ("beside a slow pull", late(events=[event("Pod", "train-0", "Pulled", SLOW, namespace="lab")]),
     ["image-pull-slow", "operator-not-ready"]),
    ("whatever else is found, if it cannot write", given(without_gpus(), clusterpolicies=[CANNOT]), [POLICY]),
    ("which explains a missing plugin", given(without_plugin(), daemonsets=[], clusterpolicies=[CANNOT]), [POLICY]),
    ("not if an operand is missing, where GPUs are", given(without_gpus(), clusterpolicies=[
     policy("notReady", reason="OperandNotReady", message="no")]), ["gpu-count-short"]),
    ("once where it is young and a node waits for it", given(without_plugin(), daemonsets=[], clusterpolicies=[
     policy("notReady", reason="ReconcileFailed", minute=16)]),
     [("device-plugin-missing", NODE), ("operator", "cluster-policy")]),
    ("not while a node becomes Ready", becoming_ready(), [("node-ready", NODE)]),
    ("not while a node announces its GPUs", late(without_plugin(), node=SETTLED), [("gpus-announced", NODE)]),
    ("not while a node is validated", of_a_young_validator(), [("validation", NODE)]),
    ("not beside what cannot be told", late(conditions=[FABRIC]), [("unknown", POOL)]),
    *((f"not while operands want pods elsewhere: {counts}", operand(*counts), [])
      for counts in ([(1, 0)], [(1, None)], [(0, 0), (1, 0)])),
    *((f"where operands want none: {counts}", operand(*counts), [POLICY])
      for counts in ([(0, 0)], [(None, None)], [(1, 1), (2, 2)])),
    ("not while another pool's nodes lack a pod", elsewhere(1, 2, 1), []),
    ("where every pod is here", elsewhere(1, 1, 1), [POLICY]),
    ("where none is ready, and one is wanted", elsewhere(0, 1, 1), [POLICY]),
    ("where both wanted pods are here", elsewhere(1, 2, 2), [POLICY]),
    ("where the one here is not well", elsewhere(1, 2, 1, well=False), [POLICY, *STARTS]),
    ("where it is not for its operands", elsewhere(1, 2, 1, reason="Odd"), [POLICY]),
    ("not while another pool's nodes are to be validated", validators(3, 4), []),
    ("while this pool's nodes are", validators(1, 2), ["operator-not-ready"]),
    ("while nobody's are", validators(2, 2), ["operator-not-ready"]),
)  # fmt: skip


RUNTIME = 'failed to get sandbox runtime: no runtime for "nvidia" is configured'
PLUGIN = "nvidia-device-plugin-daemonset-0"
COMING = waiting(pod(PLUGIN, minute=3), "ContainerCreating")
UNDER_WAY: list[Told] = [("gpus-announced", NODE, "11:03:00")]


def installing(installer: str, now: float, phase: str = "Pending", restarts: int = 0) -> Document:
    """A young node whose plugin finds no runtime, beside the pod that installs the driver or the toolkit."""
    brings = waiting(pod(f"{installer}-7xq2p", minute=3), "PodInitializing", restarts=restarts)
    brings["status"]["phase"] = phase
    return given(without_gpus(now), COMING, events=[event("Pod", PLUGIN, "FailedCreatePodSandBox", RUNTIME, 5)],
                 more={"pods": [brings]})  # fmt: skip


test_a_start_without_a_runtime = table(
    ("is expected while the driver is installed", installing("nvidia-driver-daemonset", 6), UNDER_WAY),
    ("is expected while the toolkit is installed", installing("nvidia-container-toolkit", 8), UNDER_WAY),
    ("is a finding after five minutes", installing("nvidia-driver-daemonset", 8 + SECOND), ["runtime-missing"]),
    ("is a finding beside an evicted one", installing("nvidia-driver-daemonset", 6, "Failed"), ["runtime-missing"]),
    ("is a finding beside one that fails again and again", installing("nvidia-driver-daemonset", 6, restarts=3),
     ["runtime-missing"]),
    ("is a finding where nobody installs one", installing("nvidia-dcgm", 6), ["runtime-missing"]),
)  # fmt: skip
