"""Nodes of a pool, each with its own state: a finding about one neither hides nor blames another."""

from typing import Any

from tests.diagnosis_cases import conditions, node_of
from tests.snapshots import NODES, Document, at, at_work, event, healthy, no_gpus, node, pod, policy, waiting
from tests.unit.diagnosis.table import DEAD, UNREAD, Told, given, table

FIRST, SECOND = NODES
PLUGIN = "nvidia-device-plugin-daemonset"
VALIDATOR = "nvidia-operator-validator"
STARTS = ("node-ready", FIRST, "11:19:00")


def two(first: str = "whole", *pods: Document, short: int | None = None, **parts: Any) -> Document:
    """The first node is whole, starts, or has a dead GPU; the node `short` offers none. No pod waits for a GPU."""
    document = given(healthy(), gone="train-waits", events=[])
    if first == "starts":
        given(document, gone="train-0")["kubernetes"]["nodes"][1] = node(0, ready=False, minute=19)
    elif first == "dead":
        conditions(document, 0).append(DEAD)
    if short is not None:
        no_gpus(document, short)
    return given(document, *pods, **parts)


def crashes(name: str, number: int) -> Document:
    return waiting(pod(f"{name}-{number}", number=number), "CrashLoopBackOff", "back-off", restarts=9)


def not_ready(number: int, **node_: Any) -> Document:
    """The second node is healthy or not Ready, and the first is not Ready."""
    document = healthy(**node_)
    document["kubernetes"]["nodes"][1:] = [node(0, None, ready=False), node(1, None, ready=not number)]
    return document


def waits_for(ready: bool) -> Document:
    document = healthy(now=5)
    document["kubernetes"]["nodes"][1:] = [node(0, ready=ready, minute=2), node(1, ready=False, minute=1.9)]
    return document


def off_on_the_second() -> Document:
    document = given(
        healthy(), gone="nvidia-device", clusterpolicies=[policy(devicePlugin={"enabled": False})]
    )
    document["kubernetes"]["nodes"][1] = node(0, None, ready=False)
    no_gpus(document, 1)
    return document


def tainted(*keys: str) -> Document:
    """Each node has its own taint, and a pod tolerates that of the lab alone."""
    document = given(healthy(), pod("more", "lab", None, gpus=1, phase="Pending"), gone="train-waits")
    for number, key in enumerate(keys):
        taint = {"key": key, "value": f"{key}-a", "effect": "NoSchedule"}
        node_of(document, number)["spec"]["taints"] = [taint]
    return document


STATES: tuple[tuple[str, list[Told], list[Told]], ...] = (
    ("whole", [], []),
    ("starts", [], [STARTS]),
    ("dead", [("xid", FIRST)], []),
)


test_the_second_node = table(
    *((f"is short beside one that is {first}", two(first, short=1), [*found, ("gpu-count-short", SECOND), *stage])
      for first, found, stage in STATES),
    *((f"has a stuck validator beside one that is {first}", two(first, crashes(VALIDATOR, 1)),
       [*found, ("validator-stuck", SECOND), *stage]) for first, found, stage in STATES),
    *((f"has a plugin that crashes beside one that is {first}", two(first, crashes(PLUGIN, 1)),
       [*found, ("device-plugin-missing", SECOND), *stage]) for first, found, stage in STATES),
    ("is not Ready beside one that is young", waits_for(ready=False),
     [("node-not-ready", SECOND), ("node-ready", FIRST, "11:02:00")]),
    ("is not Ready beside one that is", waits_for(ready=True), [("node-not-ready", SECOND)]),
    ("is not Ready as the first: one finding is about both", not_ready(1), [("node-not-ready", f"{FIRST}, {SECOND}")]),
    ("is without its plugin beside one that is not Ready", off_on_the_second(),
     ["node-not-ready", "device-plugin-disabled"]),
    ("has a taint of its own: the first node's is named", tainted("team", "class"),
     [("untolerated-taint", "lab/more", "lab/more has no toleration for the taint {team: team-a}")]),
)  # fmt: skip


test_this_is_not_blamed = table(
    ("a plugin that crashes where the node starts", two("starts", crashes(PLUGIN, 0)), [STARTS]),
    ("a validator that crashes where the node starts", two("starts", crashes(VALIDATOR, 0)), [STARTS]),
    ("a validator that crashes while its node's GPUs are still to come",
     two("whole", crashes(VALIDATOR, 0), short=0, node={"status conditions 0 lastTransitionTime": at(18)}),
     [("gpus-announced", FIRST, "11:18:00")]),
    ("a plugin that crashes where the GPU is dead", given(at_work(), crashes(PLUGIN, 0), conditions=[DEAD]), ["xid"]),
    ("a validator that crashes there", given(at_work(), crashes(VALIDATOR, 0), conditions=[DEAD]), ["xid"]),
    ("NVIDIA's own pod whose image cannot be pulled there", given(at_work(),
     waiting(pod("nvidia-cuda-validator-0", gpus=1), "ErrImagePull", "gone"), conditions=[DEAD]), [("xid", FIRST)]),
    ("another condition of the node there",
     given(at_work(), conditions=[{"type": "KernelReady", "status": "False", "reason": "SoftLockup"}, DEAD]), ["xid"]),
)  # fmt: skip


LOST = "GPU is lost"
NVML = "Failed to initialize NVML: Unknown Error"
MINE = [("gpu-lost", "lab/train-0")]
ENDED = {"name": "main", "state": {"terminated": {"exitCode": 1, "finishedAt": at(-5)}}}


def beside(**status: Any) -> Document:
    """A pool of one node, with one more pod at the front of the list that prints the same."""
    document = at_work()
    early = pod("early", "lab", gpus=1)
    early["status"] |= status
    document["kubernetes"]["pods"].insert(0, early)
    return given(document, logs={"lab/early": LOST, "lab/train-0": LOST})


def lost(**parts: Any) -> Document:
    return given(healthy(1), logs={"lab/train-0": f"first\n{NVML}\n"}, **parts)


SAYS = ("gpu-lost", "lab/train-0", f"lab/train-0 on {FIRST}: {NVML}")


test_a_pod_loses_its_gpu = table(
    ("while the node still offers some", lost(), [SAYS]),
    ("beside the short count where it does not", lost(node={"status allocatable nvidia.com/gpu": "0"}),
     [SAYS, ("gpu-count-short", FIRST, f"{FIRST} offers 0 of its 1 GPUs")]),
    ("though another succeeded before", beside(phase="Succeeded"), MINE),
    ("though another failed before", beside(phase="Failed", containerStatuses=[ENDED]), MINE),
    ("one that holds the same GPU speaks for both", beside(), [("gpu-lost", "lab/early")]),
    ("but not NVIDIA's own pod, which holds none",
     given(at_work(), logs={"gpu-operator/gpu-feature-discovery-0": LOST}), []),
    ("nor a pod for debugging", given(healthy(), pod("node-debugger-x", "default"),
                                      logs={"default/node-debugger-x": NVML}), []),
    ("also where pods were not read", given(healthy(1), pods=UNREAD,
     logs={"default/node-debugger-ip-192-168-12-10-x/debugger": NVML}), []),
    ("nor a pod of which nobody knows the node", given(healthy(), pods=UNREAD, logs={"lab/train-9": LOST},
     events=[event("Pod", "train-9", "Odd", "x", namespace="lab")]), []),
)  # fmt: skip
