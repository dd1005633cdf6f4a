"""What follows where a check failed: the lab's choice, and never more than once for a lease.

Decides from the verdicts; keeping, closing and replacing are the workflow's. Only what failed is replaced:
what is not proven may be a slow image or a busy GPU, and a fresh node would be no better.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.lab.checks import OnFailure
from lamplighter.reasons.document import document, one_line
from lamplighter.reasons.reason import Reason, Said, Sentences, reason
from lamplighter.values.counted import NAMED

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
    failed: tuple[Said, ...]
    """What failed, on which node; of many the first."""
    consequence: Reason
    nodes: tuple[JudgedNode, ...] = ()

    @property
    def reason(self) -> Sentences:
        """What failed, then what follows."""
        return Sentences((*self.failed, self.consequence))

    def to_json(self) -> dict[str, object]:
        """As the step Validate gives it."""
        return {
            "then": self.then.value,
            # A string: the workflow writes it into the cause of a close.
            "because": one_line(self.reason),
            "consequence": document(self.consequence),
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
        return CheckDecision(NextStep.KEEP, (), reason("check.none-failed"))
    # A reason goes into notices and into a run's state, whatever the pool's size; the ledger has all of them.
    said = _said(failed)
    if choice == "close":
        return CheckDecision(NextStep.CLOSE, said, reason("check.lease-closes"))
    if choice == "keep":
        return CheckDecision(NextStep.KEEP, said, reason("check.lease-kept"))
    if not replaceable:
        return CheckDecision(NextStep.KEEP, said, reason("check.replaced-before"))
    names = {str(row.get("node")) for row in failed}
    bad = tuple(node for node in nodes if node.name in names and not node.used)[:replaceable]
    if not bad:
        return CheckDecision(NextStep.KEEP, said, reason("check.in-use", nodes=tuple(sorted(names))))
    going = reason("check.replaced", nodes=tuple(node.name for node in bad), count=len(bad))
    return CheckDecision(NextStep.REPLACE, said, going, bad)


def _said(failed: Sequence[Mapping[str, object]]) -> tuple[Said, ...]:
    told = [
        reason(
            "check.failed-on",
            check=str(row.get("check")),
            node=str(row.get("node")),
            reason=str(row.get("reason")),
        )
        for row in failed[:NAMED]
    ]
    more = len(failed) - NAMED
    rest = (reason("words.more-like-these", more=more),) if more > 0 else ()
    return (Sentences(tuple(told)), *rest)
