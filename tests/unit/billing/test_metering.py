"""Which account a node's time is counted for."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lamplighter.domain.billing.metering import Grant, NodeLife, meter, runs
from lamplighter.domain.capacity.evidence import Activity, Instance
from tests.builders.leases import EIGHT, MINUTE


def at(minutes: int) -> datetime:
    return EIGHT + minutes * MINUTE


def launch(instance: str, start: int, *, status: str = "Successful") -> Activity:
    return Activity(instance, True, at(start), at(start + 1), failed=status == "Failed")


def termination(instance: str, start: int, end: int | None) -> Activity:
    return Activity(instance, False, at(start), None if end is None else at(end))


def instance(name: str, launched: int, *, state: str = "running", ended: int | None = None) -> Instance:
    return Instance(
        name,
        "g5.xlarge",
        "a",
        state,
        at(launched),
        None if ended is None else at(ended),
        "eks-gpu",
        f"{name}.internal",
    )


def life(name: str, start: int, end: int | None = None) -> NodeLife:
    return NodeLife(name, at(start), None if end is None else at(end))


def listed(name: str, start: int, end: int | None = None) -> NodeLife:
    """The life of a node whose type and zone EC2 still tells."""
    return replace(life(name, start, end), type="g5.xlarge", zone="a")


def minutes(times: Mapping[str, timedelta]) -> dict[str, float]:
    return {name: span / MINUTE for name, span in times.items() if span}


EVENING = Grant("evening", 2, at(0), at(60))
ONE = Grant("evening", 1, at(0), at(60))
FIRST, SECOND = Grant("first", 1, at(0), at(60)), Grant("second", 1, at(60), at(120))
ENDED = [Grant("first", 2, at(0), at(30)), Grant("second", 2, at(0), at(60))]


@pytest.mark.parametrize(
    ("lives", "grants", "span", "leased", "overrun", "unleased"),
    [
        pytest.param([life("i-1", 1, 70), life("i-2", 2, 65)], [EVENING], (0, 120),
                     {"evening": 117}, {"evening": 15}, 0, id="its nodes, and what runs past its end"),
        pytest.param([life("i-9", 90)], [EVENING], (0, 100), {}, {}, 10, id="started by hand after the end"),
        pytest.param([life("i-old", 1, 14), life("i-2", 1, 60), life("i-new", 11, 60)],
                     [Grant("evening", 2, at(0), at(60), frozenset({"i-old"}))], (0, 120),
                     {"evening": 118}, {"evening": 3}, 0, id="a node that was replaced, until it is gone"),
        pytest.param([life(f"i-{n}", 0, 10) for n in range(4)],
                     [Grant("evening", 1, at(0), at(60), frozenset({"i-0"}))], (0, 60),
                     {"evening": 10}, {"evening": 10}, 20, id="each replaced node once"),
        pytest.param([life(f"i-{n}", 0, 60) for n in range(3)], [EVENING], (0, 60), {"evening": 120}, {}, 60,
                     id="a node too many"),
        pytest.param([life("i-1", 0, 120)], [FIRST, SECOND], (0, 200), {"first": 60, "second": 60}, {}, 0,
                     id="nodes handed over"),
        pytest.param([life("i-1", 0, 20)], [Grant("none", 1, at(10), at(10))], (0, 20), {}, {}, 20,
                     id="a grant of no time at all"),
        pytest.param([life("i-1", 0, 70), life("i-9", 62, 70)], [ONE], (0, 120), {"evening": 60}, {"evening": 10}, 8,
                     id="all three parts"),
        # One began before either end, one in the second lease alone, one at the very end of it.
        pytest.param([life("i-1", 0, 70), life("i-2", 40, 70), life("i-3", 60, 70)], ENDED, (60, 100),
                     {}, {"second": 20}, 10, id="past the lease that ended last"),
        pytest.param([life("i-1", 0, 70), life("i-3", 60, 70)], [EVENING], (60, 100), {}, {"evening": 10}, 10,
                     id="as many as ran before its end"),
    ],
)  # fmt: skip
def test_whose_time_it_is(
    lives: list[NodeLife],
    grants: list[Grant],
    span: tuple[int, int],
    *,
    leased: dict[str, float],
    overrun: dict[str, float],
    unleased: float,
) -> None:
    metered = meter(lives, grants, at(span[0]), at(span[1]))

    assert (minutes(metered.leased), minutes(metered.overrun)) == (leased, overrun)
    assert metered.unleased == unleased * MINUTE
    assert metered.total == (sum(leased.values()) + sum(overrun.values()) + unleased) * MINUTE
    for name in {**leased, **overrun}:
        assert metered.of_lease(name) == (leased.get(name, 0) + overrun.get(name, 0)) * MINUTE


@pytest.mark.parametrize(
    ("activities", "instances", "now", "found"),
    [
        pytest.param([launch("i-0a", 0)], [instance("i-0a", 0)], 30, listed("i-0a", 0), id="it runs"),
        pytest.param([termination("i-0a", 60, None), launch("i-0a", 0)], [instance("i-0a", 0)], 65, listed("i-0a", 0),
                     id="it is being drained"),
        pytest.param([launch("i-0a", 0)], [], 600, life("i-0a", 0, 540), id="no end later than EC2's memory"),
        pytest.param([launch("i-0a", 0)], [replace(instance("i-0a", 0), controller=None)], 30, listed("i-0a", 0),
                     id="taken out of the group that started it"),
        pytest.param([Activity("", True, at(0), at(1)), launch("i-0a", 5)], [instance("i-0a", 5)], 30,
                     listed("i-0a", 5), id="an activity that names no instance"),
    ],
)  # fmt: skip
def test_the_life_of_a_node(
    activities: list[Activity], instances: list[Instance], now: int, found: NodeLife
) -> None:
    assert runs(activities, instances, at(now)) == (found,)


def test_what_somebody_started_beside_the_group_is_no_lease_s() -> None:
    grants = [Grant("evening", 2, at(0), at(60))]
    stray, member = (
        replace(instance("i-0b", 10), controller=None),
        replace(instance("i-0a", 10), controller="eks-gpu"),
    )
    running = runs([], [stray, member], at(40))

    assert [(run.instance, run.member) for run in running] == [("i-0a", True), ("i-0b", False)]
    metered = meter(running, grants, at(0), at(40))
    assert metered.leased == {"evening": 30 * MINUTE}
    assert (metered.overrun, metered.unleased) == ({}, 30 * MINUTE)


def test_a_lease_that_was_another_size_before_is_metered_by_what_it_was_then() -> None:
    grant = Grant("evening", 2, at(0), at(60), before=((at(10), 0), (at(30), 1)))
    running = [NodeLife("i-1", at(0), at(60)), NodeLife("i-2", at(0), at(60))]

    assert [grant.nodes_at(at(minute)) for minute in (0, 9, 10, 29, 30, 59)] == [0, 0, 1, 1, 2, 2]
    metered = meter(running, [grant], at(0), at(60))

    assert metered.leased == {"evening": 20 * MINUTE + 60 * MINUTE}
    assert metered.unleased == 20 * MINUTE + 20 * MINUTE
    assert metered.total == 120 * MINUTE


def test_lives_are_told_by_their_start_then_by_name_and_gaps_are_filled_from_ec2() -> None:
    activities = [
        launch("i-0b", 5),
        launch("i-0a", 5),
        launch("i-0c", 0, status="Failed"),
        launch("i-0f", 1),
        launch("i-0d", 1),
        termination("i-0d", 20, 21),
        termination("i-0f", 20, 22),
    ]
    of_ec2 = [instance("i-0e", 3, state="terminated", ended=9), instance("i-0b", 6)]

    assert runs(activities, of_ec2, at(30)) == (
        NodeLife("i-0d", at(1), at(21)),
        NodeLife("i-0f", at(1), at(22)),
        listed("i-0e", 3, 9),
        NodeLife("i-0a", at(5), at(5)),
        listed("i-0b", 6),
    )


def test_each_account_keeps_the_time_of_each_type_and_another_type_is_no_lease_s() -> None:
    def of(name: str, kind: str) -> NodeLife:
        return NodeLife(name, at(0), at(60), type=kind)

    running = [
        of("i-1", "p5.48xlarge"),
        of("i-2", "g5.xlarge"),
        of("i-3", "g6.xlarge"),
        of("i-4", "g6.xlarge"),
    ]
    grant = Grant("evening", 2, at(0), at(40), types=("g5.xlarge", "g6.xlarge"))

    metered = meter(running, [grant], at(0), at(60))

    assert metered.of_leases == {"evening": {"g5.xlarge": 40 * MINUTE, "g6.xlarge": 40 * MINUTE}}
    assert metered.past_ends == {"evening": {"g6.xlarge": 40 * MINUTE}}
    assert metered.of_none == {"p5.48xlarge": 60 * MINUTE, "g6.xlarge": 40 * MINUTE, "g5.xlarge": 20 * MINUTE}
    assert metered.total == 4 * 60 * MINUTE
