"""Karpenter that reads no interruptions: its queue is gone, and only its log tells it.

A node goes on without the queue. One that AWS interrupts, or that somebody ends, is noticed minutes later.
"""

import re
from datetime import timedelta

from lamplighter.domain.diagnosis.document import instant
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules.node_pool import controller
from lamplighter.domain.diagnosis.rules.quotes import quote
from lamplighter.domain.diagnosis.snapshot import Snapshot

CAUSE = "interruptions-unheard"
LATELY = timedelta(minutes=20)
"""Karpenter tries again within 1,000 seconds; an older line may be history."""
# The two names that SQS gives it (botocore's service model of SQS).
_NO_QUEUE = re.compile(r"QueueDoesNotExist|NonExistentQueue")
_TIME = re.compile(r'"time":"([^"]{10,40})"')


def unheard(snapshot: Snapshot, gathered: Gathered) -> None:
    """Notes that Karpenter's queue does not exist. One that does not run at all has told its cause already."""
    if "karpenter-not-ready" in gathered.objects or not controller.is_its_own(snapshot):
        return
    for pod in snapshot.karpenter_pods:
        lines = [line for line in snapshot.logs(pod).splitlines() if _is_recent(snapshot, line)]
        if lines:
            gathered.found(CAUSE, pod.called, quote(pod.called, lines[-1]))


def _is_recent(snapshot: Snapshot, line: str) -> bool:
    stamp = _TIME.search(line)
    at = instant({"at": stamp[1]}, "at") if stamp else None
    return bool(_NO_QUEUE.search(line)) and (at is None or snapshot.age(at) <= LATELY)
