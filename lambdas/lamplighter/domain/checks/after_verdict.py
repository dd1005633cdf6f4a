"""What follows where a check failed: the lab's choice, and never more than once for a lease.

Decides from the verdicts; keeping, closing and replacing are the workflow's. Only what failed is replaced:
what is not proven may be a slow image or a busy GPU, and a fresh node would be no better.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.lab.checks import OnFailure
from lamplighter.values.counted import first, named

READY = "ready"
"""The verdict on a node whose GPUs never came; what runs late is waited for, not replaced."""


class NextStep(StrEnum):
    """What the workflow does next."""

    KEEP = "keep"
    CLOSE = "close"
    REPLACE = "replace"


@dataclass(frozen=True)
class JudgedNode:
    """A node that was judged; `used` says whether somebody else's pods hold its GPUs."""

    name: str
    instance: str
    used: bool


@dataclass(frozen=True)
class CheckDecision:
    """What follows, which nodes it is about, and why."""

    then: NextStep
    reason: str
    nodes: tuple[JudgedNode, ...] = ()

    def to_json(self) -> dict[str, object]:
        """As the step Validate gives it."""
        return {
            "then": self.then.value,
            "because": self.reason,
            "replace": [{"name": node.name, "instance": node.instance} for node in self.nodes],
        }


def decide(
    rows: Sequence[Mapping[str, object]],
    nodes: Collection[JudgedNode],
    choice: OnFailure,
    *,
    replaceable: int = 0,
) -> CheckDecision:
    """What follows the verdicts `rows` on `nodes`.

    `replaceable`: so many nodes may be replaced for the lease, 0 where some were before. It is never more than
    the lease has itself: what another lease justifies stays as it is.
    """
    failed = [row for row in rows if row.get("verdict") == Outcome.FAILED and row.get("check") != READY]
    if not failed:
        return CheckDecision(NextStep.KEEP, "no check failed")
    # A reason goes into notices and into a run's state, whatever the pool's size; the ledger has all of them.
    said = first([f"{row.get('check')} failed on {row.get('node')}: {row.get('reason')}" for row in failed])
    if choice == "close":
        return CheckDecision(
            NextStep.CLOSE, f"{said}; the lab closes a lease whose GPUs fail (checks.on_failure: close)"
        )
    if choice == "keep":
        return CheckDecision(NextStep.KEEP, f"{said}; the lab keeps it open (checks.on_failure: keep)")
    if not replaceable:
        return CheckDecision(
            NextStep.KEEP, f"{said}; nodes were replaced once already, so it is kept as it is"
        )
    names = {str(row.get("node")) for row in failed}
    bad = tuple(node for node in nodes if node.name in names and not node.used)[:replaceable]
    if not bad:
        return CheckDecision(
            NextStep.KEEP, f"{said}; the GPUs of {named(sorted(names))} are in use, so it is kept"
        )
    are = "is" if len(bad) == 1 else "are"
    return CheckDecision(
        NextStep.REPLACE, f"{said}; {named([node.name for node in bad])} {are} replaced, once", bad
    )
