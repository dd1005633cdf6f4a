"""nvidia-smi's verdict in full: tables, rows and cells that may be cut off, at both sides of every limit."""

from decimal import Decimal

import pytest

from lamplighter.domain.checks.verdicts.nvidia_smi import nvidia_smi
from lamplighter.domain.checks.verdicts.of import verdict_of
from lamplighter.domain.checks.verdicts.verdict import Outcome, Verdict
from lamplighter.domain.gpu.instance_types import GpuType
from lamplighter.reasons.reason import Said, Sentences, reason
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
            reason("check.smi.passed", gpus=1, model="NVIDIA A10G"),
            {
                "exit_code": 0,
                "gpus": 1,
                "rows": [{"name": "NVIDIA A10G", "uuid": said.uuid(1)}],
                "not_judged": [
                    "driver_version",
                    "ecc.errors.uncorrected.volatile.total",
                    "remapped_rows.pending",
                    "remapped_rows.failure",
                    "clocks_event_reasons.active",
                ],
            },
        )
    )


@pytest.mark.parametrize(("text", "gpus", "outcome", "reason"), [
    ("", 4, NOT_PROVEN, reason("check.smi.no-table")),
    ("name\n", 4, NOT_PROVEN, reason("check.smi.no-row")),
    ("name\nA10G\nname\nA10G\n", 4, NOT_PROVEN, reason("check.smi.several-tables")),
    ("name,uuid\nA10G,GP", 4, NOT_PROVEN, reason("check.smi.gpu", gpu=0, fault=reason("check.smi.unread-value",
     column="uuid", value="GP"))),
    ("name,uuid\nA10G", 4, NOT_PROVEN, reason("check.smi.cut-row")),
    ("name,serial\nA10G", 4, NOT_PROVEN, reason("check.smi.unknown-column", column="serial")),
    ("name,name\nA10G,A10G\n", 4, NOT_PROVEN, reason("check.smi.column-twice")),
    ("name\n" + "A10G\n" * 3, 4, FAILED, reason("check.smi.missing", listed=3, gpus=4)),
    ("name\nwarning\n" + "A10G\n" * 3, 4, NOT_PROVEN, reason("check.smi.unread-rows", read=3, gpus=4)),
    ("name\n\n" + "A10G\n" * 3, 4, FAILED, reason("check.smi.missing", listed=3, gpus=4)),
    ("name\nwarning\n" + "A10G\n" * 4, 4, PASSED, reason("check.smi.passed", gpus=4, model="NVIDIA A10G")),
    ("name\n" + "A10G\n" * 5, 4, NOT_PROVEN, reason("check.smi.too-many-rows", listed=5, gpus=4)),
    ("name\n" + "A10G\n" * 5, 5, NOT_PROVEN, reason("check.too-many-gpus", type="g5.12xlarge", count=4, gpus=5)),
    ("name\nA10G\nTesla T4\n", 2, FAILED, reason("check.smi.gpu", gpu=1, fault=reason("check.other-model",
     model="Tesla T4", type="g5.12xlarge", expected="NVIDIA A10G"))),
    ("name\nTesla T4", 1, NOT_PROVEN, reason("check.smi.gpu", gpu=0, fault=reason("check.smi.unread-value",
     column="name", value="Tesla T4"))),
    ("name\nTesla T4\nA10G", 2, FAILED, reason("check.smi.gpu", gpu=0, fault=reason("check.other-model",
     model="Tesla T4", type="g5.12xlarge", expected="NVIDIA A10G"))),
    ("name\nA1\ufffd\n", 1, NOT_PROVEN, reason("check.smi.gpu", gpu=0, fault=reason("check.smi.unread-value",
     column="name", value="A1�"))),
])  # fmt: skip
def test_a_table_of_gpus_is_judged_as_far_as_it_goes(
    text: str, gpus: int, outcome: Outcome, reason: Said
) -> None:
    found = nvidia_smi(text, 0, gpus, FOUR)
    assert (found.outcome, found.reason) == (outcome, reason)


@pytest.mark.parametrize(("row", "reason"), [
    (said.smi_row(ecc="1"), reason("check.smi.gpu", gpu=0, fault=reason("check.smi.ecc", errors=1))),
    (said.smi_row(remap="1"), reason("check.smi.gpu", gpu=0, fault=reason("check.smi.remap"))),
    (said.smi_row(remap_failed="Yes"), reason("check.smi.gpu", gpu=0, fault=reason("check.smi.remap-failed"))),
    (said.smi_row(events="0x2"), reason("check.smi.gpu", gpu=0, fault=reason("check.smi.clocks", mask="0x2"))),
    (said.smi_row(ecc="2", remap="yes"), Sentences((reason("check.smi.gpu", gpu=0, fault=reason("check.smi.ecc",
     errors=2)), reason("check.smi.gpu", gpu=0, fault=reason("check.smi.remap"))))),
    (said.smi_row(ecc="2", driver="580"), reason("check.smi.gpu", gpu=0, fault=reason("check.smi.ecc", errors=2))),
])  # fmt: skip
def test_a_proven_fault_of_a_gpu_is_named_and_a_doubt_beside_it_is_not(row: str, reason: Said) -> None:
    found = nvidia_smi(said.smi(row), 0, 1, A10G)
    assert (found.outcome, found.reason) == (FAILED, reason)


@pytest.mark.parametrize(("header", "cell", "outcome"), [
    ("driver_version", "580.159.03", PASSED),
    ("driver_version", "580.159", NOT_PROVEN),
    ("clocks_event_reasons.active", "0x0000000000000004", PASSED),
    ("clocks_event_reasons.active", "0x000000000000004", NOT_PROVEN),
    ("remapped_rows.pending", "0", PASSED),
    ("remapped_rows.failure", "0", PASSED),
])  # fmt: skip
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
    assert (found.outcome, found.reason) == (NOT_PROVEN, reason("check.smi.gpu-twice"))


@pytest.mark.parametrize("before", ["", "one\n", "\n"])
def test_the_tool_s_own_words_for_a_dead_gpu_are_quoted_as_a_line(before: str) -> None:
    found = nvidia_smi(f"{before}  NVIDIA-SMI has failed: odd  \nmore\n", 9, 1, A10G)
    assert found == Verdict(
        FAILED,
        reason("check.tool-says", tool="nvidia-smi", line="NVIDIA-SMI has failed: odd"),
        {"exit_code": 9},
    )


@pytest.mark.parametrize(("text", "kind", "outcome"), [
    ("name\nNVIDIA A10G", "g5.xlarge", PASSED),
    ("name\nNVIDIA L4", "g6.xlarge", NOT_PROVEN),
    ("name\nNVIDIA L4\n", "g6.xlarge", PASSED),
])  # fmt: skip
def test_a_name_at_the_end_counts_unless_it_may_be_the_beginning_of_another_model_s(
    text: str, kind: str, outcome: Outcome
) -> None:
    assert verdict_of("nvidia-smi", kind, 1, 0, text.encode()).outcome is outcome


def test_of_columns_that_cannot_be_judged_the_first_is_named() -> None:
    assert nvidia_smi("name,serial,pci.bus_id\nA10G,1,2\n", 0, 1, A10G).reason == (
        reason("check.smi.unknown-column", column="serial")
    )


def test_a_driver_without_its_second_part_is_no_version() -> None:
    found = nvidia_smi("name,driver_version\nA10G,580\n", 0, 1, A10G)
    assert (found.outcome, found.reason) == (
        NOT_PROVEN,
        reason(
            "check.smi.gpu",
            gpu=0,
            fault=reason("check.smi.unread-value", column="driver_version", value="580"),
        ),
    )


def test_a_tool_that_ended_badly_and_printed_no_table_is_told_by_how_it_ended() -> None:
    assert nvidia_smi("", 124, 1, A10G).reason == reason("check.tool-timed-out", code=124)


@pytest.mark.parametrize("indent", [0, 1, 100, 150])
def test_of_a_line_about_a_dead_gpu_the_first_300_characters_are_looked_at_and_200_quoted(
    indent: int,
) -> None:
    said = "No devices were found " + "x" * 300
    found = nvidia_smi(f"one\n{' ' * indent}{said}\nmore\n", 6, 1, A10G)
    assert found.reason == reason("check.tool-says", tool="nvidia-smi", line=said[: min(200, 300 - indent)])
