"""The limits of checks, second by second: budgets, image pulls and deadlines."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from lamplighter.adapters.kubernetes.pods import pod_facts
from lamplighter.domain.checks.ladder import DCGM_1, NVIDIA_SMI, VECTOR_ADD, Check
from lamplighter.domain.checks.ladder_progress import CheckEnding, LadderMoves, LadderProgress
from lamplighter.domain.checks.placement import Placement, fetches, placements
from lamplighter.domain.checks.time_limit import asked, pull_of, pulled_in, ran_for, spent
from lamplighter.domain.pool.nodes import PodFacts
from lamplighter.reasons.reason import Reason, reason
from lamplighter.values.instant import written
from tests.unit.checks.built import ASKED, node, pod


def at(seconds: float) -> datetime:
    return ASKED + timedelta(seconds=seconds)


def look(
    ladder: Sequence[Check], pods: dict[str, list[PodFacts]], after: float, *, budget: float = 480
) -> LadderMoves:
    due, _ = placements(ladder, [node()], "cli-1")
    return LadderProgress(due, {"a": node()}, pods, {}, timedelta(seconds=budget), "cli-1", at(after)).moves()


def only(check: Check) -> Placement:
    ((placement,), _) = placements([check], [node()], "cli-1")
    return placement


@pytest.mark.parametrize(("written_as", "seconds"), [
    ("1h", 3600), ("1m", 60), ("1s", 1), ("1ms", 1e-3), ("1us", 1e-6), ("1µs", 1e-6), ("1ns", 1e-9),
])  # fmt: skip
def test_every_unit_of_a_pull_is_read(written_as: str, seconds: float) -> None:
    said = f'Successfully pulled image "x" in {written_as} ({written_as} including waiting)'
    assert pulled_in(said) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(("ready_before", "charged"), [
    (0, 0), (89, 89), (90, 90), (91, 90), (299, 90), (300, 0), (301, 0), (-5, 0),
])  # fmt: skip
def test_setting_gpus_up_is_charged_up_to_90_seconds_and_not_to_a_node_that_was_there_before(
    ready_before: int, charged: int
) -> None:
    facts = replace(node().facts, ready_since=ASKED - timedelta(seconds=ready_before))
    assert spent(facts, [pod("one")], {}, ASKED).total_seconds() == charged
    assert spent(replace(facts, ready_since=None), [pod("one")], {}, ASKED) == timedelta()


def test_a_container_that_failed_to_start_did_not_run_since_1970() -> None:
    """The image of such a check was pulled, and the ladder's time does not count that."""
    ended = {"exitCode": 128, "reason": "StartError", "startedAt": "1970-01-01T00:00:00Z"}
    facts = pod_facts(
        {
            "metadata": {"namespace": "lamplighter", "name": "a", "creationTimestamp": written(ASKED)},
            "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]},
            "status": {
                "phase": "Failed",
                "containerStatuses": [{"state": {"terminated": {**ended, "finishedAt": written(at(40))}}}],
            },
        }
    )

    assert (facts.began, facts.exit_code) == (None, 128)
    assert spent(replace(node().facts, ready_since=None), [facts], {"a": 40.0}, at(40)) == timedelta()


def test_the_budget_counts_from_the_first_pod_and_takes_waiting_for_images_off_once() -> None:
    facts = node().facts
    later = pod("two", phase="Pending", created=at(10), began=None, scheduled=at(10))
    ran = pod("one", phase="Succeeded", ended=at(30))
    brings = replace(ran, name="fetch", gpus=0)

    assert spent(facts, [later], {}, at(20)).total_seconds() == 70 + 20 - 20
    assert spent(facts, [pod("one"), later], {}, at(20)).total_seconds() == 60 + 20 - 20
    assert spent(facts, [ran], {"one-a": 40.0}, at(35)).total_seconds() == 60 + 35 - 5
    assert spent(facts, [ran, brings], {"fetch": 4.0}, at(35)).total_seconds() == 60 + 35 - 4
    # A pod whose pull the kubelet has told waits for something else now.
    assert spent(facts, [replace(later, name="two")], {"two": 3.0}, at(20)).total_seconds() == 70 + 20 - 3
    assert spent(facts, [replace(later, scheduled=None)], {}, at(20)).total_seconds() == 70 + 20
    assert spent(facts, [replace(later, phase="Failed")], {}, at(20)).total_seconds() == 70 + 20


def test_a_pod_was_asked_for_by_our_clock_or_else_when_the_cluster_says_it_was_made() -> None:
    ours = pod("one", created=at(100))
    assert asked(ours) == ASKED
    assert asked(replace(ours, annotations={})) == at(100)


@pytest.mark.parametrize(("pulled", "began", "scheduled", "seconds"), [
    ({"one-a": 3.0}, 9, 5, 3), ({"other": 3.0}, 9, 5, 4), ({}, None, 5, 0), ({}, 9, None, 0),
])  # fmt: skip
def test_an_image_was_pulled_for_as_long_as_the_kubelet_says_or_the_pod_waited(
    pulled: dict[str, float], began: float | None, scheduled: float | None, seconds: float
) -> None:
    one = pod(
        "one",
        began=None if began is None else at(began),
        scheduled=None if scheduled is None else at(scheduled),
    )
    assert pull_of(one, pulled).total_seconds() == seconds


def test_a_container_ran_from_its_start_to_its_end_and_not_at_all_before() -> None:
    assert ran_for(pod("one", ended=at(7))) == timedelta(seconds=7)
    assert ran_for(pod("one")) == ran_for(pod("one", began=None, ended=at(7))) == timedelta()


@pytest.mark.parametrize(
    ("ladder", "most"), [([DCGM_1], 140), ([NVIDIA_SMI], 50), ([NVIDIA_SMI, VECTOR_ADD], 80)]
)
def test_a_check_may_run_for_its_seconds_and_those_of_what_queues_beside_it(
    ladder: list[Check], most: int
) -> None:
    placement = only(ladder[0])
    pods = {placement.name: [pod(placement)]}

    assert look(ladder, pods, most).endings == []
    (ending,) = look(ladder, pods, most + 1).endings
    assert ending.why == reason("check.ran-too-long", seconds=placement.check.seconds)
    assert look(ladder, {placement.name: [pod(placement, ended=at(1))]}, most + 1).endings == []
    assert look(ladder, {placement.name: [pod(placement, began=None)]}, most + 1).endings == []


def test_an_image_may_take_ten_minutes() -> None:
    placement = only(VECTOR_ADD)
    pulls = pod(placement, phase="Pending", began=None)

    assert look([VECTOR_ADD], {placement.name: [pulls]}, 600).endings == []
    (ending,) = look([VECTOR_ADD], {placement.name: [pulls]}, 601).endings
    assert ending.why == reason(
        "check.no-image", why=reason("check.pull-too-long", minutes=10, state="Pending")
    )
    waits = replace(pulls, waiting="ErrImagePull: gone")
    (ending,) = look([VECTOR_ADD], {placement.name: [waits]}, 601).endings
    assert ending.why == reason(
        "check.no-image", why=reason("check.pull-too-long", minutes=10, state="ErrImagePull: gone")
    )
    # On no node yet, nothing of it is pulled.
    assert (
        look([VECTOR_ADD], {placement.name: [replace(pulls, scheduled=None)]}, 601, budget=9999).endings == []
    )


@pytest.mark.parametrize(("changes", "why"), [
    ({}, reason("check.over-while-running", minutes=2)),
    ({"waiting": "odd"}, reason("check.over-while-running", minutes=2)),
    ({"phase": "Pending", "began": None, "scheduled": None}, reason("check.over-while-waiting", minutes=2)),
    ({"phase": "Pending", "began": None, "scheduled": None, "waiting": "Unschedulable"},
     reason("check.over-while-waiting-for", minutes=2, state="Unschedulable")),
])  # fmt: skip
def test_a_ladder_has_its_whole_budget_and_not_a_second_more(changes: dict[str, Any], why: Reason) -> None:
    placement = only(DCGM_1)
    pods = {placement.name: [pod(placement, **changes)]}

    assert look([DCGM_1], pods, 60, budget=120).endings == []
    (ending,) = look([DCGM_1], pods, 61, budget=120).endings
    assert ending.why == why


@pytest.mark.parametrize(("pods", "why"), [
    ([pod("x", phase="Failed", exit_code=None, ended=at(1))], reason("check.never-ended", state="Failed")),
    ([pod("x", phase="Failed", exit_code=None, waiting="Evicted")], reason("check.never-ended", state="Evicted")),
    ([pod("x", phase="Failed", exit_code=137, waiting="DeadlineExceeded: odd")], reason("check.never-ended",
     state="DeadlineExceeded: odd")),
    ([pod("x", phase="Failed", exit_code=1, waiting="Error")], None),
    ([pod("x", phase="Succeeded", exit_code=0)], None),
])  # fmt: skip
def test_a_check_that_came_to_its_end_is_read_and_any_other_says_why_not(
    pods: list[PodFacts], why: Reason | None
) -> None:
    (ending,) = look([VECTOR_ADD], {only(VECTOR_ADD).name: pods}, 5).endings
    assert ending == CheckEnding(only(VECTOR_ADD), tuple(pods), why)
    assert ending.well is (why is None and pods[0].exit_code == 0)


def test_what_a_check_waits_for_is_told_in_the_cluster_s_words() -> None:
    placement = only(VECTOR_ADD)

    assert look([VECTOR_ADD], {placement.name: [pod(placement)]}, 5).waiting == [
        reason("check.state", check="vectoradd", nodes=("a",), state="Running")
    ]
    waits = [pod(placement, phase="Pending", waiting="Unschedulable")]
    assert look([VECTOR_ADD], {placement.name: waits}, 5).waiting == [
        reason("check.state", check="vectoradd", nodes=("a",), state="Unschedulable")
    ]
    first = only(NVIDIA_SMI)
    later = look([NVIDIA_SMI, DCGM_1], {first.name: [pod(first)]}, 5)
    assert later.waiting == [
        reason("check.state", check="nvidia-smi", nodes=("a",), state="Running"),
        reason("check.later", check="dcgm-1", nodes=("a",)),
    ]
    assert [image for _, image, _ in later.fetch] == ["dcgm"]


@pytest.mark.parametrize(("fetched", "why"), [
    ([pod("f", phase="Failed", waiting="ErrImagePull")], reason("check.no-image-on-node", node="a",
     why="ErrImagePull")),
    ([pod("f", phase="Failed")], reason("check.no-image-on-node", node="a", why=reason("check.pull-pod-failed"))),
    ([pod("f", phase="Succeeded")], None),
])  # fmt: skip
def test_a_check_whose_image_never_comes_is_not_started(fetched: list[PodFacts], why: Reason | None) -> None:
    due, _ = placements([NVIDIA_SMI, DCGM_1], [node()], "cli-1")
    (name,) = fetches(due, "cli-1").values()
    done = pod(due[0], phase="Succeeded", exit_code=0, ended=at(1))

    moves = look([NVIDIA_SMI, DCGM_1], {due[0].name: [done], name: fetched}, 5)

    assert [ending.why for ending in moves.endings] == [None, *([why] if why else [])]
    assert [placement.check.name for placement in moves.start] == ([] if why else ["dcgm-1"])
    assert moves.fetch == []
