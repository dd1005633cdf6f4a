"""Which account a node's time is counted for."""

from dataclasses import replace
from datetime import datetime, timedelta

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


def test_a_lease_pays_for_its_nodes_and_for_what_runs_past_its_end() -> None:
    running = [NodeLife("i-1", at(1), at(70)), NodeLife("i-2", at(2), at(65))]

    metered = meter(running, [Grant("evening", 2, at(0), at(60))], at(0), at(120))

    assert metered.leased == {"evening": 59 * MINUTE + 58 * MINUTE}
    assert metered.overrun == {"evening": 15 * MINUTE}
    assert metered.unleased == timedelta()
    assert metered.of_lease("evening") == 132 * MINUTE


def test_a_node_started_by_hand_after_the_end_is_nobodys() -> None:
    metered = meter([NodeLife("i-9", at(90), None)], [Grant("evening", 2, at(0), at(60))], at(0), at(100))
    assert metered.unleased == 10 * MINUTE
    assert metered.of_lease("evening") == timedelta()


def test_a_node_that_was_replaced_is_its_leases_until_it_is_gone() -> None:
    running = [
        NodeLife("i-old", at(1), at(14)),
        NodeLife("i-2", at(1), at(60)),
        NodeLife("i-new", at(11), at(60)),
    ]
    evening = Grant("evening", 2, at(0), at(60), frozenset({"i-old"}))

    metered = meter(running, [evening], at(0), at(120))

    assert metered.leased == {"evening": 2 * 59 * MINUTE}
    assert metered.overrun == {"evening": 3 * MINUTE}
    assert metered.unleased == timedelta()


def test_a_node_too_many_in_a_running_lease_is_unleased() -> None:
    running = [NodeLife(f"i-{n}", at(0), at(60)) for n in range(3)]

    metered = meter(running, [Grant("evening", 2, at(0), at(60))], at(0), at(60))

    assert metered.leased == {"evening": 120 * MINUTE}
    assert metered.unleased == 60 * MINUTE


def test_nodes_handed_over_are_paid_by_the_lease_that_follows() -> None:
    grants = [Grant("first", 1, at(0), at(60)), Grant("second", 1, at(60), at(120))]

    metered = meter([NodeLife("i-1", at(0), at(120))], grants, at(0), at(200))

    assert metered.leased == {"first": 60 * MINUTE, "second": 60 * MINUTE}
    assert not metered.overrun


def test_a_node_still_running_is_counted_until_now() -> None:
    [run] = runs([launch("i-0a", 0)], [instance("i-0a", 0)], at(30))
    assert run == NodeLife("i-0a", at(0), None)
    assert meter([run], [], at(0), at(30)).total == 30 * MINUTE


def test_a_node_that_is_being_drained_still_costs() -> None:
    [run] = runs([termination("i-0a", 60, None), launch("i-0a", 0)], [instance("i-0a", 0)], at(65))
    assert run.ended is None


def test_an_end_that_nobody_recorded_is_no_later_than_ec2s_memory() -> None:
    [run] = runs([launch("i-0a", 0)], [], at(600))
    assert run.ended == at(540)


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


def test_what_was_taken_out_of_its_group_was_started_by_it() -> None:
    detached = replace(instance("i-0a", 0), controller=None)
    [run] = runs([launch("i-0a", 0)], [detached], at(30))
    assert run.member


def test_a_lease_that_was_another_size_before_is_metered_by_what_it_was_then() -> None:
    grant = Grant("evening", 2, at(0), at(60), before=((at(10), 0), (at(30), 1)))
    running = [NodeLife("i-1", at(0), at(60)), NodeLife("i-2", at(0), at(60))]

    assert [grant.nodes_at(at(minute)) for minute in (0, 9, 10, 29, 30, 59)] == [0, 0, 1, 1, 2, 2]
    metered = meter(running, [grant], at(0), at(60))

    assert metered.leased == {"evening": 20 * MINUTE + 60 * MINUTE}
    assert metered.unleased == 20 * MINUTE + 20 * MINUTE
    assert metered.total == 120 * MINUTE


def test_of_several_replaced_nodes_each_is_counted_once() -> None:
    running = [NodeLife(f"i-{n}", at(0), at(10)) for n in range(4)]
    evening = Grant("evening", 1, at(0), at(60), frozenset({"i-0"}))

    metered = meter(running, [evening], at(0), at(60))

    assert (metered.leased, metered.overrun) == ({"evening": 10 * MINUTE}, {"evening": 10 * MINUTE})
    assert metered.unleased == 20 * MINUTE


def test_an_overrun_goes_to_the_lease_that_ended_last_for_as_many_nodes_as_ran_before_its_end() -> None:
    grants = [Grant("first", 2, at(0), at(30)), Grant("second", 2, at(0), at(60))]
    # One began before either end, one in the second lease alone, one at the very end of it.
    running = [
        NodeLife("i-1", at(0), at(70)),
        NodeLife("i-2", at(40), at(70)),
        NodeLife("i-3", at(60), at(70)),
    ]

    metered = meter(running, grants, at(60), at(100))

    assert metered.overrun == {"second": 20 * MINUTE}
    assert metered.unleased == 10 * MINUTE
    one_ran = meter(
        [NodeLife("i-1", at(0), at(70)), NodeLife("i-3", at(60), at(70))],
        [Grant("two", 2, at(0), at(60))],
        at(60),
        at(100),
    )
    assert (one_ran.overrun, one_ran.unleased) == ({"two": 10 * MINUTE}, 10 * MINUTE)


def test_a_grant_of_no_time_at_all_answers_for_nothing() -> None:
    metered = meter([NodeLife("i-1", at(0), at(20))], [Grant("none", 1, at(10), at(10))], at(0), at(20))
    assert (metered.of_lease("none"), metered.unleased) == (timedelta(), 20 * MINUTE)


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
    listed = [instance("i-0e", 3, state="terminated", ended=9), instance("i-0b", 6)]

    assert runs(activities, listed, at(30)) == (
        NodeLife("i-0d", at(1), at(21)),
        NodeLife("i-0f", at(1), at(22)),
        NodeLife("i-0e", at(3), at(9)),
        NodeLife("i-0a", at(5), at(5)),
        NodeLife("i-0b", at(6), None),
    )


def test_an_activity_that_names_no_instance_is_passed_over() -> None:
    nameless = Activity("", True, at(0), at(1))

    assert runs([nameless, launch("i-0a", 5)], [instance("i-0a", 5)], at(30)) == (
        NodeLife("i-0a", at(5), None),
    )
