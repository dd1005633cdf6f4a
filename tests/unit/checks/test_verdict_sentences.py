"""Verdicts of a pair in full: the reason and the figures of each rule, at both sides of every limit."""

from decimal import Decimal

import pytest

from lamplighter.domain.checks.verdicts.nccl import nccl
from lamplighter.domain.checks.verdicts.torch import torch_collective
from lamplighter.domain.checks.verdicts.verdict import Measurement, Outcome, Verdict, ended_badly
from lamplighter.domain.gpu.instance_types import GpuType
from lamplighter.reasons.reason import Reason, Said, reason
from tests import gpu_outputs as said

PASSED, FAILED, NOT_PROVEN = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_PROVEN

A10G = GpuType("g5.xlarge", ("NVIDIA A10G", "A10G"), 1, frozenset(), Decimal("0.25"))

LARGEST = 268435456

FIGURES: dict[str, Measurement] = {
    "exit_code": 0,
    "ranks": 2,
    "max_bytes": LARGEST,
    "rows": 3,
    "busbw_gb_per_second": "1.16",
    "floor_gb_per_second": "0.25",
}


def row(size: int = LARGEST, *, halves: str = "100 1.2 1.17 0 100 1.2 1.16 0") -> str:
    return f"{size} {size // 4} float sum -1 {halves}"


@pytest.mark.parametrize(("code", "why"), [
    (0, None),
    (1, reason("check.tool-exit-code", code=1)),
    (123, reason("check.tool-exit-code", code=123)),
    (124, reason("check.tool-timed-out", code=124)),
    (137, reason("check.tool-killed", code=137)),
    (143, reason("check.tool-terminated", code=143)),
    (-1, reason("check.tool-exit-code", code=-1)),
])  # fmt: skip
def test_an_exit_code_says_how_the_tool_ended(code: int, why: Reason | None) -> None:
    assert ended_badly(code) == why


def test_a_pair_that_passes_is_told_with_its_figures() -> None:
    assert nccl(said.nccl(), 0, 2, A10G) == Verdict(
        PASSED, reason("check.nccl.passed", ranks=2, bandwidth="1.16", bytes=268435456, floor="0.25"), FIGURES
    )


@pytest.mark.parametrize(("text", "reason"), [
    ("", reason("check.nccl.no-plan")),
    (said.nccl() + said.nccl(), reason("check.nccl.no-plan")),
    (said.nccl(ranks=1), reason("check.nccl.ranks", ranks=1, expected=2)),
    (said.nccl(ranks=3), reason("check.nccl.ranks", ranks=3, expected=2)),
    (said.nccl().replace("Rank  1", "Rank  2"), reason("check.nccl.ranks", ranks=2, expected=2)),
    (said.nccl([]), reason("check.nccl.no-rows")),
    (said.nccl([row(8)]), reason("check.nccl.no-largest", bytes=268435456)),
    (said.nccl([row(halves="1 1 N/A 0 1 1 N/A 0")]), reason("check.nccl.no-bandwidth")),
    (said.nccl([row(8, halves="1 1 1 N/A 1 1 1 N/A"), row()]), reason("check.nccl.unchecked", bytes=8)),
    (said.nccl(bounds="#"), reason("check.nccl.no-bounds")),
    (said.nccl().replace("concluded: all_reduce_perf", "concluded: broadcast_perf"),
     reason("check.nccl.not-concluded")),
    (said.nccl([row(halves="1 1 1 0 1 1 1")]), reason("check.nccl.row-cells", bytes=268435456, figures=12,
     expected=13)),
    (said.nccl([row(halves="1 1 1 0 1 1 1 0 0")]), reason("check.nccl.row-cells", bytes=268435456, figures=14,
     expected=13)),
    (said.nccl([row(halves="1 1 x 0 1 1 1 0")]), reason("check.nccl.row-unread", bytes=268435456)),
    (said.nccl([row(halves="1 1 1 0 1 1 1 -1")]), reason("check.nccl.row-unread", bytes=268435456)),
    (said.nccl([row(halves="N/A x N/A N/A 1 1 1 0")]), reason("check.nccl.row-unread", bytes=268435456)),
    (said.nccl().replace("#wrong", "error"), reason("check.nccl.old-version")),
])  # fmt: skip
def test_the_evidence_that_a_pair_lacks_is_named(text: str, reason: Said) -> None:
    found = nccl(text, 0, 2, A10G)
    assert (found.outcome, found.reason) == (NOT_PROVEN, reason)


@pytest.mark.parametrize(("text", "code", "reason"), [
    (said.nccl([row(halves="1 1 1 2 1 1 1 3")]), 0, reason("check.nccl.wrong-values", wrong=5, bytes=268435456)),
    (said.nccl([row(halves="1 1 1 0.2 1 1 1 N/A")]), 0, reason("check.nccl.wrong-values", wrong=1, bytes=268435456)),
    (said.nccl(bounds="# Out of bounds values : 0 FAILED"), 0, reason("check.nccl.out-of-bounds", count=0)),
    (said.nccl(bounds="# Out of bounds values : 1 OK"), 0, reason("check.nccl.out-of-bounds", count=1)),
    (said.nccl([row(halves="1 1 0.3 0 1 1 0.24 0")]), 0, reason("check.nccl.slow", bandwidth="0.24", floor="0.25")),
    (said.nccl([row(halves="1 1 0.24 0 1 1 N/A N/A")]), 0, reason("check.nccl.slow", bandwidth="0.24", floor="0.25")),
    (said.nccl(), 7, reason("check.nccl.bad-data", code=7)),
    ("worker-0: Test NCCL failure one\nworker-1: Test CUDA failure two\n", 3, reason("check.tool-says",
     tool="nccl-tests", line="Test NCCL failure one")),
])  # fmt: skip
def test_a_measured_fault_of_a_pair_is_named_with_its_limit(text: str, code: int, reason: Said) -> None:
    found = nccl(text, code, 2, A10G)
    assert (found.outcome, found.reason) == (FAILED, reason)


AVERAGE = "# Avg bus bandwidth    : 1.165"


def test_what_nccl_tests_says_of_its_own_bandwidth_is_never_overruled_upwards() -> None:
    # nccl-tests common.cu, with NCCL_TESTS_MIN_BW set: its exit code may have been swallowed by a pipe.
    opinions = {word: nccl(said.nccl().replace(AVERAGE, f"{AVERAGE} {word}"), 0, 2, A10G) for word in WORDS}
    assert {word: found.outcome for word, found in opinions.items()} == WORDS
    assert opinions["FAILED"].reason == reason("check.nccl.average-failed")
    assert opinions["FAI"].reason == reason("check.nccl.average-unread", words="FAI")


WORDS = {"": PASSED, "OK": PASSED, "FAILED": FAILED, "FAI": NOT_PROVEN}


def test_an_opinion_into_whose_line_another_text_runs_is_not_taken_for_none() -> None:
    beside = "nccl-0:1:1 [0] NCCL INFO comm destroyed"
    for word, outcome in {"FAILED": FAILED, "OK": NOT_PROVEN, "": NOT_PROVEN}.items():
        line = f"{AVERAGE} {word} {beside}"
        assert nccl(said.nccl().replace(AVERAGE, line), 0, 2, A10G).outcome is outcome


def test_of_two_opinions_the_worse_one_counts() -> None:
    for lines in (f"{AVERAGE} OK\n{AVERAGE} FAILED", f"{AVERAGE} FAILED\n{AVERAGE} OK"):
        assert nccl(said.nccl().replace(AVERAGE, lines), 0, 2, A10G).outcome is FAILED


def test_a_last_line_that_says_failed_counts_though_it_may_be_cut() -> None:
    whole = said.nccl().partition("# Out of bounds")[0]
    assert nccl(f"{whole}# Out of bounds values : 3 FAILED", 0, 2, A10G).outcome is FAILED


def test_one_rank_has_no_bus_and_proves_nothing_of_it() -> None:
    alone = said.nccl([row(halves="1 1 0.00 0 1 1 0.00 0")], ranks=1)
    wrong = said.nccl([row(halves="1 1 0.00 4 1 1 0.00 0")], ranks=1)

    found = nccl(alone, 0, 1, A10G)
    assert (found.outcome, found.reason) == (NOT_PROVEN, reason("check.nccl.one-rank"))
    assert nccl(alone, 0, 2, A10G).reason == reason("check.nccl.ranks", ranks=1, expected=2)
    assert nccl(wrong, 0, 1, A10G).outcome is FAILED


@pytest.mark.parametrize(("line", "outcome"), [
    # nccl-tests common.cu, where a collective does not end.
    ("nccl-1: Test timeout (60s) common.cu:371", FAILED),
    (" .. nccl-1 pid 99: Test failure common.cu:590", FAILED),
    # Open MPI's launcher and torchrun, of a rank that ended badly after the table.
    ("Primary job  terminated normally, but 1 process returned a non-zero exit code.", NOT_PROVEN),
    ("MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD", NOT_PROVEN),
    ("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", NOT_PROVEN),
    ("srun: error: node-1: task 1: Exited with exit code 3", NOT_PROVEN),
    ("[nccl-1:00021] *** Process received signal ***", NOT_PROVEN),
    ("Bus error (core dumped)", NOT_PROVEN),
    ("nccl-0:1:1 [0] NCCL WARN a figure is odd", PASSED),
])  # fmt: skip
def test_a_rank_that_ended_badly_beside_a_whole_table_is_heard(line: str, outcome: Outcome) -> None:
    assert nccl(f"{said.nccl()}{line}\n", 0, 2, A10G).outcome is outcome


@pytest.mark.parametrize("code", [6, 8])
def test_only_the_tool_s_own_code_for_bad_data_is_a_failure(code: int) -> None:
    assert nccl(said.nccl(), code, 2, A10G).outcome is NOT_PROVEN


def test_the_fault_of_a_smaller_size_counts_and_its_speed_does_not() -> None:
    slow = said.nccl([row(8, halves="1 1 0.01 0 1 1 0.01 0"), row()])
    wrong = said.nccl([row(8, halves="1 1 0.01 1 1 1 0.01 0"), row()])
    assert nccl(slow, 0, 2, A10G).outcome is PASSED
    assert nccl(wrong, 0, 2, A10G).reason == reason("check.nccl.wrong-values", wrong=1, bytes=8)


def test_a_last_line_that_may_be_cut_is_no_evidence() -> None:
    whole = said.nccl().partition("# Out of bounds")[0].replace("Collective test", "")
    counted = "# Out of bounds values : 0 OK"
    plan = "# nThread 1 nGpus 1 minBytes 8 maxBytes 268435456"

    assert nccl(f"{whole}{counted}", 0, 2, A10G).reason == (reason("check.nccl.no-bounds"))
    assert nccl(f"{whole}{counted}\n", 0, 2, A10G).outcome is PASSED
    assert nccl(plan, 0, 2, A10G).measurements["max_bytes"] is None
    assert nccl(f"{plan}\n", 0, 2, A10G).measurements["max_bytes"] == LARGEST


def test_of_tagged_output_the_table_of_rank_0_alone_is_read() -> None:
    def tagged(rank: int, text: str) -> str:
        return "".join(f"[1,{rank}]<stdout>:{line}\n" for line in text.splitlines())

    other = tagged(1, said.nccl([row(halves="1 1 0.1 5 1 1 0.1 5")]))

    assert nccl(other + tagged(0, said.nccl()), 0, 2, A10G).passed
    assert nccl(other, 0, 2, A10G).measurements["rows"] == 0
    broken = tagged(1, "worker: Test CUDA failure late") + tagged(0, said.nccl())
    assert nccl(broken, 0, 2, A10G).reason == reason(
        "check.tool-says", tool="nccl-tests", line="Test CUDA failure late"
    )


@pytest.mark.parametrize(("code", "reason"), [
    (0, reason("check.nccl.no-plan")),
    (-1, reason("check.torch.raised", why=reason("check.tool-exit-code", code=-1), words="ValueError: odd")),
    (1, reason("check.torch.raised", why=reason("check.tool-exit-code", code=1), words="ValueError: odd")),
])  # fmt: skip
def test_an_exception_of_torch_is_quoted_where_it_ended_badly(code: int, reason: Said) -> None:
    found = torch_collective("ValueError: odd\n", code, 2, A10G)
    assert (found.outcome, found.reason) == (NOT_PROVEN, reason)


def test_what_the_table_proves_stands_whatever_torch_says_beside_it() -> None:
    wrong = said.nccl([row(halves="1 1 1 2 1 1 1 0")]) + "RuntimeError: CUDA error: late\n"

    assert torch_collective(wrong, 1, 2, A10G).reason == reason(
        "check.nccl.wrong-values", wrong=2, bytes=268435456
    )
    assert torch_collective("CUDA error: none\n", 0, 2, A10G).outcome is NOT_PROVEN


@pytest.mark.parametrize(("before", "line", "quoted"), [
    ("", "connect() to a timed out", "connect() to a timed out"),
    ("one\ntwo\n", "  connect() to a timed out  ", "connect() to a timed out"),
    ("\n", "connect() to b timed out", "connect() to b timed out"),
    ("one\n", "x" * 30 + "connect() timed out, " + "y" * 139, "connect() timed out, " + "y" * 139),
    ("one\n", "connect() a timed out" + "y" * 978 + "zq", "y" * 159 + "z"),
])  # fmt: skip
def test_the_line_by_which_ranks_never_met_is_quoted_by_its_end(before: str, line: str, quoted: str) -> None:
    found = torch_collective(f"{before}{line}\nlast\n", 1, 2, A10G)
    assert (found.outcome, found.reason) == (FAILED, reason("check.torch.never-met", words=quoted))


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
    assert (found.outcome, found.measurements["rows"]) == (PASSED, 3)
