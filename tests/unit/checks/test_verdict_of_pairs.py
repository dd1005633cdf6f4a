"""The reason of a pair's verdict where several things are wrong, and lines that are no row of the table."""

import pytest

from lamplighter.domain.checks.verdicts.nccl import nccl
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.reasons.reason import Said, reason
from tests import gpu_outputs as said
from tests.unit.checks.test_verdict_sentences import A10G, row


@pytest.mark.parametrize(("rows", "reason"), [
    ([row(8, halves="1 1 x 0 1 1 1 0"), row(16, halves="1 1 1 0 1 1 1"), row()], reason("check.nccl.row-unread",
     bytes=8)),
    ([row(8, halves="1 1 1 N/A 1 1 1 N/A"), row(16, halves="1 1 1 N/A 1 1 1 N/A"), row()],
     reason("check.nccl.unchecked", bytes=8)),
])  # fmt: skip
def test_of_several_rows_that_prove_nothing_the_first_is_named(rows: list[str], reason: Said) -> None:
    assert nccl(said.nccl(rows), 0, 2, A10G).reason == reason


@pytest.mark.parametrize("line", ["7 warnings", "2026-11-20 10:00:01 done", "10.0.1.7 answered"])
def test_a_line_that_only_begins_with_a_number_is_no_row(line: str) -> None:
    found = nccl(f"{said.nccl()}{line}\n", 0, 2, A10G)
    assert (found.outcome, found.measurements["rows"]) == (Outcome.PASSED, 3)
