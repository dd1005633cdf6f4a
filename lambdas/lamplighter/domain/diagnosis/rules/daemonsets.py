"""DaemonSets that a node needs for its GPUs: whether they tolerate its taints, and which label of it they miss."""

import re

from lamplighter.domain.diagnosis.document import Doc, at, doc, docs, number, text
from lamplighter.domain.diagnosis.rules.node import Node
from lamplighter.domain.diagnosis.rules.pod import Pod, is_plugin, untolerated, written
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.reasons.reason import Reason, Said, reason

_WORKER = re.compile(r"node-feature-discovery-worker$")
_DISCOVERY = re.compile(r"gpu-feature-discovery")
_COUNT = "nvidia.com/gpu.count"


def named(daemonset: Doc) -> str:
    """Its namespace and name."""
    return f"{text(daemonset, 'metadata', 'namespace')}/{text(daemonset, 'metadata', 'name')}"


def not_tolerated(snapshot: Snapshot, daemonset: Doc, node: Node) -> Doc:
    """The first taint of the node that keeps the DaemonSet's pod away; empty if there is none."""
    name = text(daemonset, "metadata", "name")
    desired = number(daemonset, "status", "desiredNumberScheduled")
    if is_plugin(name) and desired is not None and desired >= len(snapshot.nodes):
        return {}
    if any(_belongs(pod, name) for pod in snapshot.pods_on(node)):
        return {}
    template = doc(daemonset, "spec", "template", "spec")
    if template:
        return untolerated(docs(template, "tolerations"), node.taints)
    # Without a template, a desired number of 0 beside a labelled, tainted node is evidence enough.
    given = docs(snapshot.policy, "spec", "daemonsets", "tolerations")
    return untolerated(given, node.taints) if desired == 0 else {}


def not_created(snapshot: Snapshot, daemonset: Doc) -> Said:
    """Why Kubernetes refuses its pods, such as Pod Security or a quota; "" where it does not."""
    name, namespace = text(daemonset, "metadata", "name"), text(daemonset, "metadata", "namespace")
    events = snapshot.events.get(("DaemonSet", namespace, name), [])
    if not events or events[-1].reason != "FailedCreate":
        return ""
    return reason("finding.evidence.not-created", daemonset=named(daemonset), words=events[-1].message)


def refusal(daemonset: Doc, taint: Doc, node: Node) -> Reason:
    """Evidence that the DaemonSet does not tolerate the taint of the node."""
    desired = number(daemonset, "status", "desiredNumberScheduled")
    refused = reason(
        "finding.evidence.daemonset-intolerant",
        daemonset=named(daemonset),
        taint=written(taint),
        node=node.name,
    )
    return (
        refused
        if desired is None
        else reason("finding.evidence.desired-pods", evidence=refused, desired=desired)
    )


def mended(snapshot: Snapshot, daemonset: Doc, node: Node) -> Said:
    """The line of the device-plugin chart's values that lets its NFD worker run on the node; "" for anything else.

    The worker of the chart 0.18.2 tolerates only nvidia.com/gpu=present, the plugin any value (its values.yaml).
    """
    if snapshot.policy or not _WORKER.search(text(daemonset, "metadata", "name")):
        return ""
    tolerations = ", ".join(
        f"{{key: {text(taint, 'key')}, operator: Exists, effect: {text(taint, 'effect')}}}"
        for taint in node.taints
    )
    return reason("finding.evidence.plugin-chart-values", values=f"nfd.worker.tolerations: [{tolerations}]")


def unlabelling_worker(snapshot: Snapshot, node: Node) -> list[Said]:
    """Evidence that GPU feature discovery runs on the node and its labels are missing, because NFD does not run there.

    Empty if the labels are there, or are missing for another reason; the first element names the DaemonSet.
    """
    found = [pod for pod in snapshot.pods_on(node) if _DISCOVERY.search(pod.name) and pod.healthy]
    if not found or _COUNT in node.labels:
        return []
    for daemonset in snapshot.listed("kubernetes", "daemonsets"):
        taint = (
            not_tolerated(snapshot, daemonset, node)
            if _WORKER.search(text(daemonset, "metadata", "name"))
            else {}
        )
        if taint:
            unlabelled = reason("finding.evidence.label-missing", node=node.name, labels=_COUNT)
            return [
                named(daemonset),
                refusal(daemonset, taint, node),
                unlabelled,
                mended(snapshot, daemonset, node),
            ]
    return []


def missing_label(daemonset: Doc, node: Node) -> Said:
    """The label that the DaemonSet selects nodes by and that this node lacks; "" where it lacks none.

    Of the terms of an affinity one is enough, so the first one stands for all.
    """
    template = doc(daemonset, "spec", "template", "spec")
    wanted = doc(template, "nodeSelector")
    lacking = [f"{key}={value}" for key, value in wanted.items() if node.labels.get(key) != value]
    required = doc(template, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    unmet = [_unmet(docs(term, "matchExpressions"), node) for term in docs(required, "nodeSelectorTerms")]
    if not lacking and unmet and all(unmet):
        lacking = unmet[0]
    if not lacking:
        return ""
    return reason("finding.evidence.label-missing", node=node.name, labels=", ".join(lacking))


def _unmet(expressions: list[Doc], node: Node) -> list[str]:
    """The labels of a term, as key=value, that the node lacks. Only the operator In names a label with a value."""
    lacking = []
    for expression in expressions:
        key, values = text(expression, "key"), at(expression, "values")
        wanted = [str(value) for value in values] if isinstance(values, list) else []
        if text(expression, "operator") == "In" and node.labels.get(key) not in wanted:
            lacking.append(f"{key}={'|'.join(wanted)}")
    return lacking


def _belongs(pod: Pod, daemonset: str) -> bool:
    """Whether the pod is one of the DaemonSet: by its owner, or by its name where the owner was not read."""
    return pod.owner == f"DaemonSet/{daemonset}" if pod.owner else pod.name.startswith(daemonset)
