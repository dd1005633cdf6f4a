"""Why Kubernetes refuses to evict pods: a PodDisruptionBudget that allows none, or two budgets for one pod.

A budget says nothing of pods that have not started, have ended or are being deleted (kubernetes,
pkg/registry/core/pod/storage/eviction.go). Where subnets are full, the successors of evicted pods may not start, and
then the budgets of those allow no further eviction.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from lamplighter.domain.diagnosis.document import Doc, docs, text
from lamplighter.domain.diagnosis.rules.budgets import Budgets, namespace_of
from lamplighter.domain.diagnosis.rules.subnets import full_subnets
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.reasons.reason import Said, reason

SHOWN = 5
"""The most pods or budgets that one sentence names, and the most budgets with a sentence each."""


def refused(snapshot: Snapshot, nodes: Collection[str], drains: Callable[[Doc], bool]) -> Iterator[Said]:
    """The budgets that keep pods on these nodes, and the subnets in which no node gets another address.

    `drains` says whether who empties the node evicts a pod.
    """
    budgets, there = Budgets(snapshot), frozenset(nodes)
    held: dict[str, list[str]] = {}
    twice: list[str] = []
    both: set[str] = set()
    for pod in snapshot.listed("kubernetes", "pods"):
        if text(pod, "spec", "nodeName") not in there or not drains(pod) or not _asks_budgets(pod):
            continue
        found, named = budgets.of(pod), f"{namespace_of(pod)}/{text(pod, 'metadata', 'name')}"
        if len(found) > 1:
            twice.append(named)
            both |= {budget.called for budget in found}
        elif found and found[0].allows_none() and found[0].counts(pod):
            held.setdefault(found[0].called, []).append(named)
    if twice:
        yield reason("finding.evidence.two-budgets", pods=first(twice), budgets=first(both))
    for name in sorted(held)[:SHOWN]:
        yield reason("finding.evidence.budget-refuses", budget=name, pods=first(held[name]))
    for subnet in full_subnets(snapshot):
        yield reason("finding.evidence.subnet-full", subnet=subnet)


def first(names: Iterable[str]) -> str:
    """The first of these names, in a line."""
    return ", ".join(sorted(names)[:SHOWN])


def owned_by(pod: Doc, kind: str) -> bool:
    """Whether an object of this kind owns the pod."""
    return any(text(owner, "kind") == kind for owner in docs(pod, "metadata", "ownerReferences"))


def _asks_budgets(pod: Doc) -> bool:
    """Whether Kubernetes looks at a pod's budgets. Nobody evicts a static pod, which belongs to its node."""
    running = text(pod, "status", "phase") not in {"Pending", "Succeeded", "Failed"}
    return running and not owned_by(pod, "Node") and not text(pod, "metadata", "deletionTimestamp")
