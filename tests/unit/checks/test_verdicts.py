"""Verdicts: passed only on evidence, failed on a measurement, otherwise not proven."""

import json
import runpy
import sys
import types
from decimal import Decimal
from importlib.resources import files

import pytest

from lamplighter.domain.checks.verdicts.of import verdict_of
from lamplighter.domain.checks.verdicts.torch import torch_collective
from lamplighter.domain.checks.verdicts.vector_add import vector_add
from lamplighter.domain.checks.verdicts.verdict import Outcome, Verdict
from lamplighter.domain.gpu.instance_types import GpuType
from lamplighter.reasons.reason import reason
from tests import gpu_outputs as said

PASSED, FAILED, NOT_PROVEN = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_PROVEN


def judge(check: str, text: str, *, kind: str = "g5.xlarge", gpus: int = 1, code: int = 0) -> Verdict:
    return verdict_of(check, kind, gpus, code, text.encode())


def test_a_healthy_gpu_passes_nvidia_smi_with_every_column_judged() -> None:
    found = judge("nvidia-smi", said.smi())
    assert (found.outcome, found.measurements["not_judged"]) == (PASSED, [])


@pytest.mark.parametrize(("row", "outcome", "because"), [
    (said.smi_row(ecc="3"), FAILED, "3 uncorrected ECC errors"),
    (said.smi_row(remap="Yes"), FAILED, "remapping is pending"),
    (said.smi_row(events="0x0000000000000001"), PASSED, ""),
    (said.smi_row(events="0x0000000000000005"), PASSED, ""),
    (said.smi_row(events="0x0"), PASSED, ""),
    (said.smi_row(events="0x0000000000000008"), FAILED, "event reasons 0x0000000000000008"),
    (said.smi_row(events="0x0000000000000024"), FAILED, "event reasons"),
    (said.smi_row(events="Not Active"), NOT_PROVEN, "clocks_event_reasons.active"),
    (said.smi_row(name="Tesla T4"), FAILED, "Tesla T4"),
    (said.smi_row(ecc="[N/A]"), NOT_PROVEN, "has no value"),
    (said.smi_row(remap="[Not Supported]"), NOT_PROVEN, "has no value"),
    (said.smi_row(ecc="-1"), NOT_PROVEN, "is no value of this column"),
    (said.smi_row(uuid="GPU-123"), NOT_PROVEN, "uuid"),
    (said.smi_row(driver="N/A"), NOT_PROVEN, "driver_version"),
    (said.smi_row(ecc="[Unknown Error]"), NOT_PROVEN, "Unknown Error"),
    (said.smi_row(ecc="[GPU requires reset]"), FAILED, "requires reset"),
])  # fmt: skip
def test_each_column_is_judged(row: str, outcome: Outcome, because: str) -> None:
    found = judge("nvidia-smi", said.smi(row))
    assert found.outcome is outcome
    assert because in str(found.reason)


def test_a_column_that_the_model_does_not_have_may_be_empty() -> None:
    row = said.smi_row(name="Tesla T4", remap="[N/A]", remap_failed="[N/A]")
    assert judge("nvidia-smi", said.smi(row), kind="g4dn.xlarge").outcome is PASSED


@pytest.mark.parametrize(("state", "status", "outcome"), [
    ("Completed", "Success", PASSED),
    ("Completed", "Insufficient Resources", FAILED),
    ("Not Started", "[N/A]", FAILED),
    ("In Progress", "[N/A]", NOT_PROVEN),
    ("[N/A]", "[N/A]", NOT_PROVEN),
])  # fmt: skip
def test_the_fabric_of_nvswitches_has_to_be_set_up(state: str, status: str, outcome: Outcome) -> None:
    name = "NVIDIA H100 80GB HBM3"
    rows = [f"{name}, Completed, Success"] * 7 + [f"{name}, {state}, {status}"]
    text = said.smi(*rows, header="name, fabric.state, fabric.status")
    found = judge("nvidia-smi", text, kind="p5.48xlarge", gpus=8)
    assert found.outcome is outcome
    assert outcome is not FAILED or "the NVSwitches are not set up (see nvidia-fabricmanager)" in str(
        found.reason
    )


def test_any_order_of_columns_and_the_older_name_of_one() -> None:
    text = "clocks_throttle_reasons.active, name\n0x0000000000000004, NVIDIA A10G\n"
    assert judge("nvidia-smi", text).outcome is PASSED
    slowed = text.replace("0004", "0040")
    assert judge("nvidia-smi", slowed).outcome is FAILED


@pytest.mark.parametrize("text", [
    "NVIDIA A10G, 580.159.03\n",
    "driver_version\n580.159.03\n",
    said.nccl(),
    "\x00" * 50,
])  # fmt: skip
def test_what_is_no_such_table_is_not_proven(text: str) -> None:
    assert judge("nvidia-smi", text).outcome is NOT_PROVEN


def test_an_unknown_type_is_not_proven() -> None:
    assert judge("nvidia-smi", said.smi(), kind="g9.huge").outcome is NOT_PROVEN


@pytest.mark.parametrize(("check", "text", "gpus", "codes"), [
    ("nvidia-smi", said.smi(), 1, (1, 9, 124, 137, -9)),
    ("dcgm", said.dcgm_v4(), 1, (1, 124, 137, 205, 226)),
    ("nccl", said.nccl(), 2, (1, 2, 3, 4, 124, 137)),
])  # fmt: skip
def test_a_tool_that_ended_badly_never_passes(
    check: str, text: str, gpus: int, codes: tuple[int, ...]
) -> None:
    for code in codes:
        assert judge(check, text, gpus=gpus, code=code).outcome is NOT_PROVEN


@pytest.mark.parametrize("line", [
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    "Failed to initialize NVML: Driver/library version mismatch",
    "No devices were found",
    "Unable to determine the device handle for GPU0000:00:1E.0: Unknown Error",
    "Unable to detect the device handle for GPU0000:00:1E.0: Unknown Error",
    "Failed to properly shut down NVML: Unknown Error",
])  # fmt: skip
def test_the_tool_s_own_words_for_a_dead_gpu_fail(line: str) -> None:
    assert judge("nvidia-smi", line + "\n", code=9).outcome is FAILED
    assert judge("nvidia-smi", said.smi() + line + "\n").outcome is FAILED


def test_a_warning_of_nvidia_smi_about_a_gpu_leaves_it_unproven_whatever_its_row_says() -> None:
    # nvidia-smi's manual: exit code 14, "infoROM is corrupted"; a pipe swallows it.
    text = said.smi() + "WARNING: infoROM is corrupted at gpu 0000:00:1E.0\n"
    found = judge("nvidia-smi", text)
    assert (found.outcome, found.reason) == (
        NOT_PROVEN,
        reason(
            "check.tool-says", tool="nvidia-smi", line="WARNING: infoROM is corrupted at gpu 0000:00:1E.0"
        ),
    )
    assert judge("nvidia-smi", text.replace(", 0, No", ", 2, No")).outcome is FAILED


def test_banners_warnings_windows_line_ends_and_marks_are_read_over() -> None:
    text = "\ufeffDefaulted container check out of: check\n" + said.smi() + "a warning, from stderr\n"
    assert judge("nvidia-smi", text.replace("\n", "\r\n")).outcome is PASSED
    utf_16 = verdict_of("nvidia-smi", "g5.xlarge", 1, 0, said.smi().encode("utf-16"))
    assert utf_16.outcome is PASSED


def test_a_row_that_another_text_runs_through_is_not_a_missing_gpu() -> None:
    rows = [said.smi_row(uuid=said.uuid(1)), "NVIDIA A10G, 580.1a warning"]
    assert judge("nvidia-smi", said.smi(*rows), kind="g5.12xlarge", gpus=2).outcome is NOT_PROVEN


@pytest.mark.parametrize("text", [said.dcgm_v4(), said.dcgm_v3(), said.dcgmi_v3("Pass")])
def test_a_healthy_gpu_passes_dcgm(text: str) -> None:
    assert judge("dcgm", text).outcome is PASSED
    assert judge("dcgm", "Successfully ran.\r\n{banner}\r\n" + text + "bye\n").outcome is PASSED


@pytest.mark.parametrize(("results", "outcome"), [
    ([said.dcgm_result(0, "Fail", 2)], FAILED),
    ([said.dcgm_result(0, "Fail")], FAILED),
    ([said.dcgm_result(0, "Fail", 5)], NOT_PROVEN),
    ([said.dcgm_result(0, "Fail", 5), said.dcgm_result(0, "Fail", 1)], FAILED),
    ([said.dcgm_result(0, "Skip")], PASSED),
    ([said.dcgm_result(0, "Warn", 1)], PASSED),
    ([said.dcgm_result(0, "Running")], NOT_PROVEN),
])  # fmt: skip
def test_each_status_has_its_meaning(results: list[dict[str, object]], outcome: Outcome) -> None:
    assert judge("dcgm", said.dcgm_v4(*results)).outcome is outcome


def test_a_failure_in_version_3_fails() -> None:
    assert judge("dcgm", said.dcgm_v3(status="FAIL"), code=226).outcome is FAILED


def test_software_of_the_whole_node_in_version_3_proves_no_gpu_and_can_fail() -> None:
    """`dcgmi` 3 names GPUs beside its tests on hardware alone."""
    software_alone = json.loads(said.dcgmi_v3("Pass"))
    del software_alone["DCGM GPU Diagnostic"]["test_categories"][1]
    assert judge("dcgm", json.dumps(software_alone)).outcome is NOT_PROVEN
    assert judge("dcgm", said.dcgmi_v3("Pass", deployment="Fail")).outcome is FAILED


def test_a_gpu_on_which_a_test_of_version_3_did_not_run_is_not_proven_by_its_neighbour() -> None:
    one_of_two = said.dcgmi_v3("", "Pass")
    assert judge("dcgm", one_of_two, kind="g5.12xlarge", gpus=2).outcome is NOT_PROVEN
    assert judge("dcgm", one_of_two).outcome is PASSED


def test_a_test_on_hardware_that_names_no_gpu_is_not_proven() -> None:
    assert judge("dcgm", said.dcgmi_v3("Pass").replace("gpu_ids", "ids")).outcome is NOT_PROVEN


@pytest.mark.parametrize("text", [
    "{}",
    '{"DCGM Diagnostic":{"test_categories":[]}}',
    said.dcgm_v4().replace("DCGM Diagnostic", "DCGM Health"),
    '{"DCGM Diagnostic":' + "[" * 100_000,
    said.dcgm_v4().replace('"entity_id"', '"entity"'),
    said.smi(),
])  # fmt: skip
def test_what_says_nothing_of_a_gpu_is_not_proven(text: str) -> None:
    assert judge("dcgm", text).outcome is NOT_PROVEN


def test_gpus_that_did_not_take_part_are_not_proven() -> None:
    assert judge("dcgm", said.dcgm_v4(), kind="g5.12xlarge", gpus=4).outcome is NOT_PROVEN
    assert judge("dcgm", said.dcgm_v3(gpus=8), kind="p5.48xlarge", gpus=8).outcome is PASSED


def test_tags_of_mpirun_and_lines_of_nccl_are_read_over() -> None:
    tagged = "".join(f"[1,0]<stdout>:{line}\n" for line in said.nccl().splitlines())
    noise = "[1,1]<stdout>: worker-1:12:12 [0] NCCL INFO Bootstrap : Using eth0\n"
    assert judge("nccl", noise + tagged + noise, gpus=2).outcome is PASSED


def test_older_builds_say_neither_start_nor_conclusion() -> None:
    text = "\n".join(line for line in said.nccl().split("\n") if "Collective test" not in line)
    assert judge("nccl", text, gpus=2).outcome is PASSED


def test_a_test_that_began_and_did_not_conclude_is_not_proven() -> None:
    text = said.nccl().partition("# Collective test concluded")[0]
    assert judge("nccl", text, gpus=2).outcome is NOT_PROVEN


@pytest.mark.parametrize(("row", "outcome"), [
    (said.nccl_row(268435456, busbw="0.25", in_place="0.25"), PASSED),
    (said.nccl_row(268435456, busbw="0.24", in_place="1.10"), FAILED),
    (said.nccl_row(268435456, busbw="2.5e-01", in_place="1.2e+00"), PASSED),
    (said.nccl_row(268435456, wrong_2="N/A"), PASSED),
    (said.nccl_row(268435456, wrong="N/A", wrong_2="N/A"), NOT_PROVEN),
    (said.nccl_row(268435456, wrong="1e+00"), FAILED),
    (said.nccl_row(268435456, wrong_2="7"), FAILED),
    (said.nccl_row(268435456, busbw="nan"), NOT_PROVEN),
    (said.nccl_row(268435456)[:-9], NOT_PROVEN),
    (said.nccl_row(134217728), NOT_PROVEN),
])  # fmt: skip
def test_the_largest_row_is_judged(row: str, outcome: Outcome) -> None:
    assert judge("nccl", said.nccl([said.nccl_row(67108864, "0.01"), row]), gpus=2).outcome is outcome


@pytest.mark.parametrize("text", [
    "",
    said.nccl().replace("maxBytes", "most"),
    said.nccl() + said.nccl(max_bytes=8),
    said.nccl() + said.nccl([said.nccl_row(67108864)], bounds="#"),
    said.smi(),
])  # fmt: skip
def test_missing_evidence_is_not_proven(text: str) -> None:
    assert judge("nccl", text, gpus=2).outcome is NOT_PROVEN


def test_vector_add_passes_by_its_own_line_and_exit_code() -> None:
    assert vector_add(said.VECTOR_ADD, 0).outcome is PASSED
    assert vector_add(said.VECTOR_ADD, 1).outcome is NOT_PROVEN
    assert vector_add(said.VECTOR_ADD.replace("PASSED", "PASS"), 0).outcome is NOT_PROVEN
    assert (
        vector_add("Failed to allocate device vector A (error code initialization error)!", 1).outcome
        is FAILED
    )


STORE = (
    "[W1120 TCPStore.cpp:340] [c10d] The client socket has timed out after 120000ms while trying to connect to "
    "(all-reduce-0.all-reduce, 29500).\n"
    "torch.distributed.DistNetworkError: The client socket has timed out after 120000ms while trying to "
    "connect to ([all-reduce-0.all-reduce]:29500).\n"
)


def torch(text: str, code: int = 1) -> Verdict:
    return torch_collective(
        text, code, 2, GpuType("g5.xlarge", ("NVIDIA A10G",), 1, frozenset(), Decimal("0.25"))
    )


def test_torch_s_table_is_judged_as_nccl_tests_own() -> None:
    found = torch(said.torch(), 0)
    assert found.outcome is PASSED
    assert found.measurements["busbw_gb_per_second"] == "1.160"
    assert torch(said.torch(busbw="0.2"), 0).outcome is FAILED
    assert torch(said.torch(), 1).outcome is NOT_PROVEN


def test_ranks_that_never_met_fail_by_the_path_between_their_nodes() -> None:
    assert "the ranks never met" in str(torch(STORE).reason)
    assert torch(STORE).outcome is FAILED
    waiting = "torch.distributed.DistStoreError: Timed out after 121 seconds. 1/2 clients joined."
    assert torch(waiting).outcome is FAILED


def test_once_nccl_spoke_the_path_to_the_store_was_open() -> None:
    found = torch("a:1:1 [0] NCCL INFO Bootstrap : Using eth0\n" + STORE)
    assert found.outcome is NOT_PROVEN
    nccl = (
        "a:1:1 [0] NCCL WARN socketStartConnect: connect to 10.0.1.7<45000> returned Connection timed out\n"
    )
    assert "NCCL did not reach one node from the other" in str(torch(nccl).reason)


@pytest.mark.parametrize(("text", "outcome"), [
    ("RuntimeError: CUDA error: uncorrectable ECC error encountered", FAILED),
    ("RuntimeError: Found no NVIDIA driver on your system.", FAILED),
    ("ModuleNotFoundError: No module named 'torch'", NOT_PROVEN),
    ("torch.OutOfMemoryError: CUDA out of memory.", NOT_PROVEN),
    ("", NOT_PROVEN),
])  # fmt: skip
def test_what_else_torch_says(text: str, outcome: Outcome) -> None:
    assert torch(text + "\n").outcome is outcome


def test_the_script_prints_rows_that_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "torch.distributed"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    collective = runpy.run_path(str(files("lamplighter.data.gpu").joinpath("collective.py")))["Collective"]
    one = collective.__new__(collective)
    one.size, one.count, one.ranks, one.operation = 268435456, 67108864, 2, "all_reduce"
    row, bandwidth, _ = one.row(0.25, 0)
    assert round(bandwidth, 3) == 1.074
    found = torch(said.nccl([row]), 0)
    assert (found.outcome, found.measurements["busbw_gb_per_second"]) == (PASSED, "1.074")
    one.operation = "all_gather"
    assert round(one.row(0.25, 0)[1], 3) == 0.537
    wrong = one.row(0.25, 3)[0]
    assert "3 wrong values" in str(torch(said.nccl([wrong]), 0).reason)


@pytest.mark.parametrize("check", ["nvidia-smi", "dcgm", "vectoradd"])
def test_a_tool_that_crashed_after_it_printed_that_all_is_well_proves_nothing(check: str) -> None:
    printed = {
        "nvidia-smi": said.smi(),
        "dcgm": said.dcgm_v4(said.dcgm_result(0)),
        "vectoradd": "[Vector addition of 50000 elements]\nTest PASSED\nDone\n",
    }[check]

    def verdict(text: str) -> Outcome:
        return vector_add(text, 0).outcome if check == "vectoradd" else judge(check, text).outcome

    assert verdict(printed) is PASSED
    # What a shell says of it, where a pipe swallowed the exit code.
    assert verdict(printed + "Segmentation fault (core dumped)\n") is NOT_PROVEN


def test_an_error_of_dcgmi_beside_its_document_leaves_it_unproven() -> None:
    document = said.dcgm_v4(said.dcgm_result(0))
    error = "Error: Unable to complete diagnostic for group 2147483647."
    for text in (f"{document}{error}\n", f"{error}\n{document}"):
        found = judge("dcgm", text)
        assert (found.outcome, found.reason) == (
            NOT_PROVEN,
            reason("check.tool-says", tool="dcgmi", line=error),
        )
    assert judge("dcgm", f"Warning: nothing much\n{document}").outcome is PASSED
