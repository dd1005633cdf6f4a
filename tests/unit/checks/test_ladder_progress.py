"""The next moves of a ladder: in turn on a node, in parallel on several, within the budget, always with an end."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.domain.checks import ladder as checks
from lamplighter.domain.checks.ladder import ALL_REDUCE, DCGM_1, DCGM_2, NVIDIA_SMI, VECTOR_ADD, Check
from lamplighter.domain.checks.ladder_progress import LadderMoves, LadderProgress
from lamplighter.domain.checks.placement import GpuNode, Placement, fetches, placements
from lamplighter.domain.checks.time_limit import pulled_in
from lamplighter.domain.pool.nodes import PodFacts
from lamplighter.lab.checks import Checks
from lamplighter.reasons.reason import Reason, reason
from lamplighter.values.instant import written
from tests.unit.checks.built import ASKED, node

LEASE = "cli-1"


def pod(placement: Placement, on: str = "a", phase: str = "Running", **more: Any) -> PodFacts:
    """A pod that was asked for a minute after the node's Ready, and placed and started a second later."""
    begun: dict[str, Any] = {"scheduled": ASKED, "began": ASKED + timedelta(seconds=1), "gpus": 1}
    ended: dict[str, Any] = {
        "ended": ASKED + timedelta(seconds=6),
        "exit_code": 0 if phase == "Succeeded" else 1,
    }
    found = PodFacts(
        namespace="lamplighter",
        name=f"{placement.name}-{on}",
        node=on,
        phase=phase,
        created=ASKED,
        annotations={"lamplighter/asked": written(ASKED)},
        labels={"lamplighter/seat": placement.name},
    )
    return replace(found, **{**begun, **(ended if found.finished else {}), **more})


def done(placement: Placement) -> list[PodFacts]:
    return [pod(placement, on, "Succeeded") for on in placement.nodes]


def look(
    ladder: Sequence[Check],
    nodes: Sequence[GpuNode],
    pods: dict[str, list[PodFacts]],
    *,
    after: float = 10,
    budget: float = 480,
    pulled: dict[str, float] | None = None,
) -> LadderMoves:
    due, _ = placements(ladder, nodes, LEASE)
    return LadderProgress(
        due=due,
        nodes={each.name: each for each in nodes},
        pods=pods,
        pulled=pulled or {},
        budget=timedelta(seconds=budget),
        lease=LEASE,
        now=ASKED + timedelta(seconds=after),
    ).moves()


def started(moves: LadderMoves) -> list[tuple[str, tuple[str, ...]]]:
    return [(placement.check.name, placement.nodes) for placement in moves.start]


def why(moves: LadderMoves, check: str) -> Reason | None:
    return next(ending.why for ending in moves.endings if ending.placement.check.name == check)


def of(ladder: Sequence[Check], nodes: Sequence[GpuNode]) -> dict[tuple[str, tuple[str, ...]], Placement]:
    return {
        (placement.check.name, placement.nodes): placement
        for placement in placements(ladder, nodes, LEASE)[0]
    }


def test_each_ladder_holds_what_it_is_documented_to_hold() -> None:
    def names(**settings: object) -> list[str]:
        return [check.name for check in checks.ladder(Checks.model_validate(settings))]

    smoke = ["nvidia-smi", "vectoradd"]
    standard = [*smoke, "gpu-health", "fabric", "nvlink", "dcgm-1", "dcgm-2", "all_reduce_node", "all_reduce"]
    assert names() == names(ladder="smoke") == smoke
    assert names(ladder="standard") == standard
    deep = [*standard, "all_gather", "sustained", "dcgm-3"]
    assert names(ladder="deep") == deep
    assert names(ladder="deep", dcgm_level_4=True) == [*deep, "dcgm-4"]
    assert names(ladder="standard", dcgm_level_4=True) == standard


def test_a_lab_s_own_floor_takes_the_place_of_the_shipped_one() -> None:
    kind = node().kind
    assert kind.with_floor(None).busbw_floor == Decimal("0.25")
    assert kind.with_floor(Decimal("1.1")).busbw_floor == Decimal("1.1")


@pytest.mark.parametrize(("labels", "parts"), [
    ({"product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}, reason("check.offered-in-slices")),
    ({"sharing_strategy": "mps"}, reason("check.offered-by-mps")),
])  # fmt: skip
def test_whole_gpus_are_not_tested_where_they_are_handed_out_in_parts(
    labels: dict[str, Any], parts: Reason
) -> None:
    due, left_out = placements(
        [VECTOR_ADD, DCGM_1, DCGM_2, ALL_REDUCE], [node(**labels), node("b", **labels)], LEASE
    )
    assert {placement.check.name for placement in due} == {"vectoradd", "dcgm-1"}
    assert {(each.check, each.why) for each in left_out} == {
        (check, parts) for check in ("dcgm-2", "all_reduce")
    }


def test_time_slices_are_tested_as_the_gpu_that_they_are() -> None:
    due, left_out = placements([DCGM_2], [node(sharing_strategy="time-slicing", replicas="4")], LEASE)
    assert ([placement.check.name for placement in due], left_out) == (["dcgm-2"], [])


def test_the_first_checks_are_asked_for_together_and_later_images_come_meanwhile() -> None:
    moves = look([NVIDIA_SMI, VECTOR_ADD, DCGM_1], [node("a"), node("b")], {})
    assert started(moves) == [(check, (name,)) for check in ("nvidia-smi", "vectoradd") for name in "ab"]
    assert [(name, image) for name, image, _ in moves.fetch] == [("a", "dcgm"), ("b", "dcgm")]


def test_a_later_check_waits_for_all_before_it_on_its_node_only() -> None:
    ladder, nodes = [NVIDIA_SMI, DCGM_1], [node("a"), node("b")]
    known = of(ladder, nodes)
    pods = {placement.name: done(placement) for placement in (known["nvidia-smi", ("a",)],)}
    for name in fetches(known.values(), LEASE).values():
        pods[name] = [pod(replace(known["dcgm-1", ("a",)], name=name), phase="Succeeded")]
    running = known["nvidia-smi", ("b",)]
    pods[running.name] = [pod(running, "b")]
    moves = look(ladder, nodes, pods)
    assert started(moves) == [("dcgm-1", ("a",))]
    assert any("nvidia-smi on b" in str(text) for text in moves.waiting)


def test_a_check_waits_for_its_image() -> None:
    ladder, nodes = [NVIDIA_SMI, DCGM_1], [node()]
    known = of(ladder, nodes)
    first = known["nvidia-smi", ("a",)]
    ((_, name),) = fetches(known.values(), LEASE).items()
    pulling = pod(replace(first, name=name), phase="Pending", began=None, gpus=0)
    moves = look(ladder, nodes, {first.name: done(first), name: [pulling]})
    assert started(moves) == []
    assert moves.waiting == [reason("check.waits-for-image", check="dcgm-1", node="a")]
    assert look(ladder, nodes, {first.name: done(first), name: [pulling]}, after=700).start == []
    late = look(ladder, nodes, {first.name: done(first), name: [pulling]}, after=700)
    assert "not on the node after 10 minutes" in str(why(late, "dcgm-1"))


def test_what_failed_on_a_node_bars_what_follows_there_and_nowhere_else() -> None:
    ladder, nodes = [NVIDIA_SMI, DCGM_1], [node("a"), node("b")]
    known = of(ladder, nodes)
    pods = {
        known["nvidia-smi", ("a",)].name: [pod(known["nvidia-smi", ("a",)], phase="Failed")],
        known["nvidia-smi", ("b",)].name: done(known["nvidia-smi", ("b",)]),
    }
    for (where, _), name in fetches(known.values(), LEASE).items():
        pods[name] = [pod(replace(known["dcgm-1", ("a",)], name=name), where, "Succeeded")]
    moves = look(ladder, nodes, pods)
    assert started(moves) == [("dcgm-1", ("b",))]
    assert why(moves, "dcgm-1") == reason("check.not-tried", earlier="nvidia-smi", nodes=("a",))


def test_a_path_that_failed_does_not_bar_a_test_of_the_gpu() -> None:
    ladder, nodes = [ALL_REDUCE, checks.ALL_GATHER, checks.DCGM_3], [node("a"), node("b")]
    known = of(ladder, nodes)
    reduce = known["all_reduce", ("a", "b")]
    pods = {reduce.name: [pod(reduce, "a", "Failed")]}
    for (where, _), name in fetches(known.values(), LEASE).items():
        pods[name] = [pod(replace(reduce, name=name), where, "Succeeded")]
    moves = look(ladder, nodes, pods, budget=1800)
    assert why(moves, "all_gather") == reason("check.not-tried", earlier="all_reduce", nodes=("a", "b"))
    assert started(moves) == [("dcgm-3", ("a",)), ("dcgm-3", ("b",))]


def test_one_rank_that_fails_ends_its_pair() -> None:
    nodes = [node("a"), node("b")]
    placement = of([ALL_REDUCE], nodes)["all_reduce", ("a", "b")]
    # The Job takes the other rank away.
    moves = look([ALL_REDUCE], nodes, {placement.name: [pod(placement, "b", "Failed")]})
    assert [(ending.why, len(ending.pods)) for ending in moves.endings] == [(None, 1)]


def test_a_pod_that_is_being_removed_is_waited_for() -> None:
    placement = of([VECTOR_ADD], [node()])["vectoradd", ("a",)]
    moves = look([VECTOR_ADD], [node()], {placement.name: [pod(placement, phase="Succeeded", leaving=True)]})
    assert (moves.start, moves.endings) == ([], [])
    assert moves.waiting


def test_a_slow_pull_is_not_a_slow_check() -> None:
    placement = of([DCGM_1], [node()])["dcgm-1", ("a",)]
    pulled = {f"{placement.name}-a": 138.0}
    slow = look([DCGM_1], [node()], {placement.name: [pod(placement)]}, after=250, pulled=pulled)
    assert slow.endings == []


def test_what_does_not_end_in_the_budget_is_told_so() -> None:
    ladder = [NVIDIA_SMI, DCGM_1]
    placement = of(ladder, [node()])["nvidia-smi", ("a",)]
    waits = pod(
        placement,
        phase="Pending",
        began=None,
        scheduled=None,
        node="",
        waiting="Unschedulable: Insufficient",
    )
    moves = look(ladder, [node()], {placement.name: [waits]}, budget=120, after=61)
    late = reason("check.over-while-waiting-for", minutes=2, state="Unschedulable: Insufficient")
    assert why(moves, "nvidia-smi") == late
    assert why(moves, "dcgm-1") == reason("check.over-before-turn", minutes=2)
    assert not look(ladder, [node()], {placement.name: [waits]}, budget=120, after=59).endings


@pytest.mark.parametrize(("message", "seconds"), [
    ('Successfully pulled image "x" in 2m18.049s (2m18.049s including waiting). Image size: 9 bytes.', 138.049),
    ('Successfully pulled image "x" in 850ms (1.2s including waiting)', 0.85),
    ('Successfully pulled image "x" in 1h0m3s', 3603),
    ('Successfully pulled image "nvcr.io/cuda:12.8s" in 1m3s (1m3s including waiting)', 63),
    ('Container image "x" already present on machine', 0),
    ("Pulling image", None),
    ("", None),
    ('Successfully pulled image "x" in 1.2.3s', None),
])  # fmt: skip
def test_a_pull_is_read_as_the_kubelet_tells_it(message: str, seconds: float | None) -> None:
    assert pulled_in(message) == (None if seconds is None else pytest.approx(seconds))
