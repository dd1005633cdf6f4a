"""A NodePool that asks for more nodes than the launch bar lets start: the API server refuses its NodeClaims.

No event and no condition tells it. Karpenter's log does, and the end of the bar, in a ConfigMap of ours. After a
refusal a static NodePool tries again later and later, up to 1,000 s; a change of its replicas is tried at once.
"""

import re
from collections.abc import Iterator
from datetime import datetime

from lamplighter.domain.diagnosis.document import doc, instant, text
from lamplighter.domain.diagnosis.findings import Gathered
from lamplighter.domain.diagnosis.rules.quotes import quote
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.reasons.reason import Said, reason
from lamplighter.values import instant as instants

CAUSE = "launch-barred"
KEY = "notAfter"
NAMESPACE = "lamplighter"
LONGEST_WAIT = 1000
_REFUSED = re.compile(r"ValidatingAdmissionPolicy[^\n]*denied request: lamplighter:")
_TIME = re.compile(r'"time":"([^"]{10,40})"')


def refused(snapshot: Snapshot, gathered: Gathered) -> None:
    """Notes that the bar keeps nodes away that the NodePool asks for, or that a lease expects."""
    node_pool = snapshot.node_pool
    if not node_pool.document or not snapshot.was_read("kubernetes", "nodeclaims"):
        return
    wanted = node_pool.replicas if node_pool.static else snapshot.wanted_nodes
    there = len(node_pool.staying)
    if not wanted or there >= wanted:
        return
    newest = max((claim.created for claim in node_pool.staying if claim.created), default=None)
    lines = [line for at, line in _refusals(snapshot) if newest is None or at is None or at > newest]
    shut = _shut(snapshot)
    if not lines and not shut:
        return
    short = reason("finding.evidence.claims-short", node_pool=node_pool.name, wanted=wanted, there=there)
    gathered.found(CAUSE, snapshot.name, short, *lines[-1:], shut or _open(snapshot))


def _refusals(snapshot: Snapshot) -> Iterator[tuple[datetime | None, Said]]:
    """The lines of Karpenter's log about the pool's NodeClaims that the bar refused since the expectation."""
    for pod in snapshot.karpenter_pods:
        for line in snapshot.logs(pod).splitlines():
            if not _REFUSED.search(line) or snapshot.node_pool.name not in line:
                continue
            stamp = _TIME.search(line)
            at = instant({"at": stamp[1]}, "at") if stamp else None
            if at is None or at >= snapshot.since:
                yield at, quote(pod.called, line[line.find("ValidatingAdmissionPolicy") :])


def _shut(snapshot: Snapshot) -> Said:
    """That the bar is shut; "" where it is open, or was not read."""
    end = _end(snapshot)
    if end is None or end > snapshot.now:
        return ""
    return reason("finding.evidence.bar-shut", since=instants.written(end))


def _open(snapshot: Snapshot) -> Said:
    """That the bar is open again, and when Karpenter tries again; "" where it was not read."""
    end = _end(snapshot)
    if end is None:
        return ""
    return reason("finding.evidence.bar-open", until=instants.written(end), seconds=LONGEST_WAIT)


def _end(snapshot: Snapshot) -> datetime | None:
    """Until when new nodes may start."""
    bars = {
        text(item, "metadata", "name"): item
        for item in snapshot.listed("kubernetes", "configmaps")
        if text(item, "metadata", "namespace") == NAMESPACE and KEY in doc(item, "data")
    }
    alike = sorted((name for name in bars if name.endswith(f"-{snapshot.pool}")), key=len)
    named = next((name for name in (snapshot.name, snapshot.pool, *alike) if name in bars), None)
    return instant(bars[named], "data", KEY) if named is not None else None
