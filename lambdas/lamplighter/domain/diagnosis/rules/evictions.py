"""Why Kubernetes refuses to evict pods: a PodDisruptionBudget that allows none, or two budgets for one pod.

A budget says nothing of pods that have not started, have ended or are being deleted, and often nothing of pods that
are not Ready (kubernetes, pkg/registry/core/pod/storage/eviction.go). Where subnets are full, the successors of
evicted pods may not start, and then the budgets of those allow no further eviction.
"""

from collections.abc import Callable, Collection, Iterator

from lamplighter.domain.diagnosis.document import Doc, at, condition, doc, docs, number, text
from lamplighter.domain.diagnosis.rules.subnets import full_subnets
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.reasons.reason import Said, reason

SHOWN = 5
"""The most pods that one sentence names."""


def refused(snapshot: Snapshot, nodes: Collection[str], drains: Callable[[Doc], bool]) -> Iterator[Said]:
    """The budgets that keep pods on these nodes, and the subnets in which no node gets another address.

    `drains` says whether who empties the node evicts a pod.
    """
    held: dict[str, list[str]] = {}
    for pod in snapshot.listed("kubernetes", "pods"):
        if text(pod, "spec", "nodeName") not in nodes or not drains(pod) or not _asks_budgets(pod):
            continue
        named = f"{_namespace(pod)}/{text(pod, 'metadata', 'name')}"
        budgets = [each for each in _budgets(snapshot) if _covers(each, pod)]
        if len(budgets) > 1:
            both = ", ".join(sorted(text(each, "metadata", "name") for each in budgets))
            yield reason("finding.evidence.two-budgets", pod=named, budgets=both)
        for budget in budgets if len(budgets) == 1 else ():
            if _allows_none(budget) and _counts(budget, pod):
                name = f"{_namespace(budget)}/{text(budget, 'metadata', 'name')}"
                held.setdefault(name, []).append(named)
    for name, pods in sorted(held.items()):
        yield reason("finding.evidence.budget-refuses", budget=name, pods=", ".join(sorted(pods)[:SHOWN]))
    for subnet in full_subnets(snapshot):
        yield reason("finding.evidence.subnet-full", subnet=subnet)


def _budgets(snapshot: Snapshot) -> list[Doc]:
    return snapshot.listed("kubernetes", "poddisruptionbudgets")


def _asks_budgets(pod: Doc) -> bool:
    """Whether Kubernetes looks at a pod's budgets. Nobody evicts a static pod, which belongs to its node."""
    running = text(pod, "status", "phase") not in {"Pending", "Succeeded", "Failed"}
    return running and not owned_by(pod, "Node") and not text(pod, "metadata", "deletionTimestamp")


def owned_by(pod: Doc, kind: str) -> bool:
    """Whether an object of this kind owns the pod."""
    return any(text(owner, "kind") == kind for owner in docs(pod, "metadata", "ownerReferences"))


def _allows_none(budget: Doc) -> bool:
    """Whether the budget is used up, or its controller has not looked at it since it was changed."""
    allowed, seen = (number(budget, "status", key) for key in ("disruptionsAllowed", "observedGeneration"))
    stale = seen is not None and seen < (number(budget, "metadata", "generation") or 0)
    return allowed is not None and (allowed <= 0 or stale)


def _covers(budget: Doc, pod: Doc) -> bool:
    """Whether the budget selects the pod. An empty selector selects all of the namespace, none at all selects none."""
    selector = at(budget, "spec", "selector")
    if _namespace(budget) != _namespace(pod) or selector is None:
        return False
    labels = doc(pod, "metadata", "labels")
    return all(labels.get(key) == value for key, value in doc(selector, "matchLabels").items()) and all(
        _holds(each, labels) for each in docs(selector, "matchExpressions")
    )


def _holds(expression: Doc, labels: Doc) -> bool:
    key, values = text(expression, "key"), at(expression, "values")
    among = key in labels and isinstance(values, list) and labels[key] in values
    return {"In": among, "NotIn": not among, "Exists": key in labels, "DoesNotExist": key not in labels}.get(
        text(expression, "operator"), False
    )


def _counts(budget: Doc, pod: Doc) -> bool:
    """Whether the eviction is one of those that the budget allows or refuses: a pod that is not Ready may be none."""
    if text(condition(pod, "Ready"), "status") == "True":
        return True
    if text(budget, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return False
    wanted, healthy = (number(budget, "status", key) or 0 for key in ("desiredHealthy", "currentHealthy"))
    return not wanted or healthy < wanted


def _namespace(item: Doc) -> str:
    return text(item, "metadata", "namespace") or "default"
