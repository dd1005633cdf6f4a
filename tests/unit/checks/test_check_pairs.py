"""A ladder while the ranks of a pair differ, and the time that checks beside and behind each other take."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.checks.free_resources import room
from lamplighter.domain.checks.ladder import ALL_REDUCE, DCGM_1, DCGM_3, NVIDIA_SMI, VECTOR_ADD, Check
from lamplighter.domain.checks.ladder_progress import LadderMoves, LadderProgress
from lamplighter.domain.checks.placement import GpuNode, Placement, placements
from lamplighter.domain.pool.nodes import PodFacts
from lamplighter.reasons.reason import reason
from tests.unit.checks.built import ASKED, READY, node
from tests.unit.checks.test_ladder_progress import LEASE, done, look, of, pod, started, why

PAIR = [node("a"), node("b")]


def rank(placement: Placement, on: str, phase: str = "Running") -> PodFacts:
    found = pod(placement, on, phase)
    return replace(found, began=None) if phase == "Pending" else found


def met(*ranks: tuple[str, str], after: float = 10) -> LadderMoves:
    """The course of an all_reduce of which these ranks are there, by node and phase."""
    placement = of([ALL_REDUCE], PAIR)["all_reduce", ("a", "b")]
    return look([ALL_REDUCE], PAIR, {placement.name: [rank(placement, *each) for each in ranks]}, after=after)


def test_a_pair_has_ended_once_both_its_ranks_have() -> None:
    assert met(("a", "Succeeded"), ("b", "Running")).endings == []
    assert met(("a", "Succeeded")).endings == []
    (ending,) = met(("a", "Succeeded"), ("b", "Succeeded")).endings
    assert (ending.why, ending.well, len(ending.pods)) == (None, True, 2)


def test_of_a_pair_the_rank_that_failed_is_read_whatever_the_other_does() -> None:
    for other in ("Running", "Succeeded"):
        (ending,) = met(("a", other), ("b", "Failed")).endings
        assert ([one.node for one in ending.pods], ending.well) == (["b"], False)


def test_a_pair_s_first_rank_says_what_is_waited_for() -> None:
    assert met(("a", "Running"), ("b", "Pending")).waiting == [
        reason("check.state", check="all_reduce", nodes=("a", "b"), state="Running")
    ]
    assert met(("a", "Pending"), ("b", "Running")).waiting == [
        reason("check.state", check="all_reduce", nodes=("a", "b"), state="Pending")
    ]


def test_either_rank_may_have_run_for_too_long() -> None:
    for ranks in ([("a", "Running"), ("b", "Pending")], [("a", "Pending"), ("b", "Running")]):
        assert met(*ranks, after=261).endings == []
        assert why(met(*ranks, after=262), "all_reduce") == reason("check.ran-too-long", seconds=240)


@pytest.mark.parametrize(("ladder", "nodes"), [([NVIDIA_SMI, DCGM_1], "a"), ([NVIDIA_SMI], "ab")])
def test_what_comes_later_or_runs_elsewhere_does_not_queue_for_a_check_s_gpu(
    ladder: list[Check], nodes: str
) -> None:
    beside = [node(name) for name in nodes]
    placement = of(ladder, beside)["nvidia-smi", ("a",)]
    pods = {placement.name: [pod(placement)]}

    assert look(ladder, beside, pods, after=51).endings == []
    assert why(look(ladder, beside, pods, after=52), "nvidia-smi") == (
        reason("check.ran-too-long", seconds=30)
    )


def test_a_check_that_runs_for_longer_than_an_image_may_come_is_not_stuck() -> None:
    placement = of([DCGM_3], [node()])["dcgm-3", ("a",)]
    assert look([DCGM_3], [node()], {placement.name: [pod(placement)]}, after=700, budget=1800).endings == []


def test_a_ladder_with_level_4_is_told_by_its_165_minutes() -> None:
    placement = of([DCGM_1], [node()])["dcgm-1", ("a",)]
    waits = replace(pod(placement, phase="Pending"), began=None, scheduled=None, node="")
    over = look([DCGM_1], [node()], {placement.name: [waits]}, after=9900, budget=9900)
    assert why(over, "dcgm-1") == reason("check.over-while-waiting", minutes=165)


def test_a_pair_waits_for_its_image_on_the_node_that_does_not_have_it_yet() -> None:
    alone = Placement(VECTOR_ADD, ("a",), ("a",), "vectoradd-1")
    pair = Placement(replace(ALL_REDUCE, image=VECTOR_ADD.image), ("a", "b"), ("a", "b"), "all-reduce-1")
    course = LadderProgress(
        due=[alone, pair],
        nodes={each.name: each for each in PAIR},
        pods={alone.name: done(alone)},
        pulled={},
        budget=timedelta(minutes=8),
        lease=LEASE,
        now=ASKED + timedelta(seconds=10),
    )

    moves = course.moves()

    assert (started(moves), moves.waiting) == (
        [],
        [reason("check.waits-for-image", check="all_reduce", node="b")],
    )
    assert [(where, image) for where, image, _ in moves.fetch] == [("b", "cuda_sample")]


def test_a_pair_of_two_other_nodes_has_its_turn_at_once_and_one_that_is_left_over_later() -> None:
    first, second, left = placements([ALL_REDUCE], [node(name) for name in "abcde"], LEASE)[0]

    assert (first.turn, second.turn, left.turn) == (0, 0, 1)
    assert first.before(left)
    assert not second.before(left)
    assert not first.before(second)


def test_unless_more_is_said_gpus_are_whole_everybody_s_turn_is_the_first_and_a_node_has_room() -> None:
    plain = GpuNode(node().facts, node().kind)
    assert (plain.slices, plain.replicas, Placement(DCGM_1, ("a",), ("a",), "x").turn) == (1, 1, 0)

    free = room(VECTOR_ADD, plain, [], READY)
    assert (free.why, free.taken, free.used) == (None, False, False)
    validates = replace(
        PodFacts("gpu-operator", "v", "a", "Running", READY, gpus=1), labels={"app": "nvidia-cuda-validator"}
    )
    assert not room(VECTOR_ADD, plain, [validates], READY).used
