"""An adopted pool gets the values that the lab file leaves out from AWS, and no other values."""

from dataclasses import replace
from typing import Any

import pytest

from lamplighter.domain.pool.adopted import as_found
from lamplighter.domain.pool.evidence import NodeGroup
from lamplighter.lab.model import Lab

GROUP = NodeGroup("lab", "gpu", "ACTIVE", 0, 3, 0, "eks-gpu", ami_type="AL2023_x86_64_NVIDIA", disk_gib=200)


def found(
    group: NodeGroup = GROUP, instance_type: str | None = "g4dn.xlarge", **stated: Any
) -> tuple[Any, ...]:
    lab = Lab.model_validate({"name": "lab", "pools": {"gpu": {"existing": "gpu", **stated}, "other": {}}})
    filled = as_found(lab, "gpu", group, instance_type)
    assert filled.pools["other"] == lab.pools["other"]
    pool = filled.pools["gpu"]
    return pool.instance_type, pool.ami_type, pool.max_nodes, pool.disk_gib


def test_what_is_left_out_is_as_the_node_group_has_it() -> None:
    assert found() == ("g4dn.xlarge", "AL2023_x86_64_NVIDIA", 3, 200)


def test_what_aws_does_not_say_stays_unknown() -> None:
    bare = NodeGroup("lab", "gpu", "ACTIVE", 0, 3, 0, "eks-gpu")

    assert found(bare, None) == ("", "", 3, 0)


@pytest.mark.parametrize("max_nodes", [1, 5])
def test_what_the_lab_file_says_stays_as_it_is(max_nodes: int) -> None:
    stated: dict[str, Any] = {"instance_type": "g5.xlarge", "max_nodes": max_nodes}

    assert found(replace(GROUP, maximum=2), **stated) == (
        "g5.xlarge", "AL2023_x86_64_NVIDIA", max_nodes, 200
    )  # fmt: skip
