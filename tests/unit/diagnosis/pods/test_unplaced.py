"""Pods that wait for a node: the scheduler's words, taints, full and cordoned nodes, and refusals of the kubelet."""

from typing import Any

from tests.diagnosis_cases import node_of
from tests.snapshots import (
    NODES,
    POOL,
    TAINT,
    Document,
    at,
    at_work,
    event,
    healthy,
    no_gpus,
    node,
    pod,
    train,
)
from tests.unit.diagnosis.table import SECOND, UNREAD, Told, given, table

NODE = NODES[0]
FREE = "lab/more has no node although a GPU is free: "
NO_REASON = f"{FREE}no reason is given"
SLICE, EFA = "nvidia.com/mig-1g.5gb", "vpc.amazonaws.com/efa"


def asking(gpus: int = 1, minute: float = 3, **spec: Any) -> Document:
    found = pod("more", "lab", None, gpus=gpus, phase="Pending", minute=minute)
    found["spec"] |= spec
    return found


def requesting(*resources: str, **none: str) -> Document:
    """A pod that requests one of each, and none of others."""
    found = asking(minute=10)
    limits: Document = dict.fromkeys(resources, "1") | dict.fromkeys(none.values(), "0")
    found["spec"]["containers"][0]["resources"] = {"limits": limits}
    return found


def choosing(found: Document) -> Document:
    """The pod wants nodes that are divided."""
    found["spec"]["nodeSelector"] = {"nvidia.com/mig.config": "all-1g.5gb"}
    return found


def of_another_pool() -> Document:
    found = node(1)
    found["metadata"] = {"name": "other", "labels": {"eks.amazonaws.com/nodegroup": "other"}}
    found["status"]["allocatable"] = {SLICE: "7"}
    return found


def scheduling(said: str, name: str = "more", minute: float = 10) -> Document:
    return event("Pod", name, "FailedScheduling", said, minute, namespace="lab")


def beside(work: Document, *events: Document, now: float = 20, **parts: Any) -> Document:
    """This pod, beside a free GPU."""
    return given(at_work(now=now), work, gone="train-0", events=[*events], **parts)


def unknown(*lines: str) -> list[Told]:
    return [("unknown", POOL, *lines)]


def without_status() -> Document:
    found = asking()
    found["status"] = {}
    return found


def holding(units: str, used: int, asked: int) -> Document:
    """A node of so many GPUs, of which others hold some; what ended holds none."""
    paths = {f"status {which} nvidia.com/gpu": units for which in ("allocatable", "capacity")}
    ended = [pod(phase, "lab", 0, gpus=4, phase=phase) for phase in ("Succeeded", "Failed")]
    ended[1]["metadata"]["creationTimestamp"] = at(-9)
    held = [pod(f"holds-{number}", "lab", 0, gpus=1) for number in range(used)]
    return given(at_work(), *held, *ended, asking(asked), gone="train-0", expected={"gpus_per_node": 4},
                 node={"metadata labels nvidia.com/gpu.count": "4", **paths})  # fmt: skip


def on_two_nodes(asked: int) -> Document:
    """A node of 4 GPUs, which are held, and one of 2."""
    document = given(healthy(), gone="train", expected={"gpus_per_node": 2}, events=[])
    for number, units in enumerate(("4", "2")):
        mine = node_of(document, number)
        mine["metadata"]["labels"]["nvidia.com/gpu.count"] = units
        for which in ("allocatable", "capacity"):
            mine["status"][which]["nvidia.com/gpu"] = units
    return given(document, pod("holds", "lab", 0, gpus=4), asking(asked))


def cordoned(*events: Document, now: float = 20, **parts: Any) -> Document:
    return beside(asking(), *events, now=now, node={"spec unschedulable": True}, **parts)


def short(work: Document, now: float = 20) -> Document:
    document = at_work(now=now)
    no_gpus(document)
    return given(document, work)


def class_of(seats: int) -> Document:
    words = (
        "0/3 nodes are available: 1 node(s) didn't match Pod's node selector, 2 Insufficient nvidia.com/gpu."
    )
    names = [f"seat-{number}" for number in range(seats)]
    return given(healthy(), more={
        "pods": [pod(name, "class", None, gpus=1, phase="Pending") for name in names],
        "events": [event("Pod", name, "FailedScheduling", words, namespace="class") for name in names]})  # fmt: skip


NO_CPU, TAKEN = scheduling("0/3: 2 Insufficient cpu"), scheduling("Insufficient nvidia.com/gpu")
CORDONED = f"lab/more has no node, because {NODE} is cordoned"
UNSCHEDULABLE = "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) were unschedulable."
LATE = 11 + SECOND
MORE = asking(minute=10)


test_a_pod_waits = table(
    ("for a minute beside a free GPU", beside(MORE, now=11), [("scheduling", "lab/more", "11:10:00")]),
    ("and not a second more", beside(MORE, now=LATE), unknown(NO_REASON)),
    ("with the scheduler's reason", beside(MORE, NO_CPU, now=LATE), unknown(f"{FREE}0/3: 2 Insufficient cpu")),
    ("and what was not read", given(beside(MORE, now=LATE), events=UNREAD),
     unknown(NO_REASON, "not read: kubernetes.events")),
    ("rightly while its GPU is taken", beside(MORE, TAKEN, now=LATE), []),
    ("not by the last words", beside(MORE, TAKEN, NO_CPU, now=LATE), unknown(f"{FREE}0/3: 2 Insufficient cpu")),
    ("also without a status", beside(without_status()), unknown(NO_REASON)),
    ("in vain for the free one of 4", holding("4", 3, 1), unknown(NO_REASON)),
    ("rightly for two where one is free", holding("4", 3, 2), []),
    ("in vain for 4 of 4", holding("4", 0, 4), unknown(NO_REASON)),
    ("in vain for 5 of 4", holding("4", 0, 5),
     unknown("lab/more requests 5 GPUs, and no node of the pool has more than 4")),
    ("in vain for a slice that no node has", beside(requesting(SLICE), TAKEN, now=LATE),
     unknown(f"lab/more requests {SLICE}, and no node of the pool has it")),
    ("a minute at least for it", beside(requesting(SLICE), TAKEN, now=11), []),
    ("in vain for an adapter that no node has", beside(requesting(EFA, "nvidia.com/gpu"), TAKEN, now=LATE),
     unknown(f"lab/more requests {EFA}, and no node of the pool has it")),
    ("rightly for a GPU that is taken, with 0 adapters", beside(requesting("nvidia.com/gpu", none=EFA), TAKEN,
     now=LATE), []),
    ("for a slice while a node is being divided", beside(requesting(SLICE), TAKEN, now=LATE, node={
     "metadata labels nvidia.com/mig.config.state": "pending"}), []),
    ("for a slice of another pool", beside(requesting(SLICE), TAKEN, now=LATE, more={"nodes": [of_another_pool()]}),
     []),
    ("for a slice of another pool that is closed", beside(choosing(requesting(SLICE)), TAKEN, now=LATE), []),
    ("rightly for a slice that is taken", beside(requesting(SLICE), TAKEN, now=LATE, node={
     f"status allocatable {SLICE}": "1"}), []),
    ("rightly for more than any node has left", on_two_nodes(3), []),
    ("in vain for what one node has left", on_two_nodes(2), ["unknown"]),
    ("in vain for a node that is cordoned", cordoned(), unknown(f"{CORDONED}: no reason is given")),
    ("with the scheduler's words", cordoned(scheduling(UNSCHEDULABLE, minute=19)),
     unknown(f"{CORDONED}: {UNSCHEDULABLE}")),
    ("not at once", cordoned(now=4), []),
    ("not where no node is expected", cordoned(expected={"nodes": 0}), []),
    ("on purpose behind a gate", beside(asking(schedulingGates=[{"name": "queue"}])), []),
    ("on purpose in a suspended job", beside(asking(suspend=True)), []),
    ("in vain with a selector", beside(asking(nodeSelector={"a": "b"})), ["unknown"]),
    ("for GPUs that are missing", short(asking()), ["gpu-count-short"]),
    ("for GPUs that are still to come", short(asking(9), now=6), [("gpus-announced", NODE, "11:03:00")]),
    ("rightly while every GPU is in use", given(healthy(), asking()), []),
    ("rightly as a whole class", class_of(30), []),
    ("not for a GPU of another pool", given(healthy(), pod("elsewhere", "lab", None, gpus=1, phase="Pending",
     tolerates=False) | {"spec": {"nodeSelector": {"eks.amazonaws.com/nodegroup": "other-pool"},
     "containers": train()["spec"]["containers"]}}), []),
)  # fmt: skip


def unplaced(said: str, *pods: Document, full: bool = False) -> Document:
    """A pod that requests one GPU and has no node, beside a free or a used GPU."""
    document = given(at_work(None if full else train(number=None)), *([asking()] if full else []), *pods)
    return given(document, events=[scheduling(said, "more" if full else "train-0", 19)])


def leaving(name: str) -> Document:
    found = pod(name, "lab", 0, gpus=1)
    found["metadata"]["deletionTimestamp"] = at(19)
    return found


NODES_OF = "0/3 nodes are available: "
VICTIMS = ". preemption: 0/3 nodes are available: {} No preemption victims found."
WORDS = (
    # kube-scheduler counts a node without any GPU as lacking one. Here one node had a GPU and no memory.
    "1 Insufficient memory, 2 Insufficient nvidia.com/gpu.",
    "2 Insufficient nvidia.com/gpu, 3 Insufficient cpu, 3 Too many pods.",
    "1 node(s) had untolerated taint {a: b}, 1 Insufficient memory, 1 Insufficient nvidia.com/gpu"
    + VICTIMS.format(3),
    # A node that the pod may use refuses it for another reason.
    "1 node(s) had volume node affinity conflict, 2 Insufficient nvidia.com/gpu.",
    "1 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }, 2 Insufficient nvidia.com/gpu.",
    "1 node(s) didn't match pod anti-affinity rules, 2 Insufficient nvidia.com/gpu.",
)
SILENT = (
    # Every tried node lacks a GPU. The scheduler sees more than the snapshot has.
    f"{NODES_OF}2 Insufficient memory, 3 Insufficient nvidia.com/gpu.",
    f"{NODES_OF}1 node(s) didn't match Pod's node affinity/selector, 2 Insufficient nvidia.com/gpu"
    + VICTIMS.format(2),
    "Insufficient nvidia.com/gpu",
)
UNBOUND = f"{NODES_OF}pod has unbound immediate PersistentVolumeClaims."


test_a_pod_that_waits_for_more_than_a_gpu_is_told_in_the_scheduler_s_words = table(
    *((said, unplaced(NODES_OF + said), unknown(f"lab/train-0 has no node although a GPU is free: {NODES_OF}{said}"))
      for said in WORDS),
    *((said, unplaced(said), []) for said in SILENT),
    ("not while a pod that is being deleted holds its GPU", unplaced(NODES_OF + WORDS[0], leaving("going")), []),
    ("also beside a used GPU, for its volume", unplaced(UNBOUND, full=True),
     unknown(f"lab/more has no node: {UNBOUND}")),
    ("not for the used GPU", unplaced(f"{NODES_OF}3 Insufficient nvidia.com/gpu.", full=True), []),
)  # fmt: skip


def kept_away(message: str, *tainted: int) -> Document:
    """A pod that tolerates nothing, in the scheduler's words; these nodes have the taint of the lab."""
    work = pod("late", "lab", None, gpus=1, phase="Pending", tolerates=False)
    work["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": message}]
    document = given(healthy(), work, gone="train-waits")
    for number in range(2):
        node_of(document, number)["spec"]["taints"] = [TAINT] if number in tainted else []
    return document


def by_event(said: str, *, tolerates: bool = True) -> Document:
    work = pod("train-waits", "lab", None, gpus=1, phase="Pending", tolerates=tolerates)
    return given(healthy(), work, events=[scheduling(said, "train-waits")])


NO_NODES = given(healthy(), kubernetes={"pods": [pod("late", "lab", None, gpus=1, phase="Pending", tolerates=False)]},
                 group={"taints": [{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}]})  # fmt: skip
BY_TAINT = "2 node(s) had untolerated taint {nvidia.com/gpu: true}"
AWAY = ("untolerated-taint", "lab/late", "lab/late has no toleration for the taint {nvidia.com/gpu: true}")
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}


test_a_taint_keeps_a_pod_off_every_node = table(
    ("as the snapshot shows", kept_away("no", 0, 1), [(*AWAY, "no")]),
    ("as the scheduler says", kept_away(BY_TAINT), [(*AWAY, BY_TAINT)]),
    ("not where one node is open", kept_away(BY_TAINT, 0), []),
    ("not another taint, of other nodes", kept_away("untolerated taint {dedicated: x}"), []),
    ("by both", by_event(f"{NODES_OF}{BY_TAINT}, 1 Insufficient nvidia.com/gpu.", tolerates=False),
     [("untolerated-taint", "lab/train-waits")]),
    ("not another taint, of other nodes, beside full ones", by_event(
     f"{NODES_OF}1 node(s) had untolerated taint {{dedicated: infra}}, 2 Insufficient nvidia.com/gpu."), []),
    ("not one of a start", given(healthy(), node={"spec taints": [TAINT, UNREACHABLE]}), []),
    ("by the group where no node was read", NO_NODES, [("untolerated-taint", "lab/late"), "unknown"]),
)  # fmt: skip


def refused(minute: float = 10, phase: str = "Failed", reason: str = "UnexpectedAdmissionError",
            message: str = "no", **more: Any) -> Document:  # fmt: skip
    work = train(phase, minute=minute, **more)
    ready = [{"type": "Ready", "status": "False"}]
    work["status"] = {"phase": phase, "reason": reason, "message": message, "conditions": ready}
    return at_work(work)


def unread(*events: Document, nodes: int = 1) -> Document:
    return given(healthy(nodes), pods=UNREAD, events=[*events])


def admission(
    message: str, name: str = "train-0", minute: float = 4, reason: str = "UnexpectedAdmissionError"
) -> Document:
    return event("Pod", name, reason, message, minute, namespace="lab")


def of_kubelet(line: str, name: str = "train-0") -> list[Told]:
    return [("admission-refused", f"lab/{name}", line)]


# kubernetes issue 97131, k8s-device-plugin issue 231; its issue 1397: a restart of the plugin repairs the second.
PLUGIN_SAYS = "Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: nvml: {}"
MINE = f"lab/train-0 on {NODE}: "


test_the_kubelet_refuses_a_pod = table(
    ("by its reason", refused(), of_kubelet(f"{MINE}UnexpectedAdmissionError no")),
    ("by that of a resource", refused(reason="OutOfnvidia.com/gpu"), of_kubelet(f"{MINE}OutOfnvidia.com/gpu no")),
    ("by its message", refused(reason="x", message="UnexpectedAdmissionError"),
     of_kubelet(f"{MINE}x UnexpectedAdmissionError")),
    ("not while it runs", refused(phase="Running", reason="x", message="UnexpectedAdmissionError"), ["unknown"]),
    ("not by an eviction", refused(reason="Evicted"), ["unknown"]),
    ("for a GPU that is lost", refused(message=PLUGIN_SAYS.format("GPU is lost")), ["gpu-lost"]),
    ("for one that the plugin does not reach",
     refused(message=PLUGIN_SAYS.format("error calling nvml.Init: Unknown Error")),
     ["admission-refused"]),
    ("by its last event where pods were not read", unread(admission("first"), admission("last", minute=5),
     admission("odd", minute=6, reason="Scheduled")), of_kubelet("lab/train-0: UnexpectedAdmissionError: last")),
    ("though nobody says on which of two nodes", unread(admission("no", "more"), nodes=2),
     of_kubelet("lab/more: UnexpectedAdmissionError: no", "more")),
    ("and does not also wait", beside(without_status(), admission("no", "more")),
     of_kubelet("lab/more: UnexpectedAdmissionError: no", "more")),
)  # fmt: skip
