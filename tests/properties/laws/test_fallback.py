"""A lease moves to the fallback pool: once and whole, never on both pools at once, whatever fails on the way."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease, LeaseState
from tests.lengths import SEED
from tests.world.aws.functions import Trouble
from tests.world.chat import SLACK, STUDENTS, TEACHER, written
from tests.world.history import Play, Step, history, play
from tests.world.labs import FIRST_SWEEP
from tests.world.world import World

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
OPENS, HOUR, MINUTE = NOON + timedelta(hours=1), timedelta(hours=1), timedelta(minutes=1)
POOL = {"instance_type": "g4dn.xlarge", "max_nodes": 2, "price_per_hour": "1"}
LAB: dict[str, Any] = {
    "name": "gpu-lab",
    "time_zone": "Etc/UTC",
    "pools": {"gpu": {**POOL, "fallback": "other"}, "other": {**POOL, "price_per_hour": "2"}},
    "windows": [
        {
            "name": "evening",
            "pool": "gpu",
            "dates": [NOON.date().isoformat()],
            "start": "13:00",
            "end": "15:00",
        }
    ],
    "guard": {"budget": {"amount": "30", "period": "day"}},
}


@contextmanager
def short(*pools: str, **keys: Any) -> Iterator[tuple[World, Play]]:
    """The lab at noon, judged, while AWS has no machine for these pools."""
    world = World({**LAB, **keys}, NOON)
    played = Play(world, 0)
    with world:
        world.event_queue.every(120.0, played.laws.look, 60.0)
        world.run(FIRST_SWEEP)
        world.machines.troubles.empty = frozenset(pools)
        played.laws.troubled.append((NOON, None))
        yield world, played


def until(world: World, at: datetime) -> None:
    world.run(at - world.now)


def leases(pool: str) -> list[Lease]:
    return Ledger("gpu-lab-ledger").leases(pool)


def trail(pool: str) -> list[Entry]:
    return Ledger("gpu-lab-ledger").audit(pool, NOON)


def broken(played: Play) -> list[str]:
    played.settle()
    return played.laws.finish()


def test_a_lease_moves_within_minutes_and_both_leave_a_receipt() -> None:
    with short("gpu") as (world, played):
        until(world, OPENS + 4 * MINUTE)
        [left], [taken] = leases("gpu"), leases("other")
        until(world, OPENS + HOUR)

        assert left.state is LeaseState.CLOSED
        assert (left.moved_to and left.moved_to.lease, taken.moved_from and taken.moved_from.lease) == (
            taken.id,
            left.id,
        )
        assert (taken.nodes, taken.owner, taken.window, taken.closes) == (
            left.nodes,
            left.owner,
            "evening",
            OPENS + 2 * HOUR,
        )
        assert len(world.machines.of_pool("other")) == taken.nodes
        assert broken(played) == []
        [receipt], [later] = played.truth.receipts("gpu"), played.truth.receipts("other")

    assert (receipt["moved_to"], later["moved_from"]) == (
        {"pool": "other", "lease": taken.id},
        {"pool": "gpu", "lease": left.id},
    )
    assert Decimal(receipt["cost"]["amount"]) == 0
    assert [text for _, _, text in world.said if "it moved to pool other" in text]
    assert [text for _, _, text in world.said if "The lease moved here because pool gpu" in text]


def test_a_pool_that_gives_one_of_two_nodes_keeps_its_lease() -> None:
    with short() as (world, played):
        world.machines.troubles.capacity = 1
        until(world, OPENS + HOUR)

        assert [lease.moved_to for lease in leases("gpu")] == [None]
        assert leases("other") == []
        world.machines.troubles.capacity = None
        assert broken(played) == []


def test_a_window_on_the_fallback_pool_keeps_its_nodes_and_the_refusal_is_said() -> None:
    later = {**LAB["windows"][0], "name": "later", "pool": "other", "start": "14:00"}
    with short("gpu", windows=[*LAB["windows"], later]) as (world, played):
        until(world, OPENS + 30 * MINUTE)
        assert [lease.moved_to for lease in leases("gpu")] == [None]
        assert [text for _, _, text in world.said if "Fallback pool other does not take the lease" in text]
        until(world, OPENS + 90 * MINUTE)
        assert [lease.in_force(world.now) for lease in leases("other")] == [True]
        assert broken(played) == []
        assert [
            text for _, _, text in world.said if "The other pools: fallback pool other does not take" in text
        ]


def test_a_budget_without_the_money_for_the_fallback_pool_keeps_the_lease() -> None:
    # Two nodes for two hours are 4 on pool gpu, and nearly 8 on pool other.
    with short("gpu", guard={"budget": {"amount": "6", "period": "day"}}) as (world, played):
        until(world, OPENS + 30 * MINUTE)
        assert [lease.moved_to for lease in leases("gpu")] == [None]
        assert [text for _, _, text in world.said if "does not take the lease" in text]
        assert broken(played) == []


def test_a_lease_goes_down_the_chain_and_the_last_pool_tells_of_all() -> None:
    third = {**LAB["pools"], "other": {**LAB["pools"]["other"], "fallback": "third"}, "third": POOL}
    with short("gpu", "other", "third", pools=third) as (world, played):
        until(world, OPENS + 90 * MINUTE)
        [first], [second], [last] = leases("gpu"), leases("other"), leases("third")
        assert (first.state, second.state, last.in_force(world.now)) == (
            LeaseState.CLOSED,
            LeaseState.CLOSED,
            True,
        )
        assert broken(played) == []

    [told] = [text for _, _, text in world.said if "closes with 0 of 2 nodes" in text]
    assert "The lease moved here from pool gpu and other, which had no capacity" in told


@pytest.mark.parametrize("kind", ["die", "lost"])
@pytest.mark.parametrize("call", [1, 10, 24, 33, 34, 37, 38, 39])
def test_a_move_that_fails_at_any_call_is_finished_and_happens_once(call: int, kind: str) -> None:
    with short("gpu") as (world, played):
        failed: list[str] = []

        def troubles(_function: str, step: str) -> tuple[Trouble, ...]:
            if step != "FallBack" or failed:
                return ()
            failed.append(step)
            return (Trouble(call, kind, 45.0),)

        world.functions.troubles = troubles
        until(world, OPENS + HOUR)

        assert failed
        assert [lease.state for lease in leases("gpu")] == [LeaseState.CLOSED]
        assert [lease.in_force(world.now) for lease in leases("other")] == [True]
        assert len(world.machines.of_pool("other")) == LAB["pools"]["other"]["max_nodes"]
        assert broken(played) == []


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", range(4))
def test_no_history_of_shortages_breaks_a_law(number: int) -> None:
    chance = random.Random(f"{SEED} fallback {number}")
    told = history(chance)
    shortages = [Step("empty", "gpu", number=chance.randint(0, 3), minutes=15) for _ in range(2)]
    steps = (Step("open", "gpu", number=2, minutes=60), *shortages, *told.steps)
    assert play(replace(told, steps=steps, variant="fallback")) == []


ASKS = {"gpu": {**LAB["pools"]["gpu"], "fallback_ask": True}, "other": LAB["pools"]["other"]}


def test_a_lab_that_asks_moves_its_lease_once_when_somebody_presses_who_may_extend_it() -> None:
    with short("gpu", pools=ASKS, slack=SLACK) as (world, played):
        until(world, OPENS + 20 * MINUTE)
        [left] = leases("gpu")
        assert left.moved_to is None
        [offered] = [entry for entry in trail("gpu") if entry.details.get("move")]
        assert (offered.details["move"], offered.lease) == ("other", left.id)
        assert [text for _, _, text in world.said if "the lease can move to pool other" in text]

        played.chat.presses(STUDENTS[0], "move", p="other", l=left.id)
        assert "Not allowed" in played.chat.said[-1]
        world.run(10 * MINUTE)
        assert [leases("gpu")[0].moved_to, leases("other")] == [None, []]

        # It may try for its nodes at this moment: then it waits until it has none.
        for _ in range(2):
            played.chat.presses(TEACHER, "move", p="other", l=left.id)
        world.run(15 * MINUTE)
        [taken] = leases("other")
        assert (taken.owner, taken.by, taken.in_force(world.now)) == (left.owner, written(TEACHER), True)
        played.chat.presses(TEACHER, "move", p="other", l=left.id)
        assert "so it moved to pool other" in played.chat.said[-1]
        assert broken(played) == []


def test_a_button_for_a_pool_that_is_no_fallback_moves_nothing() -> None:
    with short("gpu", pools={**ASKS, "third": POOL}, slack=SLACK) as (world, played):
        until(world, OPENS + 20 * MINUTE)
        played.chat.presses(TEACHER, "move", p="third", l=leases("gpu")[0].id)
        assert "no fallback of pool gpu" in played.chat.said[-1]
        world.run(10 * MINUTE)
        assert leases("third") == []


def test_a_lease_that_got_its_nodes_stays_whoever_presses() -> None:
    with short("gpu", pools=ASKS, slack=SLACK) as (world, played):
        until(world, OPENS + 20 * MINUTE)
        world.machines.troubles.empty = frozenset()
        until(world, OPENS + 40 * MINUTE)
        played.chat.presses(TEACHER, "move", p="other", l=leases("gpu")[0].id)
        world.run(10 * MINUTE)

        assert [leases("gpu")[0].moved_to, leases("other")] == [None, []]
        assert broken(played) == []


TEACHERS = {"members": [TEACHER], "may": ["open", "extend"]}


def test_an_extension_while_a_move_waits_is_kept_by_the_lease_that_moves() -> None:
    wide = {"budget": {"amount": "100", "period": "day"}, "longest_lease": "8h"}
    slack = {"roles": {"teachers": {**TEACHERS, "max_nodes": 4, "longest": "8h"}}}
    with short("gpu", pools=ASKS, slack=slack, guard=wide) as (world, played):
        until(world, OPENS + 20 * MINUTE)
        while not leases("gpu")[0].wanted:
            world.run(timedelta(seconds=5))
        [left] = leases("gpu")
        played.chat.presses(TEACHER, "move", p="other", l=left.id)
        world.run(timedelta(seconds=20))
        played.chat.types(TEACHER, f"extend {left.id} 1h")
        world.run(15 * MINUTE)

        [taken] = leases("other")
        assert taken.closes == left.closes + HOUR
        assert broken(played) == []


def test_a_button_opens_no_pool_that_a_role_excludes() -> None:
    slack = {"roles": {"teachers": {**TEACHERS, "pools": ["gpu"], "max_nodes": 2, "longest": "2h"}}}
    with short("gpu", pools=ASKS, slack=slack) as (world, played):
        until(world, OPENS + 20 * MINUTE)
        played.chat.presses(TEACHER, "move", p="other", l=leases("gpu")[0].id)
        assert "Not allowed" in played.chat.said[-1]
        world.run(15 * MINUTE)
        assert leases("other") == []
