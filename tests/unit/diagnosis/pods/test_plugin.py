"""Device plugins that are off, missing, kept away by a taint, or crash; and the DaemonSets that a GPU needs."""

from typing import Any

from tests.diagnosis_cases import node_of
from tests.snapshots import (
    NODES,
    POOL,
    Document,
    daemonset,
    healthy,
    no_gpus,
    pod,
    policy,
    waiting,
    without_gpus,
    without_plugin,
)
from tests.unit.diagnosis.table import SECOND, UNREAD, Told, given, table

NODE = NODES[0]
PLUGIN = "nvidia-device-plugin-daemonset"
CALLED = f"gpu-operator/{PLUGIN}-0"
MISSING = f"{NODE} is Ready and offers no nvidia.com/gpu"
POLICY_OFF = policy(devicePlugin={"enabled": False})
READY = "the state of the ClusterPolicy is ready although GPUs are missing"
REFUSES = "does not tolerate nvidia.com/gpu=true:NoSchedule of"


def off(label: str = "", now: float = 6, **parts: Any) -> Document:
    """A node without a plugin: a policy or a label switched it off."""
    node = {f"metadata labels {label}": "false"} if label else {}
    return given(without_plugin(now), **{"daemonsets": [], "node": node} | parts)


DISABLED = "ClusterPolicy cluster-policy: devicePlugin.enabled is false"
OFF = ("device-plugin-disabled", "cluster-policy")
OLD = "driver/library version mismatch"


test_a_plugin_is_switched_off = table(
    *((f"by {label}", off(label), [("device-plugin-disabled", NODE, f"{NODE} has the label {label}=false")])
      for label in ("nvidia.com/gpu.deploy.device-plugin", "nvidia.com/gpu.deploy.operands")),
    ("by the policy", off(clusterpolicies=[POLICY_OFF]), [(*OFF, f"{DISABLED}, its state is ready")]),
    ("by one without name or state", off(clusterpolicies=[{"spec": {"devicePlugin": {"enabled": False}}}]),
     [(*OFF, DISABLED)]),
    ("which explains the pods that wait", off(now=20, clusterpolicies=[POLICY_OFF]), [OFF]),
    ("and hides no wrong image", off(now=20, daemonsets=[daemonset()], clusterpolicies=[POLICY_OFF],
     group={"amiType": "AL2023_x86_64_STANDARD"}), [("wrong-ami", POOL), OFF]),
    ("nor what its pods print", given(off(now=20, daemonsets=[daemonset()], clusterpolicies=[POLICY_OFF]),
     pod("nvidia-operator-validator-0"), logs={"gpu-operator/nvidia-operator-validator-0": OLD}),
     [("driver-mismatch", NODE), OFF]),
)  # fmt: skip


def crashing(now: float, restarts: int) -> Document:
    broken = waiting(pod(f"{PLUGIN}-0"), "CrashLoopBackOff", "back-off", restarts=restarts)
    return given(without_gpus(now), broken, logs_previous={CALLED: "first\nlast\n"})


def ended(exit_code: int | None) -> Document:
    broken = pod(f"{PLUGIN}-0", phase="Pending")
    broken["status"]["containerStatuses"][0]["state"] = {"terminated": {"exitCode": exit_code}}
    return given(without_gpus(), broken)


def nodes_alone() -> Document:
    document = without_plugin()
    return given(document, kubernetes={"nodes": document["kubernetes"]["nodes"]})


def crashed(restarts: int) -> list[Told]:
    return [
        ("device-plugin-missing", NODE, f"{CALLED}: container main: back-off, {restarts} restarts", "last")
    ]


NOT_READ = "kubernetes.daemonsets, kubernetes.pods, kubernetes.clusterpolicies, kubernetes.events, logs, aws.nodegroup"
NO_DAEMONSET = ("device-plugin-missing", NODE, MISSING, "there is no DaemonSet of the device plugin")


test_a_plugin_is_missing = table(
    ("not at once after two crashes", crashing(8, 2), [("gpus-announced", NODE, "11:03:00")]),
    ("after two in the end", crashing(8 + SECOND, 2), crashed(2)),
    ("at once after three", crashing(8, 3), crashed(3)),
    ("after three in the end", crashing(8 + SECOND, 3), crashed(3)),
    *((f"with exit code {code}", ended(code),
       [("device-plugin-missing", NODE, f"{CALLED}: container main: exit code {code}, 0 restarts")]) for code in (1,
       -1)),
    *((f"not with exit code {code}", ended(code), ["unknown"]) for code in (0, None)),
    ("for want of a DaemonSet", given(without_plugin(), daemonsets=[daemonset("nvidia-dcgm")]), [(*NO_DAEMONSET,
     READY)]),
    ("also without a policy", given(without_plugin(), daemonsets=[daemonset("nvidia-dcgm")], clusterpolicies=[]),
     [NO_DAEMONSET]),
    ("for want of a label", given(without_plugin(),
     node={"metadata labels nvidia.com/gpu.deploy.device-plugin": UNREAD}),
     [("device-plugin-missing", NODE, MISSING,
     f"DaemonSet {PLUGIN} has no pod on {NODE}; desired pods in the cluster: 2",
       f"{NODE} lacks the label nvidia.com/gpu.deploy.device-plugin=true")]),
    ("unknown where nothing was read",
     given(nodes_alone(), nodegroup=UNREAD, logs=UNREAD, expected={"pool": POOL}),
     [("unknown", POOL, f"{NODE} offers 0 of its 1 GPUs", f"not read: {NOT_READ}")]),
)  # fmt: skip


def refused(*daemonsets: Document, state: str = "notReady", **parts: Any) -> Document:
    return given(
        without_plugin(6), daemonsets=[*daemonsets], clusterpolicies=[policy(state, minute=5)], **parts
    )


def unread_status(name: str) -> Document:
    found = daemonset(name, 0, tolerates=False)
    del found["status"]
    return found


def intolerant(name: str, desired: int = 0) -> Document:
    return daemonset(name, desired, tolerates=False)


def untemplated(desired: int, name: str = "nfd-worker") -> Document:
    return {"metadata": {"name": name}, "status": {"desiredNumberScheduled": desired}}


def of_policy(daemonsets: Any, **spec: Any) -> Document:
    policies = [policy(daemonsets=spec)] if spec or daemonsets is UNREAD else [policy()]
    return given(without_plugin(6), daemonsets=daemonsets, clusterpolicies=policies)


def on_both_nodes() -> Document:
    document = given(
        healthy(), gone="nvidia-device nvidia-operator gpu-feature", daemonsets=[intolerant(PLUGIN)]
    )
    for number in range(2):
        no_gpus(document, number)
    return document


def without_features(*, others: bool) -> Document:
    """The chart tolerates nvidia.com/gpu=present. Without the node's features the operator labels no node."""
    document = given(healthy(), gone="nvidia- gpu-feature-discovery",
                     clusterpolicies=[policy("notReady", reason="NFDLabelsMissing",
                     message="No NFD labels found")])  # fmt: skip
    for number in range(2):
        no_gpus(document, number)
        labels = node_of(document, number)["metadata"]["labels"]
        for label in [each for each in labels if each.startswith("nvidia.com/")]:
            del labels[label]
    worker = daemonset("gpu-operator-node-feature-discovery-worker", 1)
    value = {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}
    worker["spec"]["template"]["spec"] = {"tolerations": [value]}
    waits = document["kubernetes"]["daemonsets"] if others else []
    for each in waits:
        each["status"] = {"desiredNumberScheduled": 0, "numberReady": 0}
    return given(document, daemonsets=[*waits, worker])


def blamed(name: str, *lines: str) -> list[Told]:
    return [("untolerated-taint", f"gpu-operator/{name}", *lines)]


OF_POLICY = f"ClusterPolicy daemonsets.tolerations do not tolerate nvidia.com/gpu=true:NoSchedule of {NODE}"
WAITS = ("gpus-announced", NODE)
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists"}
WORKER = "gpu-operator-node-feature-discovery-worker"


test_a_taint_keeps_away = table(
    ("the plugin, and the policy says that all is well", refused(intolerant(PLUGIN), state="ready"),
     blamed(PLUGIN, f"DaemonSet gpu-operator/{PLUGIN} {REFUSES} {NODE}, desired pods: 0", READY)),
    ("the toolkit, with pods elsewhere", refused(intolerant("nvidia-container-toolkit", 5)),
     blamed("nvidia-container-toolkit",
            f"DaemonSet gpu-operator/nvidia-container-toolkit {REFUSES} {NODE}, desired pods: 5")),
    ("a worker of which nobody counts the pods", refused(unread_status("nfd-worker")),
     blamed("nfd-worker", f"DaemonSet gpu-operator/nfd-worker {REFUSES} {NODE}")),
    ("not a plugin with pods elsewhere", refused(intolerant(PLUGIN, 1)), [WAITS]),
    ("not what no GPU needs", refused(intolerant("nvidia-dcgm")), [WAITS]),
    ("not one that has a pod on the node", given(without_plugin(), pod("nvidia-container-toolkit-0"),
     daemonsets=[intolerant("nvidia-container-toolkit")]), ["device-plugin-missing"]),
    ("on two nodes as on one", on_both_nodes(), blamed(PLUGIN)),
    ("without its template, if the policy tolerates nothing", of_policy([untemplated(0)], tolerations=[]),
     ["untolerated-taint"]),
    ("not with pods elsewhere", of_policy([untemplated(1)], tolerations=[]), [WAITS]),
    ("not if the policy tolerates everything", of_policy([untemplated(0)], tolerations=[{"operator": "Exists"}]),
     [WAITS]),
    ("without its template, if the policy says nothing",
     given(without_gpus(), gone="nvidia-device nvidia-operator gpu-feature", daemonsets=[untemplated(0, PLUGIN)]),
     ["untolerated-taint"]),
    ("whatever the policy tolerates none of, where none was read", of_policy(UNREAD, tolerations=[]),
     [("untolerated-taint", NODE, OF_POLICY)]),
    ("not where it says nothing", of_policy(UNREAD), [WAITS]),
    ("not where it tolerates the taint", of_policy(UNREAD, tolerations=[TOLERATION]), [WAITS]),
    *((f"feature discovery that tolerates another value, beside {'waiting ones' if others else 'none'}",
       without_features(others=others), blamed(WORKER)) for others in (True, False)),
)  # fmt: skip
