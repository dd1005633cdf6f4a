"""Each check of a ladder as documented: its stage, its command, its longest time, and its GPUs."""

from dataclasses import replace
from typing import Any

import pytest

from docs.checks import PASSES
from lamplighter.domain.checks import ladder as checks
from lamplighter.domain.checks import manifests as checks_manifests
from lamplighter.domain.checks.ladder import Check
from lamplighter.lab.checks import Checks
from tests.unit.checks.test_checks import ERRAND, NODE, OTHER, known, manifest

MIB_1, MIB_256, GIB_1 = "1048576", "268435456", "1073741824"
ALONE: dict[str, tuple[int, str, int, bool, bool, bool]] = {
    "nvidia-smi": (0, "cuda_sample", 30, True, False, False),
    "vectoradd": (0, "cuda_sample", 30, False, False, False),
    "gpu-health": (0, "cuda_sample", 30, True, False, False),
    "fabric": (0, "cuda_sample", 30, True, False, False),
    "nvlink": (0, "cuda_sample", 30, True, False, True),
    "dcgm-1": (1, "dcgm", 120, True, True, False),
    "dcgm-2": (2, "dcgm", 300, True, True, True),
    "all_reduce_node": (3, "pytorch", 180, True, True, True),
    "dcgm-3": (7, "dcgm", 1200, True, True, True),
    "dcgm-4": (8, "dcgm", 8100, True, True, True),
}
"""Of a check on one node its stage, its image and its seconds; all GPUs, as root, whole GPUs alone."""


def ladder(name: str, *, level_4: bool = False) -> tuple[Check, ...]:
    return checks.ladder(Checks.model_validate({"ladder": name, "dcgm_level_4": level_4}))


def test_a_check_on_one_node_has_its_turn_its_time_and_its_gpus() -> None:
    found = {
        each.name: (each.stage, each.image, each.seconds, each.all_gpus, each.root, each.whole)
        for each in ladder("deep", level_4=True)
        if each.nodes == 1
    }
    assert found == ALONE


@pytest.mark.parametrize(("name", "pairs"), [
    ("smoke", []),
    ("standard", [(4, 240, ("all_reduce", MIB_1, MIB_256))]),
    ("deep", [(4, 420, ("all_reduce", MIB_1, GIB_1)), (5, 300, ("all_gather", MIB_1, MIB_256)), (6, 420, ("sustained",
     MIB_256, "300"))]),
])  # fmt: skip
def test_a_check_between_nodes_has_its_turn_its_time_and_its_sizes(
    name: str, pairs: list[tuple[int, int, tuple[str, ...]]]
) -> None:
    between = [each for each in ladder(name) if each.nodes != 1]

    assert [(each.stage, each.seconds, each.command) for each in between] == pairs
    assert all(
        (each.image, each.nodes, each.all_gpus, each.root, each.whole) == ("pytorch", 2, False, True, True)
        for each in between
    )


@pytest.mark.parametrize(("name", "level_4", "seconds"), [
    ("smoke", False, 120),
    ("standard", False, 480),
    ("standard", True, 480),
    ("deep", False, 1800),
    ("deep", True, 1800 + 8100),
])  # fmt: skip
def test_a_ladder_has_its_seconds_and_level_4_its_own_on_top(
    name: str, *, level_4: bool, seconds: int
) -> None:
    said = Checks.model_validate({"ladder": name, "dcgm_level_4": level_4})
    assert checks.budget_seconds(said) == seconds


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_dcgm_runs_its_level_and_the_third_with_shorter_tests(level: int) -> None:
    (found,) = (each for each in ladder("deep", level_4=True) if each.name == f"dcgm-{level}")
    shortened = ' -p "targeted_stress.test_duration=30;targeted_power.test_duration=30"'
    assert found.command[:2] == ("sh", "-c")
    assert found.command[2].endswith(f"; exec dcgmi diag -r {level} -j{shortened if level == 3 else ''}")


def test_nvidia_smi_asks_for_its_columns_and_the_sample_s_image_runs_its_own_command() -> None:
    smi, sample = (manifest(check)["spec"]["containers"][0] for check in ladder("smoke"))
    assert smi["command"] == ["nvidia-smi", "--query-gpu=name,driver_version,uuid", "--format=csv"]
    assert "command" not in sample


def test_who_only_brings_an_image_is_nobody_and_needs_next_to_nothing() -> None:
    found: Any = checks_manifests.fetch("dcgm", ERRAND, "fetch-1", NODE)
    (container,) = found["spec"]["containers"]
    assert (container["command"], container["securityContext"]["runAsNonRoot"]) == (["true"], True)
    assert container["resources"]["limits"] == {"memory": "64Mi"}


def test_a_pair_asks_for_the_resource_that_its_first_node_offers() -> None:
    renamed = replace(OTHER, allocatable={"nvidia.com/gpu.shared": 4})

    def asked(*nodes: Any) -> object:
        found: Any = checks_manifests.job(checks.ALL_REDUCE, ERRAND, "seat", nodes, known("g5.xlarge"))
        return found["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]

    assert asked(NODE, renamed) == {"memory": "8Gi", "nvidia.com/gpu": "1"}
    assert asked(renamed, NODE) == {"memory": "8Gi", "nvidia.com/gpu.shared": "1"}


def test_the_page_says_what_every_check_needs_to_pass() -> None:
    names = {check.name for ladder in checks.LADDERS.values() for check in ladder} | {checks.DCGM_4.name}
    assert names - set(PASSES) == set()
