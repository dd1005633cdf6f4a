"""Audit entries from the results of a run's steps: settings, nodes, GPUs, verdicts and the drain.

A step only returns its result. The last step of the run writes these entries.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from lamplighter.domain.audit import findings as findings_told
from lamplighter.domain.audit.entry import CAPACITY, Entry
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import Reason, Said, Sentences, reason

Result = Mapping[str, object]
_SETTINGS = {
    "as-lab": (reason("audit.settings.as-lab"), reason("audit.settings.as-lab.why")),
    "differs": (reason("audit.settings.differs"), reason("audit.settings.differs.why")),
    "absent": (reason("audit.settings.absent"), reason("audit.settings.absent.why")),
    "as-window": (reason("audit.settings.as-window"), reason("audit.settings.as-window.why")),
}


def of_opening(lease: Lease, results: Mapping[str, Result], now: datetime) -> list[Entry]:
    """The entries of an opening, in the order of its steps."""
    entries: list[Entry] = []

    def add(kind: str, what: Reason, why: Said) -> None:
        entries.append(Entry(now, lease.pool, kind, "cluster", what, why, lease.id, lease.nodes))

    applied = results.get("ApplyGpuSettings", {})
    state, why_so = str(applied.get("state", "")), read(applied.get("reason"))
    if state in _SETTINGS:
        what, why = _SETTINGS[state]
        add("settings-applied", what, why_so or why)
    elif why_so:
        add("settings-applied", reason("audit.settings.not-as-asked"), why_so)
    nodes = _rows(results, "AwaitGpus", "nodes")
    for node in nodes:
        if node.get("ready"):
            gpus = int(str(node.get("gpus") or 0))
            add(
                "node-ready",
                reason("audit.node-ready", node=str(node.get("name"))),
                reason("audit.node-ready.why", gpus=gpus),
            )
    if nodes and all(node.get("ready") for node in nodes):
        add("gpus-ready", reason("audit.gpus-ready", nodes=len(nodes)), reason("audit.gpus-ready.why"))
    for verdict in _rows(results, "Validate", "verdicts"):
        what = reason(
            "audit.verdict",
            check=str(verdict.get("check")),
            verdict=str(verdict.get("verdict")),
            node=str(verdict.get("node")),
        )
        add("verdict", what, read(verdict.get("reason")))
    return entries + findings_told.entries(lease, results.get("Diagnose", {}), now)


def of_closing(pool: str, lease: str | None, drain: Result, now: datetime) -> list[Entry]:
    """The entry of a drain: its nodes, and the pods that were evicted or deleted by force."""
    nodes = drain.get("nodes")
    if not isinstance(nodes, Sequence) or not nodes:
        return []
    names = tuple(str(node.get("name")) for node in nodes if isinstance(node, Mapping))
    evicted, forced, more = int(str(drain.get("evicted") or 0)), drain.get("forced"), drain.get("forced_more")
    why = reason("audit.drained.why", evicted=evicted)
    if isinstance(forced, list) and forced:
        pods = ", ".join(map(str, forced))
        why = reason("audit.drained.forced", evicted=evicted, forced=pods)
        if more:
            why = reason("audit.drained.forced-more", evicted=evicted, forced=pods, more=int(str(more)))
    what = reason("audit.drained", nodes=names)
    return [Entry(now, pool, "drained", "cluster", what, why, lease, len(nodes))]


def shortage_of(mine: Sequence[Entry]) -> Entry | None:
    """The entry that says why nodes of a lease are missing, as it was found last."""
    # The leases function writes the same kind when it asks for nodes again, and names no cause.
    return next((each for each in reversed(mine) if each.kind == "degraded" and each.who == CAPACITY), None)


def why_short(entry: Entry) -> Said:
    """The reason in such an entry, without what became of the hold."""
    return entry.why.sentences[0] if isinstance(entry.why, Sentences) else entry.why


def _rows(results: Mapping[str, Result], step: str, key: str) -> list[Result]:
    rows = results.get(step, {}).get(key)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, Sequence) else []
