"""A step of `lamplighter verify`: what it asks of AWS, how long and how dear it can be, and what it answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from cli.verification.account import Account
from cli.verification.undo import Undo
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.money.money import Money
from lamplighter.lab.kinds import Code


class StepVerdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_TRIED = "not-tried"


@dataclass(frozen=True)
class Play:
    """What a playing step uses: the account, a place for its evidence, and the promise to undo what it makes.

    `undo` is called before something is made: whatever happens then, it is undone. `not_made` takes a promise back, and
    `back` undoes it already now.
    """

    account: Account
    evidence: Callable[[str], None]
    undo: Callable[[Undo], None]
    not_made: Callable[[Undo], None]
    back: Callable[[Undo], None]


@dataclass(frozen=True)
class Step:
    """One step. `nodes` run for at most `longest`, in which it is undone as well; `fits` raises Unfit.

    The nodes are of the cheapest pool of this `kind`, or instances of `instance_type` that are not the lab's.
    """

    name: str
    asks: str
    passes: str
    longest: timedelta
    play: Callable[[Play], None]
    fits: Callable[[Account], None] = lambda _: None
    nodes: int = 0
    instance_type: str | None = None
    makes: str = "nothing"
    kind: Code = NODE_GROUP


@dataclass(frozen=True)
class StepResult:
    """What came of a step. `seconds` is how long it took, with everything undone."""

    step: str
    verdict: StepVerdict
    evidence: Sequence[str]
    seconds: int
    cost: Money

    def to_json(self) -> dict[str, object]:
        """As the report has it."""
        return {
            "step": self.step,
            "verdict": self.verdict.value,
            "evidence": list(self.evidence),
            "seconds": self.seconds,
            "cost": self.cost.to_json(),
        }
