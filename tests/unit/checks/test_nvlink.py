"""Every NVLink of every GPU has to be up and as fast as the type's: by what nvidia-smi prints of them."""

import pytest

from lamplighter.domain.checks.verdicts.nvlink import nvlink
from lamplighter.domain.checks.verdicts.verdict import Outcome, Verdict
from lamplighter.domain.gpu.instance_types import gpu_type
from tests import gpu_outputs as said
from tests.drawn import english

PASSED, FAILED, NOT_PROVEN = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_PROVEN
ALL_UP = said.nvlink()


def judge(text: str, kind: str = "p5.48xlarge", gpus: int = 8, exit_code: int = 0) -> Verdict:
    known = gpu_type(kind)
    assert known is not None
    return nvlink(text, exit_code, gpus, known)


@pytest.mark.parametrize(("kind", "text"), [
    ("p5.48xlarge", ALL_UP),
    ("p4d.24xlarge", said.nvlink(12, "25", name="NVIDIA A100-SXM4-40GB")),
    ("p6-b200.48xlarge", said.nvlink(18, "53.125", name="NVIDIA B200")),
    ("p5.48xlarge", ALL_UP.replace("\n", "\r\n")),
])  # fmt: skip
def test_links_that_are_all_up_pass(kind: str, text: str) -> None:
    found = judge(text, kind)
    assert found.passed, english(found.reason)
    assert found.measurements["gpus"] == 8


def edited(old: str, new: str, gpu: int = 3) -> str:
    """The sample with another text for one GPU."""
    parts = ALL_UP.split("GPU ")
    # A UUID begins with the same letters, and no blank.
    parts[gpu + 1] = parts[gpu + 1].replace(old, new)
    return "GPU ".join(parts)


FIRST, REST = ALL_UP.partition("GPU 1:")[0], ALL_UP.partition("GPU 2:")[2]
NO_LINKS = "".join(f"\t Link {number}: 26.562 GB/s\n" for number in range(18))


@pytest.mark.parametrize(("text", "outcome", "because"), [
    (edited("Link 5: 26.562 GB/s", "Link 5: <inactive>"), FAILED, "GPU 3: inactive NVLinks 5"),
    (edited("Link 5: 26.562 GB/s", "Link 5: 0 GB/s"), FAILED, "GPU 3: inactive NVLinks 5"),
    (edited("Link 5: 26.562 GB/s", "Link 5: 13.281 GB/s"), FAILED, "GPU 3: NVLinks 5 are slow, down to 13.281 GB/s"),
    (edited(NO_LINKS, "NVML: Unable to retrieve NVLink information as all links are inActive\n"), FAILED,
     "GPU 3: every NVLink is inactive"),
    (edited(NO_LINKS, ""), NOT_PROVEN, "126 of 144 NVLinks are listed"),
    (edited("\t Link 17: 26.562 GB/s\n", ""), NOT_PROVEN, "143 of 144 NVLinks are listed"),
    (edited(NO_LINKS, "Device does not have or support Nvlink\n"), NOT_PROVEN, "does not have or support Nvlink"),
    (edited("Link 5: 26.562 GB/s", "Link 5: fine"), NOT_PROVEN, "Link 5: fine"),
    (edited("Link 5:", "Link 4:"), NOT_PROVEN, "Link 4"),
    (said.nvlink(gpus=7), NOT_PROVEN, "126 of 144 NVLinks are listed"),
    (ALL_UP.partition("GPU 7")[0] + "GPU 3" + ALL_UP.partition("GPU 7")[2], NOT_PROVEN, "3"),
    # The links of GPU 0 once more, where those of GPU 1 should be.
    (f"{FIRST}GPU 1: NVIDIA H100 80GB HBM3\n{FIRST}GPU 2:{REST}", NOT_PROVEN, "GPU 0"),
    ("", NOT_PROVEN, "0 of 144 NVLinks are listed"),
    ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", FAILED, "NVIDIA-SMI has failed"),
])  # fmt: skip
def test_a_link_that_is_down_or_slow_fails_and_one_that_nobody_lists_is_not_proven(
    text: str, outcome: Outcome, because: str
) -> None:
    found = judge(text)
    assert (found.outcome, because in english(found.reason)) == (outcome, True), english(found.reason)


def test_links_of_an_end_that_went_wrong_or_of_a_type_without_links_are_not_proven() -> None:
    assert judge(ALL_UP, exit_code=1).outcome is NOT_PROVEN
    assert judge(ALL_UP, gpus=9).outcome is NOT_PROVEN
    assert judge(said.nvlink(4, "14.062", 4, "NVIDIA A10G"), "g5.48xlarge", 4).outcome is NOT_PROVEN
