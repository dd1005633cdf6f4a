"""Nodes of a NodePool that cannot leave: pods on them are not evicted, or a volume stays attached.

Without a grace period Karpenter waits for ever for a pod with do-not-disrupt, for a PodDisruptionBudget, and for
volumes (karpenter, pkg/controllers/node/termination). With one, it deletes the pods at its end.
"""

from collections.abc import Iterator

from lamplighter.domain.diagnosis.document import Doc, docs, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules.budgets import namespace_of
from lamplighter.domain.diagnosis.rules.evictions import first, refused
from lamplighter.domain.diagnosis.rules.node_pool.claim import NodeClaim
from lamplighter.domain.diagnosis.rules.pod import untolerated
from lamplighter.domain.diagnosis.rules.quotes import quote, quote_of_condition
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import ProvisioningStage
from lamplighter.reasons.reason import Said, reason
from lamplighter.values import instant as instants

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
DISRUPTED: Doc = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
"""Karpenter's taint of a node that leaves (karpenter, pkg/apis/v1/taints.go)."""


def blocked(snapshot: Snapshot, gathered: Gathered) -> None:
    """Claims that are being deleted for longer than a drain takes. Without Karpenter none of them is drained."""
    if "karpenter-not-ready" in gathered.objects:
        return
    for claim in snapshot.claims:
        if claim.leaves is None or not claim.has("Registered"):
            continue
        about = claim.node or claim.name
        drained = claim.has("Drained")
        if drained and (claim.has("VolumesDetached") or not claim.state("VolumesDetached")):
            continue
        began = (claim.changed("Drained") if drained else None) or claim.leaves
        if snapshot.age(began) <= ProvisioningStage.DRAIN.normal:
            gathered.progress(ProvisioningStage.DRAIN, about, began)
        elif drained:
            gathered.unknown(quote_of_condition(about, claim.state("VolumesDetached")))
        else:
            gathered.found("pods-not-evicted", about, *_evidence(snapshot, claim))


def _evidence(snapshot: Snapshot, claim: NodeClaim) -> Iterator[Said]:
    for name in (claim.node, claim.name):
        for kind in ("Node", "NodeClaim"):
            for namespace in ("", "default"):
                events = snapshot.events.get((kind, namespace, name), [])
                failed = [event for event in events if event.reason == "FailedDraining"]
                yield from (quote(name, str(event)) for event in failed[-1:])
    held = list(_do_not_disrupt(snapshot, claim.node))
    if held:
        yield reason("finding.evidence.do-not-disrupt", pods=first(held))
    if claim.deadline:
        yield reason("finding.evidence.grace-ends", at=instants.written(claim.deadline))
    elif not claim.has_grace:
        yield reason("finding.evidence.no-grace", claim=claim.name)
    yield from refused(snapshot, {claim.node} - {""}, _drained)


def _drained(pod: Doc) -> bool:
    """Karpenter evicts every pod that does not tolerate its taint, and waits for one with do-not-disrupt."""
    stays = text(pod, "metadata", "annotations", DO_NOT_DISRUPT)
    return not stays and bool(untolerated(docs(pod, "spec", "tolerations"), [DISRUPTED]))


def _do_not_disrupt(snapshot: Snapshot, node: str) -> Iterator[str]:
    for pod in snapshot.listed("kubernetes", "pods"):
        here = bool(node) and text(pod, "spec", "nodeName") == node
        if here and text(pod, "metadata", "annotations", DO_NOT_DISRUPT):
            yield f"{namespace_of(pod)}/{text(pod, 'metadata', 'name')}"
