"""Which node is removed when a pool shrinks and keeps some of its nodes."""

from datetime import timedelta

from lamplighter.domain.pool.shrink import ShrinkNode, choose
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT


def node(name: str, *leases: str, minutes: int = 0, zone: str = "a") -> ShrinkNode:
    return ShrinkNode(name, f"i-{name}", zone, EIGHT + timedelta(minutes=minutes), frozenset(leases))


def gone(nodes: list[ShrinkNode], surplus: int = 1, ending: str = "ending") -> list[str]:
    return [leaving.node.name for leaving in choose(nodes, surplus, ending)]


def test_a_node_without_a_gpu_pod_goes_before_one_that_works_for_the_ending_lease() -> None:
    assert gone([node("works", "ending", minutes=9), node("idle")]) == ["idle"]


def test_the_ending_leases_own_node_goes_before_one_that_others_use_too() -> None:
    assert gone([node("shared", "ending", "other", minutes=9), node("own", "ending")]) == ["own"]


def test_where_all_have_work_of_others_the_youngest_goes() -> None:
    [leaving] = choose([node("old", "other"), node("young", "other", minutes=5)], 1, "ending")
    assert leaving.node.name == "young"
    assert leaving.reason == reason("pool.removed.youngest", node="young")


def test_each_node_that_goes_says_why_it_is_this_one() -> None:
    nodes = [node("busy", "other"), node("idle"), node("own", "ending")]

    assert [leaving.reason for leaving in choose(nodes, 3, "ending")] == [
        reason("pool.removed.free", node="idle"),
        reason("pool.removed.ending", node="own", lease="ending"),
        reason("pool.removed.youngest", node="busy"),
    ]


def test_among_equals_the_fullest_zone_shrinks_so_that_nothing_is_rebalanced() -> None:
    nodes = [node("b1", zone="b", minutes=9), node("a1"), node("a2", minutes=1)]
    assert gone(nodes) == ["a2"]
    assert gone(nodes, 2) == ["a2", "b1"]


def test_pods_of_an_unknown_lease_are_somebody_elses_work() -> None:
    assert gone([node("unknown", ""), node("own", "ending")]) == ["own"]


def test_never_more_go_than_there_are() -> None:
    assert gone([node("only")], 3) == ["only"]
    assert gone([node("only")], 0) == []
    assert gone([node("only")], -1) == []
