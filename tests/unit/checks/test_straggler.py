"""In a pool of equals the slowest node is named, with its distance; chance is not."""

from decimal import Decimal

import pytest

from lamplighter.domain.checks.straggler import stragglers


def of(*figures: str) -> dict[str, str]:
    nodes = dict(zip("abcdefgh", map(Decimal, figures), strict=False))
    return {node: str(why) for node, why in stragglers(nodes).items()}


@pytest.mark.parametrize(
    "figures", [(), ("1",), ("1", "2"), ("5", "5", "5"), ("5", "5.1", "4.7"), ("5", "5", "4.6")]
)
def test_equals_have_no_straggler(figures: tuple[str, ...]) -> None:
    assert of(*figures) == {}


def test_the_slowest_is_named_with_its_distance_from_the_others() -> None:
    assert of("10", "9.8", "7", "10.2") == {
        "c": "the slowest of the pool: 7 GB/s, 30 % behind the 10 GB/s of the others"
    }


def test_both_nodes_of_a_slow_pair_are_named() -> None:
    assert list(of("10", "10", "5", "5")) == ["c", "d"]
