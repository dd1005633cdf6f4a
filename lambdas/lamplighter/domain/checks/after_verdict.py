"""What the lab does after a failed check: keep the lease, close it, or replace the failed nodes once.

It decides from the verdicts; the workflow acts. Only a node with a failed check is replaced. A check that is not
proven may have met a slow image or a busy GPU, and a fresh node would be no better.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.lab.checks import OnFailure
from lamplighter.reasons.document import document, one_line, read
from lamplighter.reasons.reason import Reason, Said, Sentences, reason, several

READY = "ready"
"""The verdict on a node whose GPUs never came; what runs late is waited for, not replaced."""


class NextStep(StrEnum):
    """What the workflow does next."""

    KEEP = "keep"
    CLOSE = "close"
    REPLACE = "replace"


@dataclass(frozen=True)
class JudgedNode:
    """A node with its verdicts; `used` says whether pods of people hold its GPUs."""

    name: str
    instance: str
    used: bool


@dataclass(frozen=True)
class CheckDecision:
    """What follows, which nodes it is about, and why."""

    then: NextStep
    failed: Said
    """What failed, on which node; of many the first. "" where nothing failed."""
    consequence: Reason
    nodes: tuple[JudgedNode, ...] = ()

    @property
    def reason(self) -> Reason | Sentences:
        """What failed, then what follows."""
        return Sentences((self.failed, self.consequence)) if self.failed else self.consequence

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
        return CheckDecision(NextStep.KEEP, "", reason("check.none-failed"))
    # A notice and a run's state have room for a few; the ledger has all of them.
    what = _several(failed)
    if choice == "close":
        return CheckDecision(NextStep.CLOSE, what, reason("check.lease-closes"))
    if choice == "keep":
        return CheckDecision(NextStep.KEEP, what, reason("check.lease-kept"))
    if not replaceable:
        return CheckDecision(NextStep.KEEP, what, reason("check.replaced-before"))
    names = {str(row.get("node")) for row in failed}
    bad = tuple(node for node in nodes if node.name in names and not node.used)[:replaceable]
    if not bad:
        return CheckDecision(NextStep.KEEP, what, reason("check.in-use", nodes=tuple(sorted(names))))
    going = reason("check.replaced", nodes=tuple(node.name for node in bad), count=len(bad))
    return CheckDecision(NextStep.REPLACE, what, going, bad)


def _several(failed: Sequence[Mapping[str, object]]) -> Said:
    return several(
        [
            reason(
                "check.failed-on",
                check=str(row.get("check")),
                node=str(row.get("node")),
                reason=read(row.get("reason")),
            )
            for row in failed
        ]
    )
