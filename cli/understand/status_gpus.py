"""`lamplighter status --gpus`: what was last proven of each node's GPUs, and how pools fared over their last proofs.

Reads the ledger alone; the checks themselves are the workflow's.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from cli import printing
from cli.deployment import Deployment
from lamplighter.data.texts import ENGLISH
from lamplighter.domain.checks.gpu_proof import Proof, together
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import draw
from lamplighter.values.counted import counted
from lamplighter.values.instant import written

LOOKED_AT = 40
"""So many of a pool's last proofs make its trend."""
BARS = "▁▂▃▄▅▆▇█"
SAID = {"passed": "passed", "failed": "FAILED", "not-proven": "not proven"}


@dataclass(frozen=True)
class Trend:
    """How the proofs of one instance type went, oldest first."""

    instance_type: str
    verdicts: tuple[str, ...]
    bandwidth: tuple[Decimal, ...]
    """GB/s, the least of each proof that measured it."""
    to_ready: tuple[int, ...]
    """Seconds from a lease's opening to its proof."""

    def to_json(self) -> dict[str, object]:
        """Numbers as they are; bandwidths as decimal strings."""
        return {
            "instance_type": self.instance_type,
            "verdicts": list(self.verdicts),
            "bus_bandwidth_gb_per_second": [str(each) for each in self.bandwidth],
            "seconds_to_ready": list(self.to_ready),
        }


def show(found: Deployment, pool: str | None, *, as_json: bool) -> None:
    """The verdicts and trends of the pools that were asked for."""
    pools = {name: _known(found, name) for name in found.pools(pool)}
    if as_json:
        documents = [_document(name, proofs) for name, proofs in pools.items()]
        printing.as_json({"lab": found.name, "now": written(found.now), "pools": documents})
        return
    for name, proofs in pools.items():
        if not proofs:
            printing.say(f"pool {name}: nothing was ever proven of its GPUs")
            continue
        _say(found, name, proofs)


def _known(found: Deployment, pool: str) -> list[Proof]:
    """The last proof whole, and of the ones before what they came to."""
    whole = found.ledger.proofs(pool, 1)
    return [*whole, *found.ledger.proofs_in_brief(pool, LOOKED_AT)[len(whole) :]]


def trends(proofs: Sequence[Proof]) -> list[Trend]:
    """One for each instance type, of proofs that are newest first."""
    by_type: dict[str, list[Proof]] = {}
    for proof in reversed(proofs):
        by_type.setdefault(proof.instance_type, []).append(proof)
    return [
        Trend(
            name,
            tuple(each.verdict for each in found),
            tuple(each.bandwidth for each in found if each.bandwidth is not None),
            tuple(each.seconds_to_ready for each in found if each.seconds_to_ready is not None),
        )
        for name, found in by_type.items()
    ]


def spark(numbers: Sequence[Decimal | int]) -> str:
    """A bar for each number, from the least to the most; all alike are in the middle."""
    least, most = min(numbers), max(numbers)
    if least == most:
        return BARS[3] * len(numbers)
    return "".join(BARS[int((each - least) * (len(BARS) - 1) / (most - least))] for each in numbers)


def _say(found: Deployment, pool: str, proofs: Sequence[Proof]) -> None:
    clock = partial(printing.local, zone=found.zone)
    last = proofs[0]
    rows = [
        [
            node if not number else "",
            str(row.get("check")),
            SAID.get(str(row.get("verdict")), str(row.get("verdict"))),
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
                f"  minutes to ready:    {_course([round(each / 60, 1) for each in trend.to_ready])}"
            )


def _course(numbers: Sequence[Decimal | float]) -> str:
    """Bars and the last number on a terminal, all numbers elsewhere; oldest first."""
    exact = [Decimal(str(each)) for each in numbers]
    if not sys.stdout.isatty():
        return " ".join(str(each) for each in exact)
    return f"{spark(exact)}  last {exact[-1]}, {min(exact)} to {max(exact)}"


def _document(pool: str, proofs: Sequence[Proof]) -> dict[str, object]:
    """The last proof judged every node that was ready then: it is what is known of each."""
    return {
        "pool": pool,
        "nodes": [
            {
                "node": node,
                "at": written(last.at),
                "lease": last.lease,
                "instance_type": last.instance_type,
                "verdict": together(last.of(node)).value,
                "verdicts": [dict(row) for row in last.of(node)],
            }
            for last in proofs[:1]
            for node in last.nodes
        ],
        "trends": [trend.to_json() for trend in trends(proofs)],
    }
