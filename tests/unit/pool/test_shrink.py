"""Which node is removed when a pool shrinks and keeps some of its nodes."""

from datetime import timedelta

import pytest

from lamplighter.domain.pool.shrink import ShrinkNode, choose
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT


def node(name: str, *leases: str, minutes: int = 0, zone: str = "a") -> ShrinkNode:
    return ShrinkNode(name, f"i-{name}", zone, EIGHT + timedelta(minutes=minutes), frozenset(leases))


@pytest.mark.parametrize(
    ("nodes", "surplus", "names"),
    [
        pytest.param([node("works", "ending", minutes=9), node("idle")], 1, ["idle"], id="without a GPU pod"),
        pytest.param([node("shared", "ending", "other", minutes=9), node("own", "ending")], 1, ["own"],
                     id="the ending lease's own before one that others use"),
        pytest.param([node("old", "other"), node("young", "other", minutes=5)], 1, ["young"],
                     id="the youngest, where all have work of others"),
        pytest.param([node("unknown", ""), node("own", "ending")], 1, ["own"], id="an unknown lease is another"),
        # The fullest zone shrinks, so that nothing is rebalanced.
        pytest.param([node("b1", zone="b", minutes=9), node("a1"), node("a2", minutes=1)], 1, ["a2"], id="zone"),
        pytest.param([node("b1", zone="b", minutes=9), node("a1"), node("a2", minutes=1)], 2, ["a2", "b1"], id="two"),
        pytest.param([node("only")], 3, ["only"], id="no more than there are"),
        pytest.param([node("only")], 0, [], id="none"),
        pytest.param([node("only")], -1, [], id="none to spare"),
    ],
)  # fmt: skip
def test_which_node_goes_first(nodes: list[ShrinkNode], surplus: int, names: list[str]) -> None:
    assert [leaving.node.name for leaving in choose(nodes, surplus, "ending")] == names


def test_each_node_that_goes_says_why_it_is_this_one() -> None:
    nodes = [node("busy", "other"), node("idle"), node("own", "ending")]

    assert [leaving.reason for leaving in choose(nodes, 3, "ending")] == [
        reason("pool.removed.free", node="idle"),
        reason("pool.removed.ending", node="own", lease="ending"),
        reason("pool.removed.youngest", node="busy"),
    ]
