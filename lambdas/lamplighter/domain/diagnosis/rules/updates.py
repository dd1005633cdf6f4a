"""Updates of the node group that stopped because pods stayed on a node that EKS wanted to replace.

EKS says so in the group's health, and in the update itself (DescribeUpdate, `aws.updates` of a snapshot). A later
update that succeeded makes it history.
"""

from collections.abc import Iterator

from lamplighter.domain.diagnosis.document import Doc, at, doc, docs, instant, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules.budgets import namespace_of
from lamplighter.domain.diagnosis.rules.evictions import first, owned_by, refused
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.reasons.reason import Said, reason

EVICTION = "PodEvictionFailure"


def stopped(snapshot: Snapshot, gathered: Gathered) -> None:
    """The nodes whose pods EKS could not evict, what refused it, and the pods that come back to any node."""
    for failure in _failures(snapshot):
        named = at(failure, "resourceIds")
        nodes = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
        mine = [name for name in nodes if name in {node.name for node in snapshot.nodes}]
        said = reason("finding.evidence.aws-says", words=f"{EVICTION}: {_message(failure)}")
        why = [said, *_returning(snapshot, mine), *refused(snapshot, mine, _drained)]
        for about in mine or [snapshot.name]:
            gathered.found("pods-not-evicted", about, *why)


def _failures(snapshot: Snapshot) -> Iterator[Doc]:
    """The errors and health issues about pods that stayed, if no later update succeeded.

    EKS keeps updates for months: one that succeeded before says nothing of what is wrong now.
    """
    # `aws eks describe-update` prints each inside an object, and one alone is no list.
    alone = doc(snapshot.document, "aws", "updates", "update")
    listed = snapshot.listed("aws", "updates") or ([alone] if alone else [])
    read = [doc(each, "update") or each for each in listed]
    updates = [each for each in read if text(each, "type") == "VersionUpdate"]
    began = {id(each): instant(each, "createdAt") or snapshot.since for each in updates}
    done = [began[id(each)] for each in updates if text(each, "status") == "Successful"]
    for update in updates:
        at_first = began[id(update)]
        if at_first < snapshot.since or any(other > at_first for other in done):
            continue
        yield from (each for each in docs(update, "errors") if text(each, "errorCode") == EVICTION)
    last = max(updates, key=lambda each: began[id(each)], default=None)
    if last is None or text(last, "status") != "Successful":
        issues = docs(snapshot.nodegroup, "health", "issues")
        yield from (issue for issue in issues if text(issue, "code") == EVICTION)


def _message(failure: Doc) -> str:
    return text(failure, "errorMessage") or text(failure, "message")


def _returning(snapshot: Snapshot, nodes: list[str]) -> Iterator[Said]:
    """Pods that tolerate every taint: once evicted, they are placed on the same node again."""
    there = frozenset(nodes)
    names = [
        f"{namespace_of(pod)}/{text(pod, 'metadata', 'name')}"
        for pod in snapshot.listed("kubernetes", "pods")
        if text(pod, "spec", "nodeName") in there and _tolerates_all(pod) and _drained(pod)
    ]
    if names:
        yield reason("finding.evidence.tolerates-all", pods=first(names))


def _tolerates_all(pod: Doc) -> bool:
    return any(
        text(one, "operator") == "Exists" and not text(one, "key") and not text(one, "effect")
        for one in docs(pod, "spec", "tolerations")
    )


def _drained(pod: Doc) -> bool:
    """A drain leaves the pods of DaemonSets, as `kubectl drain` does. EKS says nothing of them."""
    return not owned_by(pod, "DaemonSet")
