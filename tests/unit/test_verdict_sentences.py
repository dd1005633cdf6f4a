"""Verdicts in full: the sentence and the figures of each rule, at both sides of every limit."""

from decimal import Decimal

import pytest

from lamplighter.domain.gpus import GpuType
from lamplighter.domain.verdict import Measurement, Outcome, Verdict, ended_badly
from lamplighter.domain.verdict_nccl import nccl
from lamplighter.domain.verdict_nvidia_smi import nvidia_smi
from lamplighter.domain.verdict_of import verdict_of
from lamplighter.domain.verdict_torch import torch_collective
from tests import gpu_outputs as said

PASSED, FAILED, NOT_PROVEN = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_PROVEN
A10G = GpuType("g5.xlarge", ("NVIDIA A10G", "A10G"), 1, frozenset(), Decimal("0.25"))
FOUR = GpuType("g5.12xlarge", ("NVIDIA A10G", "A10G"), 4, frozenset(), Decimal("2.50"))
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
        ("one\n", "connect() a timed out" + "y" * 979 + "zz", "y" * 160),
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


def test_healthy_gpus_are_told_with_their_rows() -> None:
    assert verdict_of(
        "nvidia-smi", "g5.xlarge", 1, 0, b"name,uuid\nNVIDIA A10G," + said.uuid(1).encode()
    ) == (
        Verdict(
            PASSED,
            "1 of 1 GPUs are there and without fault: NVIDIA A10G",
            {
                "exit_code": 0,
                "gpus": 1,
                "rows": [{"name": "NVIDIA A10G", "uuid": said.uuid(1)}],
                "not_judged": [
                    "driver_version",
                    "ecc.errors.uncorrected.volatile.total",
                    "remapped_rows.pending",
                    "clocks_event_reasons.active",
                ],
            },
        )
    )


@pytest.mark.parametrize(
    ("text", "gpus", "outcome", "reason"),
    [
        ("", 4, NOT_PROVEN, "nvidia-smi printed no table with a header row and a name column"),
        ("name\n", 4, NOT_PROVEN, "the table has no row"),
        ("name\nA10G\nname\nA10G\n", 4, NOT_PROVEN, "there is more than one table in the output"),
        ("name,uuid\nA10G,GP", 4, NOT_PROVEN, "GPU 0: uuid reads 'GP', which is no value of it"),
        ("name,uuid\nA10G", 4, NOT_PROVEN, "the output breaks off within a row"),
        ("name,serial\nA10G", 4, NOT_PROVEN, "the column 'serial' is none that can be judged"),
        ("name,name\nA10G,A10G\n", 4, NOT_PROVEN, "a column is there twice"),
        ("name\n" + "A10G\n" * 3, 4, FAILED, "3 of 4 GPUs are there"),
        ("name\nwarning\n" + "A10G\n" * 3, 4, NOT_PROVEN, "3 of 4 GPUs can be read in the table"),
        ("name\n\n" + "A10G\n" * 3, 4, FAILED, "3 of 4 GPUs are there"),
        (
            "name\nwarning\n" + "A10G\n" * 4,
            4,
            PASSED,
            "4 of 4 GPUs are there and without fault: NVIDIA A10G",
        ),
        ("name\n" + "A10G\n" * 5, 4, NOT_PROVEN, "5 GPUs are listed where 4 were to be judged"),
        ("name\n" + "A10G\n" * 5, 5, NOT_PROVEN, "a g5.12xlarge has 4 GPUs, so 5 cannot be seen"),
        (
            "name\nA10G\nTesla T4\n",
            2,
            FAILED,
            "GPU 1: it is a Tesla T4 where a g5.12xlarge has NVIDIA A10G",
        ),
        ("name\nTesla T4", 1, NOT_PROVEN, "GPU 0: name reads 'Tesla T4', which is no value of it"),
        (
            "name\nTesla T4\nA10G",
            2,
            FAILED,
            "GPU 0: it is a Tesla T4 where a g5.12xlarge has NVIDIA A10G",
        ),
        ("name\nA1\ufffd\n", 1, NOT_PROVEN, "GPU 0: name reads 'A1\ufffd', which is no value of it"),
    ],
)
def test_a_table_of_gpus_is_judged_as_far_as_it_goes(
    text: str, gpus: int, outcome: Outcome, reason: str
) -> None:
    found = nvidia_smi(text, 0, gpus, FOUR)
    assert (found.outcome, found.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (said.smi_row(ecc="1"), "GPU 0: 1 uncorrected ECC errors, allowed are 0"),
        (said.smi_row(remap="1"), "GPU 0: a row remapping is pending: the GPU needs a reset"),
        (
            said.smi_row(events="0x2"),
            "GPU 0: its clocks are held down, event reasons 0x2, allowed 0x5",
        ),
        (
            said.smi_row(ecc="2", remap="yes"),
            "GPU 0: 2 uncorrected ECC errors, allowed are 0; GPU 0: a row remapping is pending: the GPU needs a reset",
        ),
        (said.smi_row(ecc="2", driver="580"), "GPU 0: 2 uncorrected ECC errors, allowed are 0"),
    ],
)
def test_a_proven_fault_of_a_gpu_is_named_and_a_doubt_beside_it_is_not(row: str, reason: str) -> None:
    found = nvidia_smi(said.smi(row), 0, 1, A10G)
    assert (found.outcome, found.reason) == (FAILED, reason)


@pytest.mark.parametrize(
    ("header", "cell", "outcome"),
    [
        ("driver_version", "580.159.03", PASSED),
        ("driver_version", "580.159", NOT_PROVEN),
        ("clocks_event_reasons.active", "0x0000000000000004", PASSED),
        ("clocks_event_reasons.active", "0x000000000000004", NOT_PROVEN),
        ("remapped_rows.pending", "0", PASSED),
    ],
)
def test_a_last_cell_that_may_be_cut_counts_where_no_more_could_follow(
    header: str, cell: str, outcome: Outcome
) -> None:
    cut = f"name,{header}\nA10G,{cell}"

    assert nvidia_smi(cut, 0, 1, A10G).outcome is outcome
    assert nvidia_smi(f"{cut}\n", 0, 1, A10G).outcome is PASSED
    assert nvidia_smi(f"name,{header}\nA10G,{cell}\nA10G,{cell}", 0, 2, FOUR).outcome is outcome


def test_the_same_gpu_in_two_rows_is_not_proven_and_cells_that_are_no_uuid_are_no_gpu() -> None:
    twice = said.smi(said.smi_row(), said.smi_row())
    found = nvidia_smi(twice, 0, 2, FOUR)

    assert (found.outcome, found.reason) == (NOT_PROVEN, "the same GPU is listed twice")


@pytest.mark.parametrize("before", ["", "one\n", "\n"])
def test_the_tool_s_own_words_for_a_dead_gpu_are_quoted_as_a_line(before: str) -> None:
    found = nvidia_smi(f"{before}  NVIDIA-SMI has failed: odd  \nmore\n", 9, 1, A10G)
    assert found == Verdict(FAILED, "nvidia-smi says: NVIDIA-SMI has failed: odd", {"exit_code": 9})
