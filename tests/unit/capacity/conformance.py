"""What every implementation of the port does (domain/capacity/port.py), stated once.

A module that has an implementation subclasses `Conformance` and gives it a fixture `stage`: the capacity under test,
with the hands that move what is around it. tests/local/aws/test_node_group_capacity.py does so for node groups.
"""

from collections.abc import Callable
from datetime import datetime
from typing import ClassVar, Protocol

import pytest

from lamplighter.domain.capacity.calls import TimedCall
from lamplighter.domain.capacity.evidence import NOW, SIZES, Part, Seen
from lamplighter.domain.capacity.launch_cause import LaunchCause
from lamplighter.domain.capacity.port import Awaited, Capacity, Removal
from lamplighter.domain.capacity.shortage import Shortage
from tests.builders.leases import MINUTE

MINUTES = [0, 10, 20, 30]
"""When the four calls of an off switch come, after its first instant."""


class Stage(Protocol):
    """A capacity with a pool at zero whose maximum is 2, and what a test may do around it."""

    pool: str
    absent: str
    """Another pool, whose capacity does not exist."""

    @property
    def capacity(self) -> Capacity:
        """The capacity under test."""

    def now(self) -> datetime:
        """The present instant of the stage, in UTC."""

    def settle(self) -> None:
        """Let pass what was ordered: starts, ends, updates. Nobody drains the nodes by hand."""

    def stray(self) -> str:
        """Start an instance with the pool's tags that its controller did not start; its id."""

    def refuse(self, cause: LaunchCause) -> None:
        """From now on EC2 refuses the pool's starts for this cause."""

    def call(self, call: TimedCall) -> None:
        """Do what EventBridge Scheduler does at the call's instant. A refusal of the other side is fine."""

    def changes(self) -> int:
        """How many calls or writes so far changed anything, or tried to."""


class Conformance:
    """The behaviours."""

    a_node_is_a_remark: ClassVar[bool] = False
    """Whether a node in Kubernetes without an instance is a remark of the proof, and not a leak."""

    # --- see -------------------------------------------------------------------------------------

    def test_what_does_not_exist_is_seen_as_nothing(self, stage: Stage) -> None:
        seen = stage.capacity.see(stage.absent)
        assert (seen.exists, seen.size, seen.ordered) == (False, 0, 0)
        assert (seen.members, seen.instances, seen.controller) == ((), (), None)

    def test_a_pool_at_zero_is_seen_with_its_bounds(self, stage: Stage) -> None:
        seen = stage.capacity.see(stage.pool)

        assert (seen.exists, seen.ordered, seen.size) == (True, 0, 0)
        assert (seen.minimum, seen.maximum) == (0, 2)
        assert (seen.members, seen.alive) == ((), ())
        assert seen.controller is not None

    def test_the_controller_lists_what_runs(self, stage: Stage) -> None:
        seen = opened(stage)

        assert {member.instance for member in seen.staying} == {instance.id for instance in seen.alive}
        assert {instance.state for instance in seen.alive} == {"running"}
        assert all(instance.controller for instance in seen.alive)
        assert all(instance.launched <= stage.now() for instance in seen.alive)

    def test_a_stray_is_an_instance_that_nobody_lists(self, stage: Stage) -> None:
        stray = stage.stray()

        seen = stage.capacity.see(stage.pool)

        assert [instance.id for instance in seen.alive] == [stray]
        assert [instance.controller for instance in seen.alive] == [None]
        assert seen.members == ()

    def test_what_is_known_is_completed_and_not_read_again(self, stage: Stage) -> None:
        before = stage.capacity.see(stage.pool)
        opened(stage)

        after = stage.capacity.see(stage.pool, {Part.INSTANCES}, before)

        assert (after.ordered, after.size, after.members) == (before.ordered, before.size, before.members)
        assert len(after.alive) == 2

    def test_the_history_has_the_start_and_the_end_of_each_instance(self, stage: Stage) -> None:
        begun = stage.now()
        ids = {instance.id for instance in opened(stage).alive}
        order(stage, 0)
        stage.settle()

        history = stage.capacity.see(stage.pool, {*SIZES, Part.HISTORY}).activities

        done = [activity for activity in history if not activity.failed and activity.instance]
        starts = {activity.instance: activity.began for activity in done if activity.launches}
        ends = {activity.instance: activity.ended for activity in done if not activity.launches}
        assert set(starts) == set(ends) == ids
        assert all(began >= begun for began in starts.values())
        assert all(ended is not None and ended >= starts[name] for name, ended in ends.items())

    # --- bar -------------------------------------------------------------------------------------

    def test_a_bar_starts_nothing_and_the_same_bar_twice_is_one(self, stage: Stage) -> None:
        until = stage.now() + 60 * MINUTE
        stage.capacity.bar(stage.pool, until)
        once, changes = stage.capacity.see(stage.pool), stage.changes()

        stage.capacity.bar(stage.pool, until)
        stage.settle()

        assert stage.capacity.see(stage.pool) == once
        assert stage.changes() == changes
        assert once.alive == ()

    # --- order -----------------------------------------------------------------------------------

    def test_an_order_is_the_whole_size(self, stage: Stage) -> None:
        assert len(opened(stage).alive) == 2

        order(stage, 1)
        stage.settle()

        seen = stage.capacity.see(stage.pool)
        assert (seen.ordered, seen.size, len(seen.alive)) == (1, 1, 1)

    def test_an_order_that_stands_already_changes_nothing(self, stage: Stage) -> None:
        seen, changes = opened(stage), stage.changes()

        assert stage.capacity.order(stage.pool, 2, seen) is None
        stage.settle()

        assert stage.changes() == changes
        assert stage.capacity.see(stage.pool).alive == seen.alive

    def test_an_order_that_is_repeated_adds_nothing(self, stage: Stage) -> None:
        before = stage.capacity.see(stage.pool)
        order(stage, 2)
        stage.settle()

        stage.capacity.order(stage.pool, 2, before)
        stage.settle()

        seen = stage.capacity.see(stage.pool)
        assert (seen.ordered, seen.size, len(seen.alive)) == (2, 2, 2)

    def test_an_order_with_a_maximum_keeps_what_runs(self, stage: Stage) -> None:
        seen = opened(stage)

        stage.capacity.order(stage.pool, 2, seen, maximum=3)
        stage.settle()

        after = stage.capacity.see(stage.pool)
        assert (after.minimum, after.maximum, after.ordered) == (0, 3, 2)
        assert after.alive == seen.alive

    # --- remove ----------------------------------------------------------------------------------

    def test_of_a_pool_that_shrinks_the_chosen_one_goes_and_none_comes(self, stage: Stage) -> None:
        seen = opened(stage)
        goes, stays = (instance.id for instance in seen.alive)

        stage.capacity.remove(stage.pool, (goes,), Removal.FEWER, seen)
        stage.settle()

        after = stage.capacity.see(stage.pool)
        assert ([instance.id for instance in after.alive], after.size) == ([stays], 1)

    def test_to_remove_one_twice_removes_one(self, stage: Stage) -> None:
        seen = opened(stage)
        goes, stays = (instance.id for instance in seen.alive)

        stage.capacity.remove(stage.pool, (goes,), Removal.FEWER, seen)
        for _ in range(2):
            again = stage.capacity.see(stage.pool, SIZES)
            stage.capacity.remove(stage.pool, (goes,), Removal.FEWER, again)
            stage.settle()

        after = stage.capacity.see(stage.pool)
        assert ([instance.id for instance in after.alive], after.size) == ([stays], 1)

    def test_in_the_place_of_a_replaced_one_another_comes_and_the_size_stays(self, stage: Stage) -> None:
        seen = opened(stage)
        goes, stays = (instance.id for instance in seen.alive)

        stage.capacity.remove(stage.pool, (goes,), Removal.REPLACED, seen)
        stage.settle()

        after = stage.capacity.see(stage.pool)
        ids = {instance.id for instance in after.alive}
        assert (after.size, len(ids), goes in ids, stays in ids) == (2, 2, False, True)

    def test_a_stray_is_ended_and_what_is_listed_stays(self, stage: Stage) -> None:
        listed = {instance.id for instance in opened(stage).alive}
        stray = stage.stray()

        seen = stage.capacity.see(stage.pool)
        for _ in range(2):
            stage.capacity.remove(stage.pool, (stray,), Removal.STRAY, seen)
        stage.settle()

        after = stage.capacity.see(stage.pool)
        assert {instance.id for instance in after.alive} == listed
        assert after.size == 2

    @pytest.mark.parametrize("why", list(Removal))
    def test_to_remove_what_is_not_there_changes_no_size(self, stage: Stage, why: Removal) -> None:
        seen = opened(stage)

        stage.capacity.remove(stage.pool, (), why, seen)
        stage.capacity.remove(stage.pool, ("i-00000000000000000",), why, seen)
        stage.settle()

        after = stage.capacity.see(stage.pool)
        assert (after.size, after.alive) == (2, seen.alive)

    # --- troubles --------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        "cause", [LaunchCause.NO_CAPACITY, LaunchCause.VCPU_QUOTA, LaunchCause.LAUNCH_DENIED]
    )
    def test_the_cause_of_missing_nodes_is_named_by_its_code(self, stage: Stage, cause: LaunchCause) -> None:
        stage.refuse(cause)

        shortage = troubles_of(stage, wait=stage.settle)

        assert shortage is not None
        assert shortage.cause is cause
        assert shortage.reason.code == "pool.short"

    def test_right_after_an_order_there_is_no_trouble(self, stage: Stage) -> None:
        assert troubles_of(stage, wait=lambda: None) is None

    def test_where_all_came_there_is_no_trouble(self, stage: Stage) -> None:
        since = stage.now()
        update = order(stage, 2)
        stage.settle()
        seen = stage.capacity.see(stage.pool)

        awaited = Awaited(wanted=2, have=2, since=since, now=stage.now(), order=update)
        assert stage.capacity.troubles(stage.pool, awaited, seen) is None

    def test_what_failed_before_the_order_is_history(self, stage: Stage) -> None:
        stage.refuse(LaunchCause.NO_CAPACITY)
        order(stage, 2)
        stage.settle()
        seen, now = stage.capacity.see(stage.pool), stage.now()

        awaited = Awaited(wanted=2, have=0, since=now + MINUTE, now=now + MINUTE, order=None)
        assert stage.capacity.troubles(stage.pool, awaited, seen) is None

    # --- off switch ------------------------------------------------------------------------------

    def test_an_off_switch_has_four_calls_ten_minutes_apart(self, stage: Stage) -> None:
        first = stage.now() + 60 * MINUTE
        calls = off_switch(stage, first)
        assert [(call.at - first) // MINUTE for call in calls] == MINUTES
        assert all(call.target.startswith("arn:aws:") and call.input for call in calls)

    def test_an_off_switch_names_its_own_pool(self, stage: Stage) -> None:
        seen = stage.capacity.see(stage.pool, SIZES)
        assert seen.controller is not None
        for call in off_switch(stage, stage.now()):
            assert stage.pool in call.input or seen.controller.name in call.input

    def test_an_off_switch_is_the_same_whatever_runs(self, stage: Stage) -> None:
        """A failsafe that stands is compared with what it should be: it must not differ for a size."""
        first = stage.now() + 60 * MINUTE
        at_zero = off_switch(stage, first)
        opened(stage)
        assert off_switch(stage, first) == at_zero

    @pytest.mark.parametrize("nodes", [0, 2])
    def test_calls_of_an_off_switch_bring_a_pool_to_zero_and_never_add(
        self, stage: Stage, nodes: int
    ) -> None:
        if nodes:
            opened(stage)
        for call in off_switch(stage, stage.now()):
            before = stage.capacity.see(stage.pool)
            stage.call(call)
            after = stage.capacity.see(stage.pool)
            assert after.size <= before.size
            assert {one.id for one in after.alive} <= {one.id for one in before.alive}
            stage.settle()

        seen = stage.capacity.see(stage.pool)
        assert (seen.ordered, seen.size, seen.alive) == (0, 0, ())
        assert stage.capacity.zero(seen, stage.now(), ()).proven

    def test_either_way_of_an_off_switch_is_enough(self, stage: Stage) -> None:
        """No call may need another to have succeeded before it."""
        ways = dict.fromkeys((call.target, call.input) for call in off_switch(stage, stage.now()))
        for way in ways:
            opened(stage)
            calls = off_switch(stage, stage.now())
            stage.call(next(call for call in calls if (call.target, call.input) == way))
            stage.settle()

            assert stage.capacity.see(stage.pool).alive == ()

    # --- zero ------------------------------------------------------------------------------------

    def test_a_pool_at_zero_is_proven_only_with_kubernetes_read(self, stage: Stage) -> None:
        seen = stage.capacity.see(stage.pool)
        assert stage.capacity.zero(seen, stage.now(), ()).proven
        assert not stage.capacity.zero(seen, stage.now(), None).proven

    def test_a_node_without_an_instance_is_never_left_unsaid(self, stage: Stage) -> None:
        proof = stage.capacity.zero(stage.capacity.see(stage.pool), stage.now(), ("node",))
        assert proof.proven is self.a_node_is_a_remark
        assert bool(proof.remarks) is self.a_node_is_a_remark

    def test_what_does_not_exist_is_at_zero(self, stage: Stage) -> None:
        assert stage.capacity.zero(stage.capacity.see(stage.absent), stage.now(), ()).proven

    def test_an_order_alone_speaks_against_zero(self, stage: Stage) -> None:
        order(stage, 1)
        assert not stage.capacity.zero(stage.capacity.see(stage.pool), stage.now(), ()).proven

    def test_a_stray_speaks_against_zero(self, stage: Stage) -> None:
        stray = stage.stray()
        seen = stage.capacity.see(stage.pool)
        proof = stage.capacity.zero(seen, stage.now(), ())
        assert (proof.proven, proof.instances) == (False, (stray,))

    def test_each_instance_and_each_member_speaks_against_zero_until_it_is_gone(self, stage: Stage) -> None:
        opened(stage)
        order(stage, 0)
        while True:
            seen = stage.capacity.see(stage.pool, NOW)
            proof = stage.capacity.zero(seen, stage.now(), ())
            assert proof.proven is (not seen.existing and not seen.members and seen.size == seen.ordered == 0)
            if proof.proven:
                break
            stage.settle()

    def test_as_many_as_leases_justify_may_stay(self, stage: Stage) -> None:
        seen = opened(stage)
        assert stage.capacity.zero(seen, stage.now(), ("a", "b"), justified=2).proven
        assert not stage.capacity.zero(seen, stage.now(), ("a", "b"), justified=1).proven


def order(stage: Stage, size: int) -> str | None:
    """Order a size as the application does: what is there is seen first."""
    return stage.capacity.order(stage.pool, size, stage.capacity.see(stage.pool, SIZES))


def opened(stage: Stage) -> Seen:
    """The pool with two running nodes."""
    order(stage, 2)
    stage.settle()
    seen = stage.capacity.see(stage.pool)
    assert len(seen.alive) == 2
    return seen


def off_switch(stage: Stage, first: datetime) -> tuple[TimedCall, ...]:
    return stage.capacity.off_switch(stage.pool, first, stage.capacity.see(stage.pool, SIZES))


def troubles_of(stage: Stage, wait: Callable[[], None]) -> Shortage | None:
    """What is told of an order of two nodes, of which none came, after this wait."""
    since = stage.now()
    update = order(stage, 2)
    wait()
    seen = stage.capacity.see(stage.pool)
    awaited = Awaited(wanted=2, have=len(seen.alive), since=since, now=stage.now(), order=update)
    return stage.capacity.troubles(stage.pool, awaited, seen)
