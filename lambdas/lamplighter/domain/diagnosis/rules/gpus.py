"""Why a Ready node offers no GPU: settings, taints, driver, runtime, operator, device plugin, in this order.

What is found on a node explains all that is missing on it, so the first rule that holds ends the search.
"""

from collections.abc import Callable
from datetime import datetime

from lamplighter.domain.diagnosis.document import Doc, at, doc, docs, number, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules import hardware, software, workloads
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.rules.pod import is_plugin, untolerated, written
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import Stage

_LABELS_OFF = ("nvidia.com/gpu.deploy.device-plugin", "nvidia.com/gpu.deploy.operands")
_SEEN_RESTARTS = 3
"""Containers that ended badly so often will not come by themselves, however young the node."""

Rule = Callable[[Snapshot, Gathered, Node], bool]


def announced(snapshot: Snapshot, gathered: Gathered) -> None:
    """Every Ready node offers all its GPUs, or why it does not."""
    for node in snapshot.nodes:
        if not node.ready:
            continue
        if node.name in gathered.explained:
            # A broken GPU and a plugin that is switched off have nothing to do with each other.
            if not node.brings_plugin and not node.allocatable and node.short_of(snapshot.gpus_per_node):
                _disabled(snapshot, gathered, node)
            continue
        short = hardware.short_count(snapshot, node)
        if short is None:
            if fault := hardware.other_fault(node):
                gathered.unknown(fault)
            continue
        _explain(snapshot, gathered, node, short)


def _explain(snapshot: Snapshot, gathered: Gathered, node: Node, short: str) -> None:
    began = _began(snapshot, node)
    late = snapshot.age(began) > Stage.GPUS.normal
    rules = _AT_ONCE + (_WHEN_LATE if late else ())
    if node.brings_plugin:
        # No chart, setting or toleration has any say there.
        rules = (_silent,) if late else ()
    counted = hardware.COUNT_MISMATCH in short
    if not node.allocatable and not counted and any(rule(snapshot, gathered, node) for rule in rules):
        gathered.explained.add(node.name)
    elif counted or (late and (node.allocatable or _plugin_runs(snapshot, node))):
        gathered.found("gpu-count-short", node.name, short)
        gathered.explained.add(node.name)
    elif not late:
        gathered.progress(Stage.GPUS, node.name, began)
    else:
        keys = ("daemonsets", "pods", "clusterpolicies", "events")
        lacking = snapshot.not_read(*(f"kubernetes.{key}" for key in keys), "logs", "aws.nodegroup")
        gathered.unknown(short, lacking)


def _began(snapshot: Snapshot, node: Node) -> datetime:
    """Since when GPUs could come: the node is Ready, and its device plugin was made."""
    plugins = [pod.created for pod in snapshot.pods_on(node) if pod.plugin and pod.created]
    return max([snapshot.since, node.ready_changed or snapshot.since, *plugins])


def _plugin_runs(snapshot: Snapshot, node: Node) -> bool:
    return any(pod.plugin and pod.healthy for pod in snapshot.pods_on(node))


def _switched_off(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    """The plugin is off; beside that, what would keep the GPUs away once it is on again."""
    if not _disabled(snapshot, gathered, node):
        return False
    if not _wrong_image(snapshot, gathered, node):
        _printed(snapshot, gathered, node)
    return True


def _silent(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    """The plugin that the image brings along has announced nothing."""
    image = text(node.item, "status", "nodeInfo", "osImage") or "EKS Auto Mode"
    gathered.found(
        "device-plugin-missing",
        node.name,
        f"{node.name} is Ready and offers no nvidia.com/gpu",
        f"the device plugin of its image ({image}) is a service of the node, without a pod or a log in the cluster",
    )
    del snapshot
    return True


def _disabled(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    name = text(snapshot.policy, "metadata", "name") or "cluster-policy"
    if at(snapshot.policy, "spec", "devicePlugin", "enabled") is False and not _plugin_runs(snapshot, node):
        state = text(snapshot.policy, "status", "state")
        said = (
            f"ClusterPolicy {name}: devicePlugin.enabled is false{', its state is ' + state if state else ''}"
        )
        gathered.found("device-plugin-disabled", name, said)
        return True
    for label in _LABELS_OFF:
        if text(node.labels, label) == "false":
            gathered.found("device-plugin-disabled", node.name, f"{node.name} has the label {label}=false")
            return True
    return False


def _tainted(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    """A DaemonSet that the GPU needs does not tolerate a taint of the node."""
    if not node.taints or _plugin_here(snapshot, node):
        return False
    for daemonset in snapshot.listed("kubernetes", "daemonsets"):
        name = text(daemonset, "metadata", "name")
        if not software.needed_for_gpus(name):
            continue
        taint = _not_tolerated(snapshot, daemonset, node)
        if taint:
            called = f"{text(daemonset, 'metadata', 'namespace')}/{name}"
            desired = number(daemonset, "status", "desiredNumberScheduled")
            said = f"DaemonSet {called} does not tolerate {written(taint)} of {node.name}"
            state = text(snapshot.policy, "status", "state")
            gathered.found(
                "untolerated-taint",
                called,
                said if desired is None else f"{said}, desired pods: {desired}",
                f"ClusterPolicy state is {state} all the same" if state == "ready" else "",
            )
            return True
    if not snapshot.was_read("kubernetes", "daemonsets"):
        given = at(snapshot.policy, "spec", "daemonsets", "tolerations")
        taint = untolerated(docs(snapshot.policy, "spec", "daemonsets", "tolerations"), node.taints)
        if given is not None and taint:
            said = f"ClusterPolicy daemonsets.tolerations do not tolerate {written(taint)} of {node.name}"
            gathered.found("untolerated-taint", node.name, said)
            return True
    return False


def _not_tolerated(snapshot: Snapshot, daemonset: Doc, node: Node) -> Doc:
    name = text(daemonset, "metadata", "name")
    desired = number(daemonset, "status", "desiredNumberScheduled")
    if is_plugin(name) and desired is not None and desired >= len(snapshot.nodes):
        return {}
    if any(pod.name.startswith(name) for pod in snapshot.pods_on(node)):
        return {}
    template = doc(daemonset, "spec", "template", "spec")
    if template:
        return untolerated(docs(template, "tolerations"), node.taints)
    # Without its template, a DaemonSet that wants no pod beside a labelled, tainted node says as much.
    given = docs(snapshot.policy, "spec", "daemonsets", "tolerations")
    return untolerated(given, node.taints) if desired == 0 else {}


def _plugin_here(snapshot: Snapshot, node: Node) -> bool:
    return any(pod.plugin for pod in snapshot.pods_on(node))


def _printed(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    """What NVIDIA's own pods on the node, and the runtime about them, say."""
    pods = [pod for pod in snapshot.pods_on(node) if pod.operand]
    if software.explained_by_texts(snapshot, gathered, node, pods):
        return True
    said = software.not_created(snapshot)
    if said:
        gathered.found("runtime-missing", node.name, *said)
    return bool(said)


def _unpullable(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    found = False
    for pod in snapshot.pods_on(node) + snapshot.operator_pods:
        said = workloads.pull_failure(snapshot, pod) if pod.operand else None
        if said:
            gathered.found("image-pull-failed", pod.called, said)
            found = True
    return found


def _pulling(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    """Images of NVIDIA's pods are still being pulled, and too long."""
    found = False
    for pod in snapshot.pods_on(node):
        since = workloads.pulling_since(snapshot, pod) if pod.operand and not pod.healthy else None
        if since is not None and snapshot.age(since) > Stage.PULL.normal:
            seconds = int(snapshot.age(since).total_seconds())
            gathered.found("image-pull-slow", pod.called, f"{pod.called} has been pulling for {seconds} s")
            found = True
    return found


def _crashing(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    return any(pod.restarts >= _SEEN_RESTARTS for pod in snapshot.pods_on(node) if pod.plugin) and (
        _plugin_fails(snapshot, gathered, node)
    )


def _plugin_fails(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    for pod in snapshot.pods_on(node):
        if not pod.plugin or pod.healthy:
            continue
        crashes = list(pod.crashing())
        for name, said in crashes[:1]:
            last = snapshot.logs(pod).strip() or snapshot.logs(pod, previous=True).strip()
            gathered.found(
                "device-plugin-missing",
                node.name,
                f"{pod.called}: container {name} {said}, {pod.restarts} restarts",
                last.rpartition("\n")[2],
            )
            return True
    return False


def _validator_stuck(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    """The plugin waits for the validator, which does not get through."""
    stuck = [pod for pod in snapshot.pods_on(node) if pod.validator and list(pod.crashing())]
    for pod in stuck[:1]:
        software.stuck(snapshot, gathered, node, pod)
    return bool(stuck)


def _wrong_image(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    said = software.without_driver(snapshot, node)
    if said is None:
        return False
    gathered.found("wrong-ami", snapshot.name, said, f"{node.name} offers no GPU")
    return True


def _operator_down(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    del node
    if software.operator_down(snapshot, gathered):
        return True
    absent = snapshot.was_read("kubernetes", "daemonsets") and not _plugin_daemonsets(snapshot)
    return (absent or software.operator_failed(snapshot)) and software.policy_not_ready(snapshot, gathered)


def _plugin_absent(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    if _plugin_here(snapshot, node):
        return False
    found = _plugin_daemonsets(snapshot)
    if not found and snapshot.was_read("kubernetes", "daemonsets"):
        state = text(snapshot.policy, "status", "state")
        gathered.found(
            "device-plugin-missing",
            node.name,
            f"{node.name} is Ready and offers no nvidia.com/gpu",
            "there is no DaemonSet of the device plugin",
            f"ClusterPolicy state is {state} all the same" if state == "ready" else "",
        )
        return True
    if not found or not snapshot.was_read("kubernetes", "pods"):
        return False
    called = text(found[0], "metadata", "name")
    desired = number(found[0], "status", "desiredNumberScheduled")
    gathered.found(
        "device-plugin-missing",
        node.name,
        f"{node.name} is Ready and offers no nvidia.com/gpu",
        f"DaemonSet {called} has no pod on {node.name}; pods it wants in all: {desired}",
        _selector(found[0], node),
    )
    return True


def _selector(daemonset: Doc, node: Node) -> str:
    """The label that the DaemonSet looks for and the node does not have."""
    wanted = doc(daemonset, "spec", "template", "spec", "nodeSelector")
    lacking = [f"{key}={value}" for key, value in wanted.items() if node.labels.get(key) != value]
    return f"{node.name} lacks the label {', '.join(lacking)}" if lacking else ""


def _plugin_daemonsets(snapshot: Snapshot) -> list[Doc]:
    return [
        each
        for each in snapshot.listed("kubernetes", "daemonsets")
        if is_plugin(text(each, "metadata", "name"))
    ]


_AT_ONCE: tuple[Rule, ...] = (_switched_off, _tainted, _printed, _unpullable, _pulling, _crashing)
_WHEN_LATE: tuple[Rule, ...] = (_wrong_image, _operator_down, _plugin_fails, _validator_stuck, _plugin_absent)
