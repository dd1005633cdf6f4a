"""Instances of a NodePool that never register: what their NodeClaims, their image and those before them tell.

Karpenter ends an instance that has not registered after 15 minutes and starts the next one, for ever (karpenter,
pkg/controllers/nodeclaim/lifecycle/liveness.go). So an instance that is young may be the tenth of its kind.
"""

import re
from datetime import UTC, datetime, timedelta

from lamplighter.domain.diagnosis.document import Doc, condition, docs, instant, text
from lamplighter.domain.diagnosis.rules.quotes import quote_of_condition
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.reasons.reason import Said, reason

REGISTRATION = timedelta(minutes=15)
ENDING = timedelta(minutes=2)
"""From Karpenter's decision to the moment that EC2 notes."""
_GONE = {"terminated", "shutting-down"}
_ENDED_AT = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:GMT|UTC)\)")
# AWS names its Deep Learning AMIs so. They have driver and frameworks, and neither nodeadm nor a kubelet for EKS.
_DEEP_LEARNING = re.compile(r"^Deep Learning\b", re.IGNORECASE)
_BY_AWS = ("alias", "ssmParameter")
"""Terms of a NodeClass that can only find images made for EKS."""


def registration(snapshot: Snapshot, instance: str) -> list[Said]:
    """What the NodeClaim of an instance says about its registration."""
    return [
        quote_of_condition(claim.name, claim.state("Registered"))
        for claim in snapshot.claims
        if claim.instance == instance and claim.state("Registered") and not claim.has("Registered")
    ]


def given_up(snapshot: Snapshot) -> list[Said]:
    """That Karpenter gave up instances of the pool since the expectation began; empty where it gave up none."""
    node_pool = snapshot.node_pool
    health = condition(node_pool.document, "NodeRegistrationHealthy")
    changed = instant(health, "lastTransitionTime")
    failed = text(health, "status") == "False" and text(health, "reason") == "RegistrationFailed"
    evidence: list[Said] = []
    if failed and (changed is None or changed >= snapshot.since):
        evidence.append(quote_of_condition(node_pool.name, health))
    if ended := _ended_unregistered(snapshot):
        minutes = int(REGISTRATION.total_seconds() // 60)
        evidence.append(reason("finding.evidence.registration-loop", count=ended, minutes=minutes))
    return evidence


def image(snapshot: Snapshot, instance: Doc) -> tuple[bool, list[Said]]:
    """Whether the image cannot join any cluster of EKS, and what is known of it."""
    node_class = snapshot.node_pool.node_class
    if not node_class:
        return False, []
    amis = docs(node_class, "status", "amis")
    given = text(instance, "ImageId")
    used = [ami for ami in amis if text(ami, "id") == given] or ([] if given else amis)
    learning = [ami for ami in used if _DEEP_LEARNING.search(text(ami, "name"))]
    if used and len(learning) == len(used):
        name, ami = text(learning[0], "name"), text(learning[0], "id")
        return True, [reason("finding.evidence.deep-learning-ami", image=ami, name=name)]
    terms = docs(node_class, "spec", "amiSelectorTerms")
    if terms and not any(text(term, key) for term in terms for key in _BY_AWS):
        names = ", ".join(text(ami, "name") or text(ami, "id") for ami in used) or given
        name = text(node_class, "metadata", "name")
        return False, [reason("finding.evidence.own-image", node_class=name, image=names)] if names else []
    return False, []


def _ended_unregistered(snapshot: Snapshot) -> int:
    """How many instances of the pool were started since the expectation and ended when Karpenter gives up."""
    if not snapshot.claims and not snapshot.node_pool.name:
        return 0
    count = 0
    for instance in snapshot.ended_instances:
        began, ended = instant(instance, "LaunchTime"), _ended(instance)
        if began and ended and began >= snapshot.since:
            count += REGISTRATION <= ended - began <= REGISTRATION + ENDING
    return count


def _ended(instance: Doc) -> datetime | None:
    """When EC2 ended it, which only a text tells."""
    found = _ENDED_AT.search(text(instance, "StateTransitionReason"))
    if not found or text(instance, "State", "Name") not in _GONE:
        return None
    try:
        return datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        return None
