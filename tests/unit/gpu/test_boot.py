"""The boot of fresh nodes: the count, start and end of each stage, from the instants of Kubernetes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lamplighter.domain.gpu.boot import boot
from lamplighter.domain.leases.progress import BootStage, Noted
from lamplighter.domain.pool.nodes import NodeFacts, PodFacts

START = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)
JOINED, READY, DRIVER, TOOLKIT, CUDA, PLUGIN = BootStage


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def node(number: int, joined: int, ready: int | None) -> NodeFacts:
    return NodeFacts(
        name=f"gpu-{number}",
        instance=f"i-{number}",
        created=at(joined),
        ready=ready is not None,
        ready_since=at(joined if ready is None else ready),
    )


def validator(number: int, *ends: int, created: int = 60) -> PodFacts:
    names = ("driver-validation", "toolkit-validation", "cuda-validation", "plugin-validation")
    prepared = {name: at(end) for name, end in zip(names, ends, strict=False)}
    return PodFacts("gpu-operator", f"v-{number}", f"gpu-{number}", "Pending", at(created), prepared=prepared)


ONE = {"i-1": START}
BOTH = {"i-1": START, "i-2": at(5)}


def test_an_instance_that_is_no_node_yet_is_joining() -> None:
    assert boot(ONE, [], [], 1) == {JOINED: Noted(0, 1, START, START)}


def test_each_stage_begins_as_the_one_before_it_ends() -> None:
    assert boot(ONE, [node(1, 40, 55)], [validator(1, 90, 95, 120, 150)], 1) == {
        JOINED: Noted(1, 1, START, at(40)),
        READY: Noted(1, 1, at(40), at(55)),
        DRIVER: Noted(1, 1, at(55), at(90)),
        TOOLKIT: Noted(1, 1, at(90), at(95)),
        CUDA: Noted(1, 1, at(95), at(120)),
        PLUGIN: Noted(1, 1, at(120), at(150)),
    }


def test_a_node_that_is_behind_holds_its_stage_open() -> None:
    found = boot(BOTH, [node(1, 40, 55), node(2, 50, None)], [validator(1, 90)], 2)

    assert found == {
        JOINED: Noted(2, 2, START, at(50)),
        READY: Noted(1, 2, at(40), at(55)),
        DRIVER: Noted(1, 2, at(55), at(90)),
        TOOLKIT: Noted(0, 2, at(90), at(90)),
    }


def test_a_pool_without_the_operator_boots_and_no_more() -> None:
    assert list(boot(ONE, [node(1, 40, 55)], None, 1)) == [JOINED, READY]


def test_a_validator_of_an_earlier_node_of_that_name_or_one_that_leaves_proves_nothing() -> None:
    here = node(1, 40, 55)
    for pod in (
        validator(1, 20, created=10),
        replace(validator(1, 90), leaving=True),
        replace(validator(1, 90), node="gpu-9"),
    ):
        assert boot(ONE, [here], [pod], 1)[DRIVER].done == 0


def test_a_validation_that_has_not_ended_hides_those_after_it() -> None:
    pod = replace(validator(1), prepared={"driver-validation": at(90), "cuda-validation": at(99)})
    assert boot(ONE, [node(1, 40, 55)], [pod], 1)[TOOLKIT] == Noted(0, 1, at(90), at(90))


def test_of_nodes_that_two_leases_share_the_first_are_counted() -> None:
    found = boot(BOTH, [node(1, 40, 55), node(2, 50, 70)], None, 1)
    assert found[READY] == Noted(1, 1, at(40), at(55))


def test_where_nothing_was_launched_for_the_lease_nothing_boots() -> None:
    assert boot({}, [node(1, 40, 55)], [], 2) == {}


def test_clocks_that_differ_a_little_make_no_stage_end_before_it_begins() -> None:
    assert boot({"i-1": at(41)}, [node(1, 40, 55)], None, 1)[JOINED] == Noted(1, 1, at(41), at(41))
