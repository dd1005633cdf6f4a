"""Every kind of capacity states what it has, and has its row wherever a kind is chosen by a table."""

from typing import get_args

import pytest

from lamplighter.adapters.capacity.kinds import IMPLEMENTATIONS
from lamplighter.adapters.diagnosis.collect import AWS
from lamplighter.domain.capacity import kinds
from lamplighter.lab.kinds import KINDS, Code, Trait
from lamplighter.lab.model import Lab


@pytest.mark.parametrize("table", [KINDS, kinds.KINDS, IMPLEMENTATIONS, AWS])
def test_every_kind_has_its_row(table: dict[str, object]) -> None:
    assert set(table) == set(get_args(Code))


def test_each_trait_is_that_of_some_kinds_and_not_of_others() -> None:
    for trait in get_args(Trait):
        assert {trait in kind.traits for kind in KINDS.values()} == {True, False}


def test_a_pool_has_what_its_kind_has() -> None:
    lab = Lab.model_validate({"name": "gpu-lab", "pools": {"gpu": {}, "auto": {"kind": "auto-mode"}}})

    assert lab.pools_with("fee") == lab.pools_with("claims") == ["auto"]
    assert lab.pools_with("group") == ["gpu"]
    assert not lab.pools["gpu"].has("launch bar")
