"""Each stage of a warm-up as it is shown: its count, how full it is, and why it is late, short or failed."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.progress import BootStage, Noted, Progress, Stage
from lamplighter.domain.leases.usual_times import Usual, UsualTimes
from lamplighter.domain.views.stages import StageState, StageView, bar, boot_stages, stages
from tests.unit.views.test_views import EIGHT, EVENING, MINUTE, WHOLE, noted

SECOND = timedelta(seconds=1)
DONE, GOING, WAITING, LATE, SHORT, FAILED = StageState


def shown(progress: Progress, minutes: float = 1, **more: Any) -> list[tuple[StageState, str]]:
    """Of each stage how it stands and what is said of it."""
    lease = more.pop("lease", EVENING)
    return [
        (each.state, str(each.said)) for each in stages(lease, progress, EIGHT + minutes * MINUTE, **more)
    ]


def test_a_stage_of_nodes_that_no_pod_has_asked_for_is_never_late() -> None:
    nothing_yet: Progress = {Stage.NODES: Noted(0, 0, EIGHT, EIGHT)}
    assert set(shown(nothing_yet, minutes=60)) == {(WAITING, "")}


@pytest.mark.parametrize(
    ("state", "done", "of", "count", "fraction"),
    [
        (GOING, None, None, "", 0.0),
        (GOING, 0, 0, "", 0.0),
        (GOING, 0, 1, "", 0.0),
        (GOING, 1, 2, "1/2", 0.5),
        (GOING, None, 2, "None/2", 0.0),
        (GOING, 3, 2, "3/2", 1.0),
        (WAITING, 1, 4, "1/4", 0.25),
        (DONE, None, None, "", 1.0),
        (DONE, 1, 2, "1/2", 1.0),
    ],
)
def test_a_stage_counts_where_there_is_more_than_one_and_is_full_when_it_is_done(
    state: StageState, done: int | None, of: int | None, count: str, fraction: float
) -> None:
    view = StageView(Stage.NODES, state, done, of)
    assert (view.count, view.fraction) == (count, fraction)


def test_the_bar_is_filled_by_the_weight_of_each_stage() -> None:
    half = [StageView(Stage.ARMED, DONE), StageView(Stage.NODES, GOING, 1, 2), StageView(Stage.GPUS, WAITING)]
    assert bar(half) == pytest.approx((5 + 12.5) / 100)


def test_what_programs_read_of_a_stage_is_this() -> None:
    at = EIGHT + MINUTE

    assert StageView(Stage.NODES, LATE, 1, 2, EIGHT, at, "slow").to_json() == {
        "stage": "nodes", "state": "late", "done": 1, "of": 2, "since": "2026-11-20T11:00:00Z",
        "at": "2026-11-20T11:01:00Z", "said": "slow", "usual_seconds": None, "usual_is_measured": None,
    }  # fmt: skip
    bare = StageView(Stage.NODES, WAITING).to_json()
    assert (bare["since"], bare["at"], bare["said"]) == (None, None, "")
    usually = StageView(Stage.NODES, WAITING, usual=Usual(95 * SECOND, measured=True)).to_json()
    assert (usually["usual_seconds"], usually["usual_is_measured"]) == (95, True)


@pytest.mark.parametrize(
    ("stage", "normal"),
    [(Stage.ARMED, 1), (Stage.NODES, 3), (Stage.SETTINGS, 5), (Stage.GPUS, 8), (Stage.CHECKS, 8)],
)
def test_a_stage_is_late_from_the_first_second_past_its_normal_time(stage: Stage, normal: int) -> None:
    progress: Progress = {stage: noted(0, 2, minutes=1)}
    last = EIGHT + (1 + normal) * MINUTE
    said = f"nothing has changed for {normal} minutes; {normal} are normal"

    at = list(Stage).index(stage)
    for now, found in ((last, (GOING, "")), (last + SECOND, (LATE, said))):
        view = stages(EVENING, progress, now)[at]
        assert (view.state, str(view.said)) == found
        assert (view.done, view.of, view.since, view.at) == (0, 2, EIGHT, EIGHT + MINUTE)


def test_checks_alone_have_a_time_of_their_own() -> None:
    progress: Progress = {Stage.GPUS: noted(0, 2), Stage.CHECKS: noted(0, 2)}
    late = "nothing has changed for 9 minutes; {} are normal"

    assert shown(progress, 9, checks_normal=20 * MINUTE)[-2:] == [(LATE, late.format(8)), (GOING, "")]
    assert shown(progress, 9, checks_normal=2 * MINUTE)[-2:] == [
        (LATE, late.format(8)),
        (LATE, late.format(2)),
    ]
    assert shown(progress, 9)[-1] == (LATE, late.format(8))


def test_the_boot_of_nodes_is_shown_as_far_as_it_has_begun_and_is_no_part_of_the_bar() -> None:
    progress: Progress = {
        Stage.NODES: noted(2, 2),
        BootStage.JOINED: Noted(2, 2, EIGHT, EIGHT + MINUTE),
        BootStage.READY: Noted(1, 2, EIGHT, EIGHT + MINUTE),
    }

    found = boot_stages(EVENING, progress, EIGHT + 2 * MINUTE)

    assert [(each.stage, each.state, each.count, each.took) for each in found] == [
        (BootStage.JOINED, DONE, "2/2", MINUTE),
        (BootStage.READY, GOING, "1/2", None),
    ]
    assert bar(found) == 0
    assert boot_stages(EVENING, {Stage.NODES: noted(2, 2)}, EIGHT) == ()


def test_a_boot_that_takes_longer_than_normal_is_late() -> None:
    progress: Progress = {BootStage.DRIVER: Noted(0, 2, EIGHT, EIGHT)}
    (found,) = boot_stages(EVENING, progress, EIGHT + 6 * MINUTE)
    assert found.state is LATE


def test_beside_each_stage_stands_what_earlier_openings_took_or_else_what_is_normal() -> None:
    measured: UsualTimes = {Stage.NODES: Usual(95 * SECOND, measured=True)}

    found = stages(EVENING, {}, EIGHT, measured=measured, checks_normal=3 * MINUTE)

    assert [each.usual for each in found] == [
        Usual(MINUTE, measured=False),
        Usual(95 * SECOND, measured=True),
        Usual(5 * MINUTE, measured=False),
        Usual(8 * MINUTE, measured=False),
        Usual(3 * MINUTE, measured=False),
    ]


def test_a_lease_that_is_not_in_force_waits_whatever_was_noted() -> None:
    planned = replace(EVENING, state=LeaseState.PLANNED)
    assert shown({Stage.NODES: noted(1, 2)}, 60, lease=planned)[1] == (WAITING, "")
    assert shown({Stage.NODES: noted(2, 2)}, 60, lease=planned)[1] == (DONE, "")


def test_a_lease_that_was_ready_has_behind_it_what_nobody_noted() -> None:
    ready = replace(EVENING, ready=EIGHT)

    assert [state for state, _ in shown({Stage.NODES: noted(1, 2)}, lease=ready)] == [
        DONE,
        GOING,
        DONE,
        DONE,
        DONE,
    ]


@pytest.mark.parametrize(
    ("missing", "because", "said"),
    [(1, None, "1 node missing"), (2, None, "2 nodes missing"), (1, "no capacity", "no capacity")],
)
def test_missing_nodes_make_undone_stages_short(missing: int, because: str | None, said: str) -> None:
    short = replace(EVENING, missing=missing)
    found = shown({Stage.NODES: noted(2, 2)}, lease=short, short_because=because)
    assert found == [(WAITING, ""), (DONE, ""), (WAITING, ""), (SHORT, said), (WAITING, "")]


@pytest.mark.parametrize(
    ("verdict", "state"), [(Outcome.FAILED, FAILED), (Outcome.PASSED, DONE), (Outcome.NOT_PROVEN, DONE)]
)
def test_only_checks_that_failed_fail_their_stage(verdict: Outcome, state: StageState) -> None:
    found = shown(WHOLE, verdict=verdict)
    assert found == [(DONE, "")] * 4 + [(state, "a GPU check failed" if state is FAILED else "")]


@pytest.mark.parametrize(
    ("progress", "minutes", "failed"),
    [
        ({}, 1, 0),
        ({Stage.ARMED: noted(1, 1), Stage.NODES: noted(0, 1)}, 1, 1),
        ({Stage.ARMED: noted(1, 1), Stage.NODES: noted(0, 1)}, 9, 1),
        (WHOLE, 1, None),
    ],
)
def test_an_opening_that_was_given_up_failed_at_one_stage(
    progress: Progress, minutes: int, failed: int | None
) -> None:
    found = shown(progress, minutes, failed_because="no GPU came")
    assert [at for at, each in enumerate(found) if each == (FAILED, "no GPU came")] == (
        [] if failed is None else [failed]
    )


def test_an_opening_that_is_short_and_given_up_fails_behind_its_nodes() -> None:
    found = shown({Stage.ARMED: noted(1, 1)}, lease=replace(EVENING, missing=1), failed_because="gone")
    assert [state for state, _ in found] == [DONE, SHORT, FAILED, SHORT, WAITING]
