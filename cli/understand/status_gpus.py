"""`lamplighter status --gpus`: the last verdict on each node's GPUs, and the trend of a pool's last proofs.

It reads only the ledger. The workflow runs the checks.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial

from cli import printing
from cli.deployment import Deployment
from cli.understand.verdicts import VERDICTS
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.checks.gpu_proof import GpuProof, together
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.reasons.document import drawn, read
from lamplighter.reasons.fields import KEY, SHOWN, to_document
from lamplighter.reasons.reason import draw
from lamplighter.values.clock_time import clock_time
from lamplighter.values.counted import counted
from lamplighter.values.instant import written

TREND_PROOFS = 40
"""A pool's trend is made of this many last proofs."""
BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Trend:
    """The proofs of one instance type, oldest first."""

    instance_type: str
    verdicts: tuple[str, ...]
    bandwidth: tuple[Decimal, ...] = field(metadata={KEY: "bus_bandwidth_gb_per_second"})
    """GB/s: the lowest of each proof that measured it."""
    to_ready: tuple[int, ...] = field(metadata={KEY: "seconds_to_ready"})
    """Seconds from a lease's opening to its proof."""


def show(deployed: Deployment, pool: str | None, *, as_json: bool) -> None:
    """Print the verdicts and trends of the named pool, or of every pool."""
    pools = {name: _known(deployed, name) for name in deployed.pools(pool)}
    if as_json:
        documents = [_document(name, proofs) for name, proofs in pools.items()]
        printing.as_json({"lab": deployed.name, "now": written(deployed.now), "pools": documents})
        return
    for name, proofs in pools.items():
        if not proofs:
            printing.say(f"pool {name}: no GPU check has run yet")
            continue
        _say(deployed, name, proofs)


def _known(deployed: Deployment, pool: str) -> list[GpuProof]:
    """The last proof with all its rows, and the earlier ones in brief."""
    last = deployed.ledger.proofs(pool, 1)
    return [*last, *deployed.ledger.proofs_in_brief(pool, TREND_PROOFS)[len(last) :]]


def trends(proofs: Sequence[GpuProof]) -> list[Trend]:
    """One trend for each instance type; `proofs` are newest first."""
    by_type: dict[str, list[GpuProof]] = {}
    for proof in reversed(proofs):
        by_type.setdefault(proof.instance_type, []).append(proof)
    return [
        Trend(
            name,
            tuple(proof.verdict for proof in of_type),
            tuple(proof.bandwidth for proof in of_type if proof.bandwidth is not None),
            tuple(proof.seconds_to_ready for proof in of_type if proof.seconds_to_ready is not None),
        )
        for name, of_type in by_type.items()
    ]


def spark(numbers: Sequence[Decimal | int]) -> str:
    """A bar for each number, from the lowest to the highest. Equal numbers have middle bars."""
    least, most = min(numbers), max(numbers)
    if least == most:
        return BARS[3] * len(numbers)
    return "".join(BARS[int((number - least) * (len(BARS) - 1) / (most - least))] for number in numbers)


def _say(deployed: Deployment, pool: str, proofs: Sequence[GpuProof]) -> None:
    clock = partial(printing.local, zone=deployed.zone)
    last = proofs[0]
    rows = [
        [
            node if not number else "",
            str(row.get("check")),
            VERDICTS.get(str(row.get("verdict")), str(row.get("verdict"))),
            clock(last.at) if not number else "",
            draw(read(row.get("reason")), ENGLISH, clock),
        ]
        for node in last.nodes
        for number, row in enumerate(last.of(node))
    ]
    printing.table(["node", "check", "verdict", "when", "because"], rows, title=f"Pool {pool}")
    for trend in trends(proofs):
        passed = sum(verdict == Outcome.PASSED for verdict in trend.verdicts)
        proven = f"{passed} of its last {counted(len(trend.verdicts), 'proof')} passed"
        printing.say(f"{trend.instance_type} in pool {pool}: {proven}")
        if trend.bandwidth:
            printing.say(f"  bus bandwidth, GB/s: {_course(trend.bandwidth)}")
        if trend.to_ready:
            printing.say(
                f"  minutes to ready:    {_course([round(seconds / 60, 1) for seconds in trend.to_ready])}"
            )


def _course(numbers: Sequence[Decimal | float]) -> str:
    """Bars and the last number on a terminal, all numbers elsewhere; oldest first."""
    exact = [Decimal(str(number)) for number in numbers]
    if not sys.stdout.isatty():
        return " ".join(map(str, exact))
    return f"{spark(exact)}  last {exact[-1]}, {min(exact)} to {max(exact)}"


def _document(pool: str, proofs: Sequence[GpuProof]) -> dict[str, object]:
    """Of each node, the row of the last proof, which checked every ready node."""
    return {
        "pool": pool,
        "nodes": [
            {
                "node": node,
                "at": written(last.at),
                "lease": last.lease,
                "instance_type": last.instance_type,
                "verdict": together(last.of(node)).value,
                "verdicts": [drawn(row, ENGLISH, clock_time) for row in last.of(node)],
            }
            for last in proofs[:1]
            for node in last.nodes
        ],
        "trends": [to_document(trend, SHOWN) for trend in trends(proofs)],
    }
