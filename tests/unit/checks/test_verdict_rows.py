"""nvidia-smi's verdict in full: tables, rows and cells that may be cut, at both sides of every limit."""

from decimal import Decimal

import pytest

from lamplighter.domain.checks.verdicts.nvidia_smi import nvidia_smi
from lamplighter.domain.checks.verdicts.of import verdict_of
from lamplighter.domain.checks.verdicts.verdict import Outcome, Verdict
from lamplighter.domain.gpu.instance_types import GpuType
from tests import gpu_outputs as said

PASSED, FAILED, NOT_PROVEN = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_PROVEN

A10G = GpuType("g5.xlarge", ("NVIDIA A10G", "A10G"), 1, frozenset(), Decimal("0.25"))

FOUR = GpuType("g5.12xlarge", ("NVIDIA A10G", "A10G"), 4, frozenset(), Decimal("2.50"))

LARGEST = 268435456


def row(size: int = LARGEST, *, halves: str = "100 1.2 1.17 0 100 1.2 1.16 0") -> str:
    return f"{size} {size // 4} float sum -1 {halves}"


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


@pytest.mark.parametrize(
    ("text", "kind", "outcome"),
    [
        ("name\nNVIDIA A10G", "g5.xlarge", PASSED),
        ("name\nNVIDIA L4", "g6.xlarge", NOT_PROVEN),
        ("name\nNVIDIA L4\n", "g6.xlarge", PASSED),
    ],
)
def test_a_name_at_the_end_counts_unless_it_may_be_the_beginning_of_another_model_s(
    text: str, kind: str, outcome: Outcome
) -> None:
    assert verdict_of("nvidia-smi", kind, 1, 0, text.encode()).outcome is outcome


def test_of_columns_that_cannot_be_judged_the_first_is_named() -> None:
    assert nvidia_smi("name,serial,pci.bus_id\nA10G,1,2\n", 0, 1, A10G).reason == (
        "the column 'serial' is none that can be judged"
    )


def test_a_driver_without_its_second_part_is_no_version() -> None:
    found = nvidia_smi("name,driver_version\nA10G,580\n", 0, 1, A10G)
    assert (found.outcome, found.reason) == (
        NOT_PROVEN,
        "GPU 0: driver_version reads '580', which is no value of it",
    )


def test_a_tool_that_ended_badly_and_printed_no_table_is_told_by_how_it_ended() -> None:
    assert nvidia_smi("", 124, 1, A10G).reason == "the tool timed out (exit code 124)"


@pytest.mark.parametrize("indent", [0, 1, 100, 150])
def test_of_a_line_about_a_dead_gpu_the_first_300_characters_are_looked_at_and_200_quoted(
    indent: int,
) -> None:
    said = "No devices were found " + "x" * 300
    found = nvidia_smi(f"one\n{' ' * indent}{said}\nmore\n", 6, 1, A10G)
    assert found.reason == f"nvidia-smi says: {said[: min(200, 300 - indent)]}"
