"""What one proof of a pool's GPUs found, kept as history: by node, instance type and pool.

A proof is never changed; the last one of a node is what is known of its GPUs now.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation

from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.values import instant

BANDWIDTH = "busbw_gb_per_second"
"""How the verdict of all_reduce calls its bus bandwidth, in GB/s."""


@dataclass(frozen=True)
class Proof:
    """The verdicts of one ladder on the nodes of one lease."""

    at: datetime
    pool: str
    lease: str
    instance_type: str
    verdict: str
    rows: tuple[Mapping[str, object], ...]
    """The verdicts on each node, in the ladder's order; none of a proof in brief."""
    seconds_to_ready: int | None = None
    """From the lease's opening to this proof; None for a proof that was not its first."""
    measured: Decimal | None = None
    """Of a proof in brief: the least bus bandwidth of its nodes, in GB/s."""

    @property
    def nodes(self) -> list[str]:
        """The nodes that were judged, in the ladder's order."""
        return list(dict.fromkeys(str(row.get("node")) for row in self.rows))

    @property
    def bandwidth(self) -> Decimal | None:
        """The least bus bandwidth of its nodes, in GB/s; None where none was measured, or only earlier."""
        new = [row for row in self.rows if row.get("busy") is not True]
        found = [each for row in new if (each := _bandwidth(row)) is not None]
        return min(found, default=self.measured)

    def of(self, node: str) -> list[Mapping[str, object]]:
        """The verdicts on one node."""
        return [row for row in self.rows if row.get("node") == node]

    def to_json(self) -> dict[str, object]:
        """For the ledger and for `status --gpus --json`."""
        return {
            "at": instant.written(self.at),
            "pool": self.pool,
            "lease": self.lease,
            "instance_type": self.instance_type,
            "verdict": self.verdict,
            "verdicts": [dict(row) for row in self.rows],
            "seconds_to_ready": self.seconds_to_ready,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> "Proof":
        """Reads what `to_json` wrote."""
        rows, ready = document.get("verdicts"), document.get("seconds_to_ready")
        measured = document.get("bandwidth")
        return cls(
            at=instant.read(str(document["at"])),
            pool=str(document["pool"]),
            lease=str(document["lease"]),
            instance_type=str(document["instance_type"]),
            verdict=str(document["verdict"]),
            rows=tuple(row for row in rows if isinstance(row, Mapping)) if isinstance(rows, list) else (),
            seconds_to_ready=ready if isinstance(ready, int) else None,
            measured=None if measured is None else Decimal(str(measured)),
        )


def together(rows: Iterable[Mapping[str, object]]) -> Outcome:
    """Failed where anything failed; passed where there is something and all of it passed."""
    outcomes = {row.get("verdict") for row in rows}
    if Outcome.FAILED in outcomes:
        return Outcome.FAILED
    return Outcome.PASSED if outcomes == {Outcome.PASSED} else Outcome.NOT_PROVEN


def latest_by_node(proofs: Sequence[Proof]) -> dict[str, Proof]:
    """The last proof of each node, of proofs that are newest first."""
    found: dict[str, Proof] = {}
    for proof in proofs:
        for node in proof.nodes:
            found.setdefault(node, proof)
    return found


def carried_over(
    rows: Sequence[Mapping[str, object]],
    proofs: Sequence[Proof],
    born: Mapping[str, datetime],
    now: datetime,
) -> list[Mapping[str, object]]:
    """Verdicts in which a check that found its GPUs in use has what it last found on that node.

    A row asks for it by `"busy": true`. What passed before somebody began to work there is evidence, of its age;
    what is older than the node, by `born`, was said of another one that had its name.
    """
    latest = latest_by_node(proofs)
    return [_carried(row, latest, born, now) if row.get("busy") is True else row for row in rows]


def _carried(
    row: Mapping[str, object], latest: Mapping[str, Proof], born: Mapping[str, datetime], now: datetime
) -> Mapping[str, object]:
    node = str(row.get("node"))
    proof = latest.get(node)
    if proof is None or node not in born:
        return row
    before = next((each for each in proof.of(node) if each.get("check") == row.get("check")), None)
    if before is None or before.get("verdict") == "not-proven":
        return row
    first = before.get("seen")
    seen = instant.read(str(first["at"])) if isinstance(first, Mapping) else proof.at
    said = first.get("reason") if isinstance(first, Mapping) else before.get("reason")
    if seen < born[node]:
        return row
    minutes = max(1, round((now - seen).total_seconds() / 60))
    return {
        **row,
        "verdict": before.get("verdict"),
        "reason": f"{said} (seen at {instant.clock_time(seen)}, {minutes} min ago; {row.get('reason')})",
        "measurements": before.get("measurements"),
        "seen": {"at": instant.written(seen), "reason": said},
    }


def _bandwidth(row: Mapping[str, object]) -> Decimal | None:
    measured = row.get("measurements")
    said = measured.get(BANDWIDTH) if isinstance(measured, Mapping) else None
    try:
        return None if said is None else Decimal(str(said))
    except InvalidOperation:
        return None
