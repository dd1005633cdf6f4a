"""An adopted pool gets the values that the lab file leaves out from AWS, and no other values."""

from dataclasses import replace
from typing import Any

import pytest

from lamplighter.domain.capacity.evidence import Make, Seen
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.pool.adopted import as_found
from lamplighter.lab.model import Lab

SEEN = Seen(NODE_GROUP, exists=True, maximum=3, make=Make("g4dn.xlarge", "AL2023_x86_64_NVIDIA", 200))


def found(seen: Seen = SEEN, **stated: Any) -> tuple[Any, ...]:
    lab = Lab.model_validate({"name": "lab", "pools": {"gpu": {"existing": "gpu", **stated}, "other": {}}})
    filled = as_found(lab, "gpu", seen)
    assert filled.pools["other"] == lab.pools["other"]
    pool = filled.pools["gpu"]
    return pool.instance_type, pool.ami_type, pool.max_nodes, pool.disk_gib


def test_what_is_left_out_is_as_aws_has_it() -> None:
    assert found() == ("g4dn.xlarge", "AL2023_x86_64_NVIDIA", 3, 200)


def test_what_aws_does_not_say_stays_unknown() -> None:
    assert found(replace(SEEN, make=Make())) == ("", "", 3, 0)


@pytest.mark.parametrize("max_nodes", [1, 5])
def test_what_the_lab_file_says_stays_as_it_is(max_nodes: int) -> None:
    stated: dict[str, Any] = {"instance_type": "g5.xlarge", "max_nodes": max_nodes}
    assert found(replace(SEEN, maximum=2), **stated) == (
        "g5.xlarge", "AL2023_x86_64_NVIDIA", max_nodes, 200
    )  # fmt: skip
