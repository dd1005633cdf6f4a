"""No output, however cut, mixed or made up, passes without its evidence, and none raises."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.checks.node import xid
from lamplighter.domain.checks.time_limit import pulled_in
from lamplighter.domain.checks.verdicts.dcgm import dcgm
from lamplighter.domain.checks.verdicts.nccl import nccl
from lamplighter.domain.checks.verdicts.nvidia_smi import nvidia_smi
from lamplighter.domain.checks.verdicts.nvlink import nvlink
from lamplighter.domain.checks.verdicts.of import PARSERS, verdict_of
from lamplighter.domain.checks.verdicts.tool_output import decoded
from lamplighter.domain.checks.verdicts.torch import torch_collective
from lamplighter.domain.checks.verdicts.vector_add import vector_add
from lamplighter.domain.checks.verdicts.verdict import Outcome, Verdict
from lamplighter.domain.gpu.instance_types import GpuType, gpu_type
from lamplighter.domain.pool.nodes import NodeFacts
from tests import gpu_outputs as said
from tests.lengths import examples

G5 = gpu_type("g5.xlarge")
P5 = gpu_type("p5.48xlarge")
assert G5 is not None
assert P5 is not None
Judge = Callable[[str, int, int, GpuType], Verdict]
GOOD = {"nvidia-smi": (said.smi(), 1), "dcgm": (said.dcgm_v4(), 1), "nccl": (said.nccl(), 2)}
_PRESENCE = "name, driver_version, uuid\nNVIDIA A10G, 580.159.03, " + said.uuid(7) + "\n"
_HEALTH = (
    "name, uuid, ecc.errors.uncorrected.volatile.total, remapped_rows.pending, clocks_event_reasons.active\n"
    f"NVIDIA A10G, {said.uuid(7)}, 0, No, 0x0000000000000001\n"
)
#: Every sample that a check of the ladder passes: its judge, how many take part, their type, how much is evidence.
PASSING: dict[str, tuple[str, Judge, int, GpuType, int]] = {
    "nvidia-smi": (_PRESENCE, nvidia_smi, 1, G5, len(_PRESENCE) - 1),
    "gpu-health": (_HEALTH, nvidia_smi, 1, G5, len(_HEALTH) - 1),
    "nvlink": (said.nvlink(gpus=2), nvlink, 2, P5, len(said.nvlink(gpus=2).rstrip())),
    "dcgm 4": (said.dcgm_v4(), dcgm, 1, G5, len(said.dcgm_v4().rstrip())),
    "dcgm 3": (said.dcgm_v3(8), dcgm, 8, P5, len(said.dcgm_v3(8).rstrip())),
    "nccl": (said.nccl(), nccl, 2, G5, len(said.nccl().rstrip("\n#"))),
    "torch": (said.torch(), torch_collective, 2, G5, len(said.torch().rstrip("\n#"))),
    "vectoradd": (
        said.VECTOR_ADD,
        lambda text, code, _gpus, _kind: vector_add(text, code),
        1,
        G5,
        said.VECTOR_ADD.index("Test PASSED") + len("Test PASSED"),
    ),
}


@pytest.mark.parametrize("sample", PASSING)
def test_a_passing_sample_cut_at_any_byte_is_not_proven(sample: str) -> None:
    text, judge, gpus, kind, evidence = PASSING[sample]
    raw = text.encode()
    assert judge(text, 0, gpus, kind).passed
    for end in range(len(raw)):
        found = judge(decoded(raw[:end]), 0, gpus, kind)
        wanted = Outcome.NOT_PROVEN if end < evidence else found.outcome
        assert found.outcome is wanted, (end, raw[max(0, end - 40) : end], found.reason)


@pytest.mark.parametrize("sample", PASSING)
@pytest.mark.parametrize("other", PASSING)
def test_another_tool_s_output_never_passes(sample: str, other: str) -> None:
    mine, judge, gpus, kind, _ = PASSING[sample]
    text = PASSING[other][0]
    if PASSING[other][1] is judge or {sample, other} == {"nccl", "torch"}:
        return
    assert not judge(text, 0, gpus, kind).passed
    # Beside a sample of its own it takes nothing away and adds nothing.
    assert judge(text + mine, 0, gpus, kind).outcome in Outcome


@settings(max_examples=examples(200, 1500))
@given(
    sample=st.sampled_from(sorted(PASSING)),
    at=st.floats(0, 1, exclude_max=True),
    length=st.integers(1, 400),
    code=st.integers(0, 255),
)
def test_a_sample_that_lost_a_piece_passes_only_whole(sample: str, at: float, length: int, code: int) -> None:
    text, judge, gpus, kind, _ = PASSING[sample]
    start = int(at * len(text))
    found = judge(text[:start] + text[start + length :], code, gpus, kind)
    assert found.outcome in Outcome
    if code:
        assert not found.passed


@given(text=st.text(alphabet="XidCriticalError: =0179()\nE112 :.", max_size=400))
def test_any_log_of_a_device_plugin_is_read_without_an_exception(text: str) -> None:
    node = NodeFacts("a", "i-1", datetime(2026, 11, 20, tzinfo=UTC))
    assert xid(node, text, datetime(2026, 11, 20, 1, tzinfo=UTC)) is not None


@given(text=st.text(alphabet="0123456789.hmsnuµ ", max_size=40))
def test_any_event_is_read_without_an_exception(text: str) -> None:
    took = pulled_in(f'Successfully pulled image "x" in {text}')
    assert took is None or took >= 0


@pytest.mark.parametrize("check", GOOD)
def test_a_good_output_that_lost_its_beginning_does_not_pass(check: str) -> None:
    text, gpus = GOOD[check]
    # Before the first word that counts, nothing is lost: nccl-tests' start line is only prose.
    first = text.index("nThread") - 1 if check == "nccl" else 1
    for start in range(first, len(text)):
        found = verdict_of(check, "g5.xlarge", gpus, 0, text[start:].encode())
        assert found.outcome is not Outcome.PASSED, (start, text[start : start + 40])


@given(check=st.sampled_from(sorted(PARSERS)), raw=st.binary(max_size=400), gpus=st.integers(1, 10**12))
def test_noise_never_passes_and_never_raises(check: str, raw: bytes, gpus: int) -> None:
    assert verdict_of(check, "g5.xlarge", gpus, 0, raw).outcome is not Outcome.PASSED


@given(data=st.data(), check=st.sampled_from(sorted(GOOD)), code=st.integers(-20, 255).filter(bool))
def test_no_exit_code_but_0_passes_whatever_the_text(data: st.DataObject, check: str, code: int) -> None:
    text, gpus = GOOD[check]
    noise = data.draw(st.text(max_size=40))
    assert verdict_of(
        check, "g5.xlarge", gpus, code, (text + noise).encode("utf-8", "replace")
    ).outcome is not (Outcome.PASSED)


@pytest.mark.parametrize("check", GOOD)
@pytest.mark.parametrize(
    "filler", ["{ ", '{"DCGM Diagnostic": ', "1 2 f ", "name\n", "a, b\n", "[1,0]<stdout>:", "\r", " "]
)
def test_ten_megabytes_do_not_hang(check: str, filler: str) -> None:
    raw = (filler * (10_000_000 // len(filler))).encode()
    # Work that grew with the square would take days.
    assert verdict_of(check, "g5.xlarge", 1, 0, raw).outcome is not Outcome.PASSED
