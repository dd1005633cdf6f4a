"""A NodeClass that is not ready: the images, subnets, security groups or rights that it names were not found.

Karpenter tries its own rights by dry runs (karpenter-provider-aws, pkg/controllers/nodeclass/validation.go), so a
missing right is known before a launch.
"""

import re

from lamplighter.domain.diagnosis.document import Doc, condition, docs, instant, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules.quotes import quote_of_condition
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.domain.diagnosis.stages import ProvisioningStage
from lamplighter.reasons.reason import reason

CAUSE = "node-class-not-ready"
_LISTS = {"EC2NodeClass": "ec2nodeclasses", "NodeClass": "nodeclasses"}
# "Controller isn't authorized to call ec2:CreateFleet", with a reason like CreateFleetAuthCheckFailed
_DENIED = re.compile(r"AuthCheckFailed|isn't authorized|not authorized|UnauthorizedOperation|AccessDenied")
_FOLLOWS = {"DependenciesNotReady", "AwaitingReconciliation"}
"""Reasons of conditions that wait for another condition."""


def ready(snapshot: Snapshot, gathered: Gathered) -> None:
    """Notes what the NodePool's class lacks, once it had the time to find it."""
    node_pool = snapshot.node_pool
    name, kind = text(node_pool.class_reference, "name"), text(node_pool.class_reference, "kind")
    node_class = node_pool.node_class
    if not node_class:
        if name and snapshot.was_read("kubernetes", _LISTS.get(kind, "")):
            absent = reason("finding.evidence.no-node-class", node_pool=node_pool.name, node_class=name)
            gathered.found(CAUSE, name, absent)
        return
    state = condition(node_class, "Ready")
    if text(state, "status") == "True":
        return
    began = instant(state, "lastTransitionTime") or instant(node_class, "metadata", "creationTimestamp")
    failed = [one for one in docs(node_class, "status", "conditions") if _lacks(one)]
    if not failed and snapshot.age(began) <= ProvisioningStage.NODE_CLASS.normal:
        gathered.progress(ProvisioningStage.NODE_CLASS, name, began or snapshot.since)
        return
    for one in failed or ([state] if state else []):
        denied = _DENIED.search(f"{text(one, 'reason')} {text(one, 'message')}")
        gathered.found("launch-denied" if denied else CAUSE, name, quote_of_condition(name, one))
    if not failed and not state:
        gathered.found(CAUSE, name, reason("finding.evidence.no-ready-condition"))


def _lacks(state: Doc) -> bool:
    """Whether the condition itself names what is missing."""
    status, why = text(state, "status"), text(state, "reason")
    return text(state, "type") != "Ready" and status == "False" and why not in _FOLLOWS
