"""What a run's steps found, as audit entries: settings, nodes, GPUs, verdicts, what was drained.

The steps themselves only look and answer; the run's last step writes down what they said.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.notices import findings as findings_told
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import Said
from lamplighter.values.counted import counted

Result = Mapping[str, object]
_SETTINGS = {
    "as-lab": ("the GPU settings are as the lab wants them", "the ClusterPolicy was compared with the lab"),
    "differs": (
        "the GPU settings differ from the lab",
        "another hand or another chart wrote the ClusterPolicy",
    ),
    "absent": ("there is no ClusterPolicy", "the lab has no GPU operator, or it is not installed yet"),
    "as-window": (
        "the GPU settings are as the window asks",
        "what it changes was put on, and goes back to Helm when it closes",
    ),
}
_NOT_AS_ASKED = "the GPU settings are not as asked"


def of_opening(lease: Lease, results: Mapping[str, Result], now: datetime) -> list[Entry]:
    """What the steps of an opening found, in their order."""
    found: list[Entry] = []

    def add(kind: str, who: str, what: str, why: Said) -> None:
        found.append(Entry(now, lease.pool, kind, who, what, why, lease.id, lease.nodes))

    applied = results.get("ApplyGpuSettings", {})
    state, reason = str(applied.get("state", "")), read(applied.get("reason"))
    if state in _SETTINGS:
        what, why = _SETTINGS[state]
        add("settings-applied", "cluster", what, reason or why)
    elif reason:
        add("settings-applied", "cluster", _NOT_AS_ASKED, reason)
    nodes = _rows(results, "AwaitGpus", "nodes")
    for node in nodes:
        gpus = (
            f"{counted(int(str(node.get('gpus') or 0)), 'GPU')} can be allocated on it, and validation passed"
        )
        if node.get("ready"):
            add("node-ready", "cluster", f"node {node.get('name')} is ready", gpus)
    if nodes and all(node.get("ready") for node in nodes):
        add(
            "gpus-ready",
            "cluster",
            f"the GPUs of {counted(len(nodes), 'node')} are ready",
            "all that readiness asks holds",
        )
    for verdict in _rows(results, "Validate", "verdicts"):
        what = f"{verdict.get('check')} {verdict.get('verdict')} on {verdict.get('node')}"
        add("verdict", "cluster", what, read(verdict.get("reason")))
    return found + findings_told.entries(lease, results.get("Diagnose", {}), now)


def of_closing(pool: str, lease: str | None, drain: Result, now: datetime) -> list[Entry]:
    """What was emptied, and what had to be forced."""
    nodes = drain.get("nodes")
    if not isinstance(nodes, Sequence) or not nodes:
        return []
    names = ", ".join(str(node.get("name")) for node in nodes if isinstance(node, Mapping))
    forced = drain.get("forced")
    by_force = f"; forced: {', '.join(map(str, forced))}" if isinstance(forced, list) and forced else ""
    if more := drain.get("forced_more"):
        by_force += f" and {more} more"
    why = f"{counted(int(str(drain.get('evicted') or 0)), 'pod')} evicted{by_force}"
    return [Entry(now, pool, "drained", "cluster", f"drained {names}", why, lease, len(nodes))]


def _rows(results: Mapping[str, Result], step: str, key: str) -> list[Result]:
    rows = results.get(step, {}).get(key)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, Sequence) else []
