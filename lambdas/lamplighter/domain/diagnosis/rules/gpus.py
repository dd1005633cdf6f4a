"""Why a Ready node offers no GPU: settings, taints, driver, runtime, operator, device plugin, in this order.

A finding on a node explains everything that is missing on it, so the first rule that holds ends the search.
"""

from collections.abc import Callable
from datetime import datetime

from lamplighter.domain.diagnosis.document import Doc, at, docs, number, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules import daemonsets as rules_daemonsets
from lamplighter.domain.diagnosis.rules import driver, hardware, software, workloads
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.rules.pod import is_plugin, untolerated, written
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import ProvisioningStage
from lamplighter.reasons.reason import Reason, Said, reason

_LABELS_OFF = ("nvidia.com/gpu.deploy.device-plugin", "nvidia.com/gpu.deploy.operands")

Rule = Callable[[Snapshot, Gathered, Node], bool]


def announced(snapshot: Snapshot, gathered: Gathered) -> None:
    """Why Ready nodes offer fewer GPUs than they should."""
    for node in snapshot.nodes:
        if not node.ready:
            continue
        if node.name in gathered.explained:
            # A broken GPU and a plugin that is switched off are independent of each other.
            if not node.brings_plugin and not node.allocatable and node.short_of(snapshot.gpus_per_node):
                _disabled(snapshot, gathered, node)
            continue
        mismatch = hardware.count_mismatch(node)
        short = mismatch or node.short_of(snapshot.gpus_per_node)
        if short is None:
            if fault := hardware.other_fault(snapshot, node):
                gathered.unknown(fault)
            if unlabelled := rules_daemonsets.unlabelling_worker(snapshot, node):
                about, *evidence = unlabelled
                gathered.found("untolerated-taint", str(about), *evidence)
            continue
        _explain(snapshot, gathered, node, short, counted=mismatch is not None)


def _explain(snapshot: Snapshot, gathered: Gathered, node: Node, short: Reason, *, counted: bool) -> None:
    """Why the node is `short`; `counted` if the node monitoring agent itself counted too few GPUs."""
    began = _began(snapshot, node)
    late = snapshot.age(began) > ProvisioningStage.GPUS.normal
    rules = _AT_ONCE + (_WHEN_LATE if late else ())
    if node.brings_plugin:
        # No chart, setting or toleration applies to it.
        rules = (driver.too_old, _silent) if late else (driver.too_old,)
    if not node.allocatable and not counted and any(rule(snapshot, gathered, node) for rule in rules):
        gathered.explained.add(node.name)
    elif counted or (late and (node.allocatable or _plugin_runs(snapshot, node))):
        gathered.found("gpu-count-short", node.name, short)
        gathered.explained.add(node.name)
    elif not late:
        gathered.progress(ProvisioningStage.GPUS, node.name, began)
    else:
        keys = ("daemonsets", "pods", "clusterpolicies", "events")
        lacking = snapshot.not_read(*(f"kubernetes.{key}" for key in keys), "logs", "aws.nodegroup")
        gathered.unknown(short, lacking)


def _began(snapshot: Snapshot, node: Node) -> datetime:
    """Since when GPUs could appear: the node is Ready, and its device plugin was created."""
    plugins = [pod.created for pod in snapshot.pods_on(node) if pod.plugin and pod.created]
    return max([snapshot.since, node.ready_changed or snapshot.since, *plugins])


def _plugin_runs(snapshot: Snapshot, node: Node) -> bool:
    return any(pod.plugin and pod.healthy for pod in snapshot.pods_on(node))


def _switched_off(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    """The plugin is off. Beside that: what would keep the GPUs away once it is on again."""
    if not _disabled(snapshot, gathered, node):
        return False
    if not _wrong_image(snapshot, gathered, node):
        _printed(snapshot, gathered, node)
    return True


def _silent(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    """The plugin in the image has announced nothing."""
    image = text(node.item, "status", "nodeInfo", "osImage") or "EKS Auto Mode"
    gathered.found(
        "device-plugin-missing",
        node.name,
        _offers_none(node),
        reason("finding.evidence.plugin-in-image", image=image),
    )
    del snapshot
    return True


def _disabled(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    name = text(snapshot.policy, "metadata", "name") or "cluster-policy"
    if at(snapshot.policy, "spec", "devicePlugin", "enabled") is False and not _plugin_runs(snapshot, node):
        state = text(snapshot.policy, "status", "state")
        switched_off = (
            reason("finding.evidence.plugin-disabled-in-state", policy=name, state=state)
            if state
            else reason("finding.evidence.plugin-disabled", policy=name)
        )
        gathered.found("device-plugin-disabled", name, switched_off)
        return True
    for label in _LABELS_OFF:
        if text(node.labels, label) == "false":
            labelled = reason("finding.evidence.label-false", node=node.name, label=label)
            gathered.found("device-plugin-disabled", node.name, labelled)
            return True
    return False


def _tainted(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    """A DaemonSet that GPUs need does not tolerate a taint of the node."""
    if not node.taints or _plugin_here(snapshot, node):
        return False
    for daemonset in snapshot.listed("kubernetes", "daemonsets"):
        name = text(daemonset, "metadata", "name")
        if not software.needed_for_gpus(name):
            continue
        taint = rules_daemonsets.not_tolerated(snapshot, daemonset, node)
        if taint:
            gathered.found(
                "untolerated-taint",
                rules_daemonsets.named(daemonset),
                rules_daemonsets.refusal(daemonset, taint, node),
                _policy_ready(snapshot),
                rules_daemonsets.mended(snapshot, daemonset, node),
            )
            return True
    if not snapshot.was_read("kubernetes", "daemonsets"):
        given = at(snapshot.policy, "spec", "daemonsets", "tolerations")
        taint = untolerated(docs(snapshot.policy, "spec", "daemonsets", "tolerations"), node.taints)
        if given is not None and taint:
            intolerant = reason("finding.evidence.policy-intolerant", taint=written(taint), node=node.name)
            gathered.found("untolerated-taint", node.name, intolerant)
            return True
    return False


def _offers_none(node: Node) -> Reason:
    return reason("finding.evidence.offers-none", node=node.name)


def _policy_ready(snapshot: Snapshot) -> Said:
    """That the ClusterPolicy is ready although GPUs are missing; "" where it is not."""
    ready = text(snapshot.policy, "status", "state") == "ready"
    return reason("finding.evidence.policy-ready") if ready else ""


def _plugin_here(snapshot: Snapshot, node: Node) -> bool:
    return any(pod.plugin for pod in snapshot.pods_on(node))


def _printed(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    """The texts of NVIDIA's own pods on the node, and of the runtime about them."""
    pods = [pod for pod in snapshot.pods_on(node) if pod.operand]
    if software.explained_by_texts(snapshot, gathered, node, pods):
        return True
    rejected = software.not_created(snapshot)
    if rejected:
        gathered.found("runtime-missing", node.name, *rejected)
    return bool(rejected)


def _unpullable(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    failed = False
    for pod in snapshot.pods_on(node) + snapshot.operator_pods:
        failure = workloads.pull_failure(snapshot, pod) if pod.operand else None
        if failure:
            gathered.found("image-pull-failed", pod.called, failure)
            failed = True
    return failed


def _pulling(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    """The kubelet has been pulling images of NVIDIA's pods for too long."""
    slow = False
    for pod in snapshot.pods_on(node):
        since = workloads.pulling_since(snapshot, pod) if pod.operand and not pod.healthy else None
        if since is not None and snapshot.age(since) > ProvisioningStage.PULL.normal:
            gathered.found("image-pull-slow", pod.called, workloads.still_pulling(snapshot, pod, since))
            slow = True
    return slow


def _crashing(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    return any(pod.restarts >= workloads.SEEN_RESTARTS for pod in snapshot.pods_on(node) if pod.plugin) and (
        _plugin_fails(snapshot, gathered, node)
    )


def _plugin_fails(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    for pod in snapshot.pods_on(node):
        if not pod.plugin or pod.healthy:
            continue
        crashes = list(pod.crashing())
        for name, state in crashes[:1]:
            last = snapshot.logs(pod).strip() or snapshot.logs(pod, previous=True).strip()
            gathered.found(
                "device-plugin-missing",
                node.name,
                software.restarted(pod, name, state),
                last.rpartition("\n")[2],
            )
            return True
    return False


def _validator_stuck(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    """The plugin waits for the validator, which does not finish."""
    stuck = [pod for pod in snapshot.pods_on(node) if pod.validator and list(pod.crashing())]
    for pod in stuck[:1]:
        software.stuck(snapshot, gathered, node, pod)
    return bool(stuck)


def _wrong_image(snapshot: Snapshot, gathered: Gathered, node: Node) -> bool:
    image = software.without_driver(snapshot, node)
    if image is None:
        return False
    gathered.found("wrong-ami", snapshot.name, image, _offers_none(node))
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
    daemonsets = _plugin_daemonsets(snapshot)
    if not daemonsets and snapshot.was_read("kubernetes", "daemonsets"):
        gathered.found(
            "device-plugin-missing",
            node.name,
            _offers_none(node),
            reason("finding.evidence.no-plugin-daemonset"),
            _policy_ready(snapshot),
        )
        return True
    if not daemonsets or not snapshot.was_read("kubernetes", "pods"):
        return False
    desired = number(daemonsets[0], "status", "desiredNumberScheduled")
    gathered.found(
        "device-plugin-missing",
        node.name,
        _offers_none(node),
        reason(
            "finding.evidence.daemonset-without-pod",
            daemonset=text(daemonsets[0], "metadata", "name"),
            node=node.name,
            desired="?" if desired is None else str(desired),
        ),
        rules_daemonsets.missing_label(daemonsets[0], node),
        rules_daemonsets.not_created(snapshot, daemonsets[0]),
    )
    return True


def _plugin_daemonsets(snapshot: Snapshot) -> list[Doc]:
    return [
        daemonset
        for daemonset in snapshot.listed("kubernetes", "daemonsets")
        if is_plugin(text(daemonset, "metadata", "name"))
    ]


_AT_ONCE: tuple[Rule, ...] = (
    _switched_off,
    _tainted,
    driver.too_old,
    _printed,
    _unpullable,
    _pulling,
    _crashing,
)
_WHEN_LATE: tuple[Rule, ...] = (_wrong_image, _operator_down, _plugin_fails, _validator_stuck, _plugin_absent)
