"""Verdicts of a pair in full: the sentence and the figures of each rule, at both sides of every limit."""

from decimal import Decimal

import pytest

from lamplighter.domain.checks.verdicts.nccl import nccl
from lamplighter.domain.checks.verdicts.torch import torch_collective
from lamplighter.domain.checks.verdicts.verdict import Measurement, Outcome, Verdict, ended_badly
from lamplighter.domain.gpu.instance_types import GpuType
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


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (0, None),
        (1, "the tool ended with exit code 1"),
        (123, "the tool ended with exit code 123"),
        (124, "the tool timed out (exit code 124)"),
        (137, "the tool was killed (exit code 137)"),
        (143, "the tool was told to end (exit code 143)"),
        (-1, "the tool ended with exit code -1"),
    ],
)
def test_an_exit_code_says_how_the_tool_ended(code: int, sentence: str | None) -> None:
    assert ended_badly(code) == sentence


def test_a_pair_that_passes_is_told_with_its_figures() -> None:
    assert nccl(said.nccl(), 0, 2, A10G) == Verdict(
        PASSED,
        "2 ranks, every value right, 1.16 GB/s at 268435456 bytes where 0.25 are needed",
        FIGURES,
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the output does not say once how many bytes were to be sent (maxBytes)"),
        (
            said.nccl() + said.nccl(),
            "the output does not say once how many bytes were to be sent (maxBytes)",
        ),
        (said.nccl(ranks=1), "1 ranks took part where 2 were expected"),
        (said.nccl(ranks=3), "3 ranks took part where 2 were expected"),
        (said.nccl().replace("Rank  1", "Rank  2"), "2 ranks took part where 2 were expected"),
        (said.nccl([]), "there is no row of figures"),
        (said.nccl([row(8)]), "the row of 268435456 bytes, the largest announced, is not there"),
        (
            said.nccl([row(halves="1 1 N/A 0 1 1 N/A 0")]),
            "the largest size has no bus bandwidth",
        ),
        (
            said.nccl([row(8, halves="1 1 1 N/A 1 1 1 N/A"), row()]),
            "the values of 8 bytes were not checked (#wrong is N/A)",
        ),
        (said.nccl(bounds="#"), "the line that counts values out of bounds is not there"),
        (
            said.nccl().replace("concluded: all_reduce_perf", "concluded: broadcast_perf"),
            "the test says that it started and not that it concluded",
        ),
        (
            said.nccl([row(halves="1 1 1 0 1 1 1")]),
            "the row of 268435456 bytes has 12 figures where 13 belong",
        ),
        (
            said.nccl([row(halves="1 1 1 0 1 1 1 0 0")]),
            "the row of 268435456 bytes has 14 figures where 13 belong",
        ),
        (
            said.nccl([row(halves="1 1 x 0 1 1 1 0")]),
            "the row of 268435456 bytes has a figure that cannot be read",
        ),
        (
            said.nccl([row(halves="1 1 1 0 1 1 1 -1")]),
            "the row of 268435456 bytes has a figure that cannot be read",
        ),
        (
            said.nccl([row(halves="N/A x N/A N/A 1 1 1 0")]),
            "the row of 268435456 bytes has a figure that cannot be read",
        ),
        (
            said.nccl().replace("#wrong", "error"),
            "this version of nccl-tests prints an error figure and does not count wrong values",
        ),
    ],
)
def test_the_evidence_that_a_pair_lacks_is_named(text: str, reason: str) -> None:
    found = nccl(text, 0, 2, A10G)
    assert (found.outcome, found.reason) == (NOT_PROVEN, reason)


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        (
            said.nccl([row(halves="1 1 1 2 1 1 1 3")]),
            0,
            "5 wrong values at 268435456 bytes, allowed are 0",
        ),
        (
            said.nccl([row(halves="1 1 1 0.2 1 1 1 N/A")]),
            0,
            "1 wrong values at 268435456 bytes, allowed are 0",
        ),
        (
            said.nccl(bounds="# Out of bounds values : 0 FAILED"),
            0,
            "0 values are out of bounds, allowed are 0",
        ),
        (
            said.nccl(bounds="# Out of bounds values : 1 OK"),
            0,
            "1 values are out of bounds, allowed are 0",
        ),
        (
            said.nccl([row(halves="1 1 0.3 0 1 1 0.24 0")]),
            0,
            "the bus bandwidth is 0.24 GB/s at the largest size, needed are 0.25",
        ),
        (
            said.nccl([row(halves="1 1 0.24 0 1 1 N/A N/A")]),
            0,
            "the bus bandwidth is 0.24 GB/s at the largest size, needed are 0.25",
        ),
        (said.nccl(), 7, "nccl-tests says that data is wrong or too slow (exit code 7)"),
        (
            "worker-0: Test NCCL failure one\nworker-1: Test CUDA failure two\n",
            3,
            "Test NCCL failure one",
        ),
    ],
)
def test_a_measured_fault_of_a_pair_is_named_with_its_limit(text: str, code: int, reason: str) -> None:
    found = nccl(text, code, 2, A10G)
    assert (found.outcome, found.reason) == (FAILED, reason)


AVERAGE = "# Avg bus bandwidth    : 1.165"


def test_what_nccl_tests_says_of_its_own_bandwidth_is_never_overruled_upwards() -> None:
    # nccl-tests common.cu, with NCCL_TESTS_MIN_BW set: its exit code may have been swallowed by a pipe.
    opinions = {word: nccl(said.nccl().replace(AVERAGE, f"{AVERAGE} {word}"), 0, 2, A10G) for word in WORDS}

    assert {word: found.outcome for word, found in opinions.items()} == WORDS
    assert opinions["FAILED"].reason == "nccl-tests itself says FAILED of the average bus bandwidth"
    assert opinions["FAI"].reason == "nccl-tests says 'FAI' of the average bus bandwidth"


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
    assert (found.outcome, found.reason) == (NOT_PROVEN, "one rank has no bus: nothing was sent to another")
    assert nccl(alone, 0, 2, A10G).reason == "1 ranks took part where 2 were expected"
    assert nccl(wrong, 0, 1, A10G).outcome is FAILED


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
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
    ],
)
def test_a_rank_that_ended_badly_beside_a_whole_table_is_heard(line: str, outcome: Outcome) -> None:
    assert nccl(f"{said.nccl()}{line}\n", 0, 2, A10G).outcome is outcome


@pytest.mark.parametrize("code", [6, 8])
def test_only_the_tool_s_own_code_for_bad_data_is_a_failure(code: int) -> None:
    assert nccl(said.nccl(), code, 2, A10G).outcome is NOT_PROVEN


def test_the_fault_of_a_smaller_size_counts_and_its_speed_does_not() -> None:
    slow = said.nccl([row(8, halves="1 1 0.01 0 1 1 0.01 0"), row()])
    wrong = said.nccl([row(8, halves="1 1 0.01 1 1 1 0.01 0"), row()])

    assert nccl(slow, 0, 2, A10G).outcome is PASSED
    assert nccl(wrong, 0, 2, A10G).reason == "1 wrong values at 8 bytes, allowed are 0"


def test_a_last_line_that_may_be_cut_is_no_evidence() -> None:
    whole = said.nccl().partition("# Out of bounds")[0].replace("Collective test", "")
    counted = "# Out of bounds values : 0 OK"
    plan = "# nThread 1 nGpus 1 minBytes 8 maxBytes 268435456"

    assert nccl(f"{whole}{counted}", 0, 2, A10G).reason == (
        "the line that counts values out of bounds is not there"
    )
    assert nccl(f"{whole}{counted}\n", 0, 2, A10G).outcome is PASSED
    assert nccl(plan, 0, 2, A10G).measurements["max_bytes"] is None
    assert nccl(f"{plan}\n", 0, 2, A10G).measurements["max_bytes"] == LARGEST


def test_of_tagged_output_the_table_of_rank_0_alone_is_read() -> None:
    def tagged(rank: int, text: str) -> str:
        return "".join(f"[1,{rank}]<stdout>:{line}\n" for line in text.splitlines())

    other = tagged(1, said.nccl([row(halves="1 1 0.1 5 1 1 0.1 5")]))

    assert nccl(other + tagged(0, said.nccl()), 0, 2, A10G).reason.startswith("2 ranks, every value right")
    assert nccl(other, 0, 2, A10G).measurements["rows"] == 0
    broken = tagged(1, "worker: Test CUDA failure late") + tagged(0, said.nccl())
    assert nccl(broken, 0, 2, A10G).reason == "Test CUDA failure late"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (0, "the output does not say once how many bytes were to be sent (maxBytes)"),
        (-1, "the tool ended with exit code -1: ValueError: odd"),
        (1, "the tool ended with exit code 1: ValueError: odd"),
    ],
)
def test_an_exception_of_torch_is_quoted_where_it_ended_badly(code: int, reason: str) -> None:
    found = torch_collective("ValueError: odd\n", code, 2, A10G)
    assert (found.outcome, found.reason) == (NOT_PROVEN, reason)


def test_what_the_table_proves_stands_whatever_torch_says_beside_it() -> None:
    wrong = said.nccl([row(halves="1 1 1 2 1 1 1 0")]) + "RuntimeError: CUDA error: late\n"

    assert torch_collective(wrong, 1, 2, A10G).reason == "2 wrong values at 268435456 bytes, allowed are 0"
    assert torch_collective("CUDA error: none\n", 0, 2, A10G).outcome is NOT_PROVEN


@pytest.mark.parametrize(
    ("before", "line", "quoted"),
    [
        ("", "connect() to a timed out", "connect() to a timed out"),
        ("one\ntwo\n", "  connect() to a timed out  ", "connect() to a timed out"),
        ("\n", "connect() to b timed out", "connect() to b timed out"),
        ("one\n", "x" * 30 + "connect() timed out, " + "y" * 139, "connect() timed out, " + "y" * 139),
        ("one\n", "connect() a timed out" + "y" * 978 + "zq", "y" * 159 + "z"),
    ],
)
def test_the_line_by_which_ranks_never_met_is_quoted_by_its_end(before: str, line: str, quoted: str) -> None:
    found = torch_collective(f"{before}{line}\nlast\n", 1, 2, A10G)
    assert (found.outcome, found.reason) == (
        FAILED,
        (
            f"the ranks never met ({quoted}) and NCCL had not said a word: the path between the nodes is closed,"
            " ports 1025-65535 of the security groups first of all"
        ),
    )
