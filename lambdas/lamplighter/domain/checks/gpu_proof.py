"""The proofs of a pool's GPUs, kept as history: by node, instance type and pool.

A proof never changes. The last proof of a node says what is known of its GPUs now.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation

from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.reasons.document import document, read
from lamplighter.reasons.fields import KEY, from_odd_document
from lamplighter.reasons.reason import reason
from lamplighter.values import instant

BANDWIDTH = "busbw_gb_per_second"
"""The measurement of a verdict that is a bandwidth between GPUs."""
TREND = "all_reduce"
"""The check whose bandwidth is a proof's own. Other collectives are as fast by another measure."""


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """What one check measured between GPUs, against the floor that it judged by; GB/s of bus bandwidth."""

    check: str
    node: str
    measured: Decimal
    floor: Decimal | None


@dataclass(frozen=True)
class GpuProof:
    """The verdicts of one ladder on the nodes of one lease."""

    at: datetime
    pool: str
    lease: str
    instance_type: str
    verdict: str
    rows: tuple[Mapping[str, object], ...] = field(default=(), metadata={KEY: "verdicts"})
    """The verdicts on each node, in the ladder's order; empty in a brief proof."""
    seconds_to_ready: int | None = None
    """From the lease's opening to this proof, where it is the lease's first proof."""
    measured: Decimal | None = field(default=None, metadata={KEY: "bandwidth"})
    """Of a brief proof: the lowest bus bandwidth of its nodes, in GB/s."""

    @property
    def nodes(self) -> list[str]:
        """The nodes that were judged, in the ladder's order."""
        return list(dict.fromkeys(str(row.get("node")) for row in self.rows))

    @property
    def bandwidth(self) -> Decimal | None:
        """The lowest of its nodes in the check TREND, in GB/s; None where this proof measured none."""
        new = [row for row in self.rows if row.get("busy") is not True]
        measured = (each.measured for each in bandwidths(new) if each.check == TREND)
        return min(measured, default=self.measured)

    def of(self, node: str) -> list[Mapping[str, object]]:
        """The verdicts on one node."""
        return [row for row in self.rows if row.get("node") == node]

    @classmethod
    def from_json(cls, kept: Mapping[str, object]) -> "GpuProof":
        """Reads what `to_document` wrote, without rows that are no objects."""
        rows = kept.get("verdicts")
        known = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
        return from_odd_document(cls, {**kept, "verdicts": known})


def bandwidths(rows: Iterable[Mapping[str, object]], floor: Decimal | None = None) -> tuple[Bandwidth, ...]:
    """Each bandwidth in the verdicts; `floor` is that of verdicts that name none."""
    found = []
    for row in rows:
        said = row.get("measurements")
        measurements = said if isinstance(said, Mapping) else {}
        measured = _number(measurements.get(BANDWIDTH))
        if measured is not None:
            judged_by = _number(measurements.get("floor_gb_per_second"))
            found.append(Bandwidth(str(row.get("check")), str(row.get("node")), measured, judged_by or floor))
    return tuple(found)


def together(rows: Iterable[Mapping[str, object]]) -> Outcome:
    """Failed where anything failed; passed where there is something and all of it passed."""
    outcomes = {row.get("verdict") for row in rows}
    if Outcome.FAILED in outcomes:
        return Outcome.FAILED
    return Outcome.PASSED if outcomes == {Outcome.PASSED} else Outcome.NOT_PROVEN


def latest_by_node(proofs: Sequence[GpuProof]) -> dict[str, GpuProof]:
    """The last proof of each node, of proofs that are newest first."""
    latest: dict[str, GpuProof] = {}
    for proof in proofs:
        for node in proof.nodes:
            latest.setdefault(node, proof)
    return latest


def carried_over(
    rows: Sequence[Mapping[str, object]],
    proofs: Sequence[GpuProof],
    born: Mapping[str, datetime],
    now: datetime,
) -> list[Mapping[str, object]]:
    """The verdicts, where a check that found its GPUs in use has its last verdict on that node.

    A row asks for it by `"busy": true`. A check that passed before somebody began to work there is evidence; the
    reason says how old. A verdict older than the node, by `born`, was on an earlier node of the same name.
    """
    latest = latest_by_node(proofs)
    return [_carried(row, latest, born, now) if row.get("busy") is True else row for row in rows]


def _carried(
    row: Mapping[str, object], latest: Mapping[str, GpuProof], born: Mapping[str, datetime], now: datetime
) -> Mapping[str, object]:
    node = str(row.get("node"))
    proof = latest.get(node)
    if proof is None or node not in born:
        return row
    before = next((known for known in proof.of(node) if known.get("check") == row.get("check")), None)
    if before is None or before.get("verdict") == "not-proven":
        return row
    first = before.get("seen")
    seen = instant.read(str(first["at"])) if isinstance(first, Mapping) else proof.at
    kept = first.get("reason") if isinstance(first, Mapping) else before.get("reason")
    if seen < born[node]:
        return row
    minutes = max(1, round((now - seen).total_seconds() / 60))
    why = reason("check.seen-before", why=read(kept), at=seen, minutes=minutes, now=read(row.get("reason")))
    return {
        **row,
        "verdict": before.get("verdict"),
        "reason": document(why),
        "measurements": before.get("measurements"),
        "seen": {"at": instant.written(seen), "reason": kept},
    }


def _number(figure: object) -> Decimal | None:
    try:
        return None if figure is None else Decimal(str(figure))
    except InvalidOperation:
        return None
