"""No output, however cut, mixed or made up, passes without its evidence, and none raises."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.verdict import Outcome
from lamplighter.domain.verdict_of import PARSERS, verdict_of
from tests import gpu_outputs as said

GOOD = {
    "nvidia-smi": (said.smi(), 1),
    "dcgm": (said.dcgm_v4(), 1),
    "nccl": (said.nccl(), 2),
}
# Where the evidence is complete: the line end of nvidia-smi and the text after DCGM's document carry none.
WHOLE_FROM = {
    "nvidia-smi": len(said.smi()) - 1,
    "dcgm": len(said.dcgm_v4().rstrip()),
    "nccl": len(said.nccl().rstrip("\n#")),
}


@pytest.mark.parametrize("check", GOOD)
def test_a_good_output_cut_anywhere_does_not_pass(check: str) -> None:
    text, gpus = GOOD[check]
    for end in range(WHOLE_FROM[check]):
        found = verdict_of(check, "g5.xlarge", gpus, 0, text[:end].encode())
        assert found.outcome is Outcome.NOT_PROVEN, (end, text[max(0, end - 40) : end], found.reason)


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


@settings(max_examples=300)
@given(
    check=st.sampled_from(sorted(GOOD)),
    at=st.floats(0, 1, exclude_max=True),
    length=st.integers(0, 30),
    put=st.text(max_size=12),
)
def test_a_damaged_output_never_raises(check: str, at: float, length: int, put: str) -> None:
    text, gpus = GOOD[check]
    start = int(at * len(text))
    damaged = text[:start] + put + text[start + length :]
    assert verdict_of(check, "g5.xlarge", gpus, 0, damaged.encode("utf-8", "replace")).outcome in Outcome


@pytest.mark.parametrize("check", GOOD)
@pytest.mark.parametrize(
    "filler", ["{ ", '{"DCGM Diagnostic": ', "1 2 f ", "name\n", "a, b\n", "[1,0]<stdout>:", "\r", " "]
)
def test_ten_megabytes_are_read_in_about_a_second(check: str, filler: str) -> None:
    raw = (filler * (10_000_000 // len(filler))).encode()
    began = time.process_time()
    assert verdict_of(check, "g5.xlarge", 1, 0, raw).outcome is not Outcome.PASSED
    assert time.process_time() - began < 4, "meant is 1 s; this leaves room for a slow machine"
