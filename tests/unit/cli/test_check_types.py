"""`check` says where a pool's instance type is unknown, with the nearest name, and which driver a type needs."""

from pathlib import Path

import pytest

from tests.unit.cli.test_check_support import notes

UNKNOWN = "pool gpu: no instance type g5.xlrage with NVIDIA GPUs is known; the nearest name is g5.xlarge. A newer type"
G7 = "pool gpu: g7.2xlarge needs the NVIDIA driver 595 or later: "
NEWER = "pool gpu: no instance type p9.48xlarge with NVIDIA GPUs is known; the nearest name is p"


def pool(kind: str, more: str = "") -> str:
    return f'pools: {{gpu: {{instance_type: {kind}, price_per_hour: "1"{more}}}}}\n'


@pytest.mark.parametrize(("text", "said"), [
    (pool("g5.xlrage"), UNKNOWN),
    (pool("p9.48xlarge"), NEWER),
    (pool("g5.xlarge"), None),
    (pool("p5en.48xlarge"), None),
    (pool("g7.2xlarge"), f"{G7}EKS' image has it from release v20260917"),
    (pool("g7.2xlarge", ", ami_type: BOTTLEROCKET_x86_64_NVIDIA"), f"{G7}EKS' Bottlerocket image has only 580"),
    (pool("g7e.2xlarge"), None),
    (pool("g6f.large"), None),
    (pool("g6f.large", ", ami_type: CUSTOM, image: ami-0123456789abcdef0"), "pool gpu: g6f.large needs NVIDIA's GRID"),
])  # fmt: skip
def test_a_type_is_noted_only_where_it_is_unknown_or_needs_more_than_its_image_has(
    tmp_path: Path, text: str, said: str | None
) -> None:
    found = [note for note in notes(tmp_path, text) if note.startswith("pool gpu: ")]
    assert [note[: len(said or "")] for note in found] == ([said] if said else [])
