"""The changes that a tool can make in the sources: each is one place in one file, changed in one way.

What is left out changes nothing that could be seen, or breaks every import: type annotations, decorators, names, and
after how many characters a text is cut.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from tests.checkout import ROOT

SOURCES = (
    "lambdas/lamplighter/domain/**/*.py",
    # Whatever writes sizes, schedules and money.
    "lambdas/lamplighter/application/capacity/*.py",
    "lambdas/lamplighter/application/guard/*.py",
    "lambdas/lamplighter/application/leases/*.py",
    "lambdas/lamplighter/adapters/aws/ledger/*.py",
    "lambdas/lamplighter/adapters/capacity/node_group/nodegroups.py",
    "lambdas/lamplighter/adapters/capacity/node_group/capacity.py",
    "lambdas/lamplighter/adapters/aws/schedules.py",
)
OPERATORS = tuple(
    f"core/{name}"
    for name in (
        *(f"ReplaceComparisonOperator_{kind}" for kind in (
            "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Lt_GtE", "Gt_LtE", "Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is",
        )),
        *(f"ReplaceBinaryOperator_{kind}" for kind in ("Add_Sub", "Sub_Add", "Mul_Add", "Div_Mul", "FloorDiv_Mul")),
        "AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd",
        "ReplaceUnaryOperator_Delete_Not", "ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "NumberReplacer",
        "ZeroIterationForLoop",
    )
)  # fmt: skip


_CUT = re.compile(r"\[: ?-?\d+\]")


@dataclass(frozen=True)
class Change:
    """One place in one file, changed in one way."""

    file: Path
    """Relative to the checkout."""
    operator: str
    occurrence: int
    source: str

    @property
    def line(self) -> tuple[int, str, str]:
        """The line's number, and what stands there before and after."""
        before = (ROOT / self.file).read_text("utf-8").splitlines()
        after = self.source.splitlines()
        number = next((n for n, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0)
        return number + 1, before[number].strip(), after[number].strip()


def sample(number: int, seed: int, within: str = "") -> list[Change]:
    """So many changes in files whose path begins so, each place as likely as any other."""
    files = sorted({path for each in SOURCES for path in ROOT.glob(each)})
    chosen = [file for file in files if str(file.relative_to(ROOT)).startswith(within)]
    places = [place for file in chosen for place in _places(file)]
    random.Random(seed).shuffle(places)
    changes = (_change(*place) for place in places)
    return list(islice((change for change in changes if change is not None), number))


def _places(file: Path) -> Iterator[tuple[Path, str, int]]:
    nodes = list(ast_nodes(get_ast(file.read_text("utf-8"))))
    for name in OPERATORS:
        operator = get_operator(name)()
        for occurrence in range(sum(1 for node in nodes for _ in operator.mutation_positions(node))):
            yield file, name, occurrence


def _change(file: Path, operator: str, occurrence: int) -> Change | None:
    """What is made of a place; None where nobody could see it."""
    text = file.read_text("utf-8")
    changed = mutate_code(text, get_operator(operator)(), occurrence)
    if changed is None or changed == text:
        return None
    change = Change(file.relative_to(ROOT), operator, occurrence, changed)
    _, before, after = change.line
    unseen = before.startswith("@") or "TYPE_CHECKING" in before
    return None if unseen or _CUT.sub("[:]", before) == _CUT.sub("[:]", after) else change
