"""A lease that waits for capacity for days: each run hands it on before its history is full, and nothing is lost."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.granting.handing_on import MOST_EVENTS, is_long, next_run
from lamplighter.domain.leases.lease import Lease, LeaseState
from local.aws.stepfunctions.limits import Limits
from tests.world.aws.functions import Trouble
from tests.world.aws.workflows import Execution
from tests.world.judge.laws import Laws
from tests.world.judge.truth import Truth
from tests.world.world import World

BEGINS = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
Troubles = Callable[[str, str], tuple[Trouble, ...]]
FULL = Limits().history_events
TRIES = 6
"""Of a step that fails, as workflow_steps.py has it."""
LAB: dict[str, Any] = {
    "name": "gpu-lab",
    "time_zone": "Etc/UTC",
    "pools": {"gpu": {"instance_type": "g4dn.xlarge", "max_nodes": 2, "price_per_hour": "1"}},
    "guard": {
        "longest_lease": "72h",
        "idle_after": "off",
        "budget": {"amount": "1000", "currency": "USD", "period": "month"},
    },
}


class Waiting:
    """Two nodes are asked for, of which none comes for want of capacity; alone is the lease `cli-1`."""

    def __init__(self, world: World, hours: int) -> None:
        self.world = world
        self.laws = Laws(world, Truth(world))
        world.machines.troubles.capacity = 0
        world.machines.changed.append(lambda machine: setattr(machine, "gpus_after", 10.0))
        world.give("open", {**ASKED, "for_seconds": hours * 3600})

    def goes_on(self, **time: float) -> "Waiting":
        self.world.run(timedelta(**time))
        return self

    @property
    def ledger(self) -> Ledger:
        return Ledger("gpu-lab-ledger")

    @property
    def lease(self) -> Lease:
        (found,) = self.ledger.leases("gpu")
        return found

    @property
    def runs(self) -> list[Execution]:
        """Every run of OpenLab, in the order in which they began."""
        return [each for each in self.world.workflows.executions.values() if each.name.startswith("open-1")]

    @property
    def carried_on(self) -> bool:
        """One run has ended, and its lease is with the other one."""
        first, second = self.runs
        return (first.status, second.status, self.lease.run) == ("SUCCEEDED", "RUNNING", second.name)

    def until_handed_on(self) -> "Waiting":
        while len(self.runs) == 1:
            self.goes_on(minutes=1)
            assert self.world.now < BEGINS + timedelta(hours=4), self.runs
        return self.goes_on(minutes=1)

    def kinds(self, kind: str) -> list[str]:
        return [str(entry.what) for entry in self.ledger.audit("gpu", BEGINS) if entry.kind == kind]


ASKED = {
    "id": "open-1",
    "verb": "open",
    "pool": "gpu",
    "nodes": 2,
    "owner": "alice",
    "by": "alice",
    "source": "cli",
    "issued": "2026-11-20T20:00:00Z",
    "expires": "2026-11-21T20:00:00Z",
}


def long(*rows: tuple[int, str]) -> list[Any]:
    """Rows beside which a short one shows almost the same."""
    return [pytest.param(*row, marks=pytest.mark.long) for row in rows]


@pytest.mark.long
def test_days_without_capacity_pass_that_one_history_would_not_hold() -> None:
    with World(LAB, BEGINS) as world:
        waiting = Waiting(world, hours=72).goes_on(hours=36)

        assert sum(run.events for run in waiting.runs) > FULL, "one run would have come to its end"
        assert max(run.events for run in waiting.runs) < MOST_EVENTS * 2
        assert [run.status for run in waiting.runs] == ["SUCCEEDED"] * (len(waiting.runs) - 1) + ["RUNNING"]
        assert waiting.lease.state is LeaseState.OPENING
        assert len(waiting.kinds("announced")) == 1, "what is not new is not said again"
        assert waiting.kinds("breach") == []


def test_the_nodes_that_come_at_last_are_opened_by_the_run_that_carries_the_lease_on() -> None:
    with World(LAB, BEGINS) as world:
        waiting = Waiting(world, hours=10).until_handed_on()
        world.machines.troubles.capacity = None
        waiting.goes_on(minutes=30)

        assert waiting.lease.state is LeaseState.OPEN
        assert [(run.status, run.steps[-1]) for run in waiting.runs] == [
            ("SUCCEEDED", "HandedOn"),
            ("SUCCEEDED", "Done"),
        ]


def test_the_run_that_carries_a_lease_on_is_the_one_that_the_guard_looks_at() -> None:
    with World(LAB, BEGINS) as world:
        waiting = Waiting(world, hours=10).until_handed_on()
        first, second = waiting.runs
        assert (first.status, first.steps[-1]) == ("SUCCEEDED", "HandedOn")
        assert waiting.lease.run == second.name == "open-1.run2"
        assert len(waiting.kinds("lease-granted")) == 1

        # Somebody stops it: nobody else carries the lease on.
        world.workflows.stop(second)
        waiting.goes_on(minutes=30)

        assert len(waiting.kinds("breach")) >= 1
        assert waiting.lease.state is LeaseState.CLOSED


@pytest.mark.parametrize(
    ("at", "kind"), [(2, "twice"), (4, "die"), *long((2, "die"), (2, "lost"), (3, "die"), (4, "lost"))]
)
def test_at_whatever_call_a_hand_over_breaks_one_run_carries_the_lease_on(at: int, kind: str) -> None:
    with World(LAB, BEGINS) as world:
        waiting = Waiting(world, hours=10)
        world.functions.troubles = once("HandOn", at, kind, lambda: is_long(waiting.runs[0].events))
        waiting.until_handed_on().goes_on(minutes=20)

        assert waiting.carried_on, (at, kind)
        assert (waiting.lease.state, waiting.kinds("breach")) == (LeaseState.OPENING, [])


@pytest.mark.parametrize(
    ("at", "kind"),
    [
        *[(1, "fail"), (2, "lost"), (3, "die")],
        *long(*((at, "die") for at in (1, 2, 4, 5)), *((at, "fail") for at in (2, 3, 4, 5))),
        *long(*((at, "lost") for at in (1, 3, 4, 5))),
    ],
)
def test_where_every_try_of_a_hand_over_breaks_one_run_carries_the_lease_on(at: int, kind: str) -> None:
    with World(LAB, BEGINS) as world:
        waiting = Waiting(world, hours=10)
        world.functions.troubles = every_try("HandOn", at, kind, lambda: is_long(waiting.runs[0].events))
        while not is_long(waiting.runs[0].events):
            waiting.goes_on(minutes=1)
        # All tries of one HandOn, and the beginning of the round after it.
        waiting.goes_on(minutes=6)

        assert [run.name for run in waiting.runs if run.status == "RUNNING"] == [waiting.lease.run]
        world.functions.troubles = lambda _function, _step: ()
        waiting.goes_on(minutes=20)

        assert waiting.carried_on, (at, kind)
        assert (waiting.lease.state, waiting.kinds("breach")) == (LeaseState.OPENING, [])


def test_a_run_that_the_last_try_of_a_hand_over_started_is_seen_though_it_has_just_begun() -> None:
    """DescribeExecution is eventually consistent (AWS, API reference of Step Functions)."""
    with World(LAB, BEGINS) as world:
        waiting = Waiting(world, hours=10)
        left = [Trouble(1, "fail")] * (TRIES - 1) + [Trouble(3, "die")]

        def troubles(_function: str, step: str) -> tuple[Trouble, ...]:
            comes = step == "HandOn" and is_long(waiting.runs[0].events)
            return (left.pop(0),) if comes and left else ()

        world.functions.troubles = troubles
        waiting.until_handed_on()

        assert not left
        assert waiting.carried_on


def test_where_step_functions_says_nothing_of_runs_for_a_while_no_lease_is_closed_for_that() -> None:
    with World(LAB, BEGINS) as world:
        waiting = Waiting(world, hours=10)
        world.machines.troubles.capacity = 1
        waiting.goes_on(minutes=20)
        assert waiting.lease.state is LeaseState.OPEN

        # The first call of HandOn, and of the round after a HandOn that failed.
        world.functions.troubles = nothing_said("HandOn", "ArmFailsafe")
        waiting.goes_on(minutes=8)

        assert waiting.lease.state is LeaseState.OPEN, waiting.kinds("closing")
        assert [run.status for run in waiting.runs] == ["RUNNING"]


def test_two_runs_that_do_not_know_of_each_other_are_one_again_after_the_next_hand_over() -> None:
    with World(LAB, BEGINS) as world:
        waiting = Waiting(world, hours=10)
        world.machines.troubles.capacity = 1
        broken = every_try("HandOn", 3, "die", lambda: is_long(waiting.runs[0].events))
        nobody_knows = nothing_said("ArmFailsafe")

        def only_the_first_arms() -> bool:
            return [run.steps[-1] == "ArmFailsafe" for run in waiting.runs] == [True, False]

        world.functions.troubles = lambda function, step: (
            broken(function, step) or (nobody_knows(function, step) if only_the_first_arms() else ())
        )
        while len(waiting.runs) == 1:
            waiting.goes_on(minutes=1)
        waiting.goes_on(minutes=3)
        assert [run.status for run in waiting.runs] == ["RUNNING", "RUNNING"]

        world.functions.troubles = lambda _function, _step: ()
        waiting.goes_on(minutes=20)

        assert waiting.carried_on
        assert (waiting.lease.state, waiting.kinds("breach")) == (LeaseState.OPEN, [])
        # First that AWS refuses a node, then the opening.
        assert ["is open" in what for what in waiting.kinds("announced")] == [False, True]


def test_a_lease_that_ends_while_it_is_handed_on_says_nothing_twice_and_opens_nothing() -> None:
    """Until then it has no node, and so it is not idle either."""
    with World({**LAB, "guard": {**LAB["guard"], "idle_after": "30m"}}, BEGINS) as world:
        waiting = Waiting(world, hours=10).until_handed_on()
        assert (waiting.lease.state, waiting.kinds("breach")) == (LeaseState.OPENING, [])
        assert world.now > BEGINS + timedelta(minutes=45)
        world.give("close", {**ASKED, "id": "close-1", "verb": "close", "lease": waiting.lease.id})
        waiting.goes_on(minutes=30)

        assert waiting.lease.state is LeaseState.CLOSED
        assert {run.status for run in waiting.runs} == {"SUCCEEDED"}
        assert waiting.kinds("refused") == []


@pytest.mark.parametrize(
    ("name", "following"),
    [
        ("open-1", "open-1.run2"),
        ("open-1.run2", "open-1.run3"),
        ("open-1.run9", "open-1.run10"),
        ("a.run", "a.run.run2"),
    ],
)
def test_the_next_run_is_named_by_the_one_before(name: str, following: str) -> None:
    assert next_run(name) == following


def test_a_long_name_stays_one_that_step_functions_takes_and_no_two_are_alike() -> None:
    names = ["x" * 80]
    for _ in range(20):
        names.append(next_run(names[-1]))

    assert len(set(names)) == len(names)
    assert {len(name) for name in names} == {80}


def once(step: str, at: int, kind: str, only_when: Callable[[], bool]) -> Troubles:
    """One trouble in the first run of a step for which that holds."""
    left = [Trouble(at, kind)]
    return lambda _function, made: (left.pop(),) if made == step and left and only_when() else ()


def nothing_said(*steps: str) -> Troubles:
    """The first call of these steps fails, however often they are tried."""
    return lambda _function, step: (Trouble(1, "fail"),) if step in steps else ()


def every_try(step: str, at: int, kind: str, only_when: Callable[[], bool]) -> Troubles:
    """A trouble in each try of a step while that holds."""
    return lambda _function, made: (Trouble(at, kind),) if made == step and only_when() else ()
