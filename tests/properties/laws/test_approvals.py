"""Approvals: the decision covers what is granted, at the moment of the approval, for the person who approves."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from tests.world.chat import SLACK, TEACHER, written
from tests.world.history import Play, Step
from tests.world.labs import FIRST_SWEEP, LAB, START
from tests.world.world import World

ADMIN = "UADM"
WITH_ADMIN = {"roles": {**SLACK["roles"], "admins": {"members": [ADMIN], "may": ["open", "extend"]}}}


@contextmanager
def lab(**more: Any) -> Iterator[Play]:
    with World({**LAB, "windows": [], **more}, START, 1) as world:
        world.run(FIRST_SWEEP)
        yield Play(world, 1)


def minutes(played: Play, number: int) -> None:
    played.world.run(timedelta(minutes=number))


def leases(played: Play) -> dict[str, tuple[int, str, str]]:
    """The granted leases of pool gpu: nodes, owner, and who asked."""
    known = played.truth.known("gpu").items()
    return {name: (v.nodes, v.owner, v.asked_by) for name, v in known if v.granted}


def asked(played: Play, who: str = "UALI", **value: object) -> str:
    played.chat.presses(who, "ask", p="gpu", v="add", **value)
    minutes(played, 1)
    return played.chat.asks[-1]


def test_a_yes_is_judged_by_what_is_had_when_it_is_said() -> None:
    with lab() as played:
        ask = asked(played, n=1, s=600)
        minutes(played, 20)
        played.chat.presses(TEACHER, "add", p="gpu", n=2, s=3600)
        minutes(played, 3)
        played.chat.presses(TEACHER, "approve", a=ask)
        minutes(played, 3)
        assert [nodes for nodes, _, _ in leases(played).values()] == [2]


def test_what_was_approved_is_not_judged_again() -> None:
    with lab() as played:
        ask = asked(played, n=2, s=3600)
        for _ in range(2):
            played.chat.presses(TEACHER, "approve", a=ask)
            minutes(played, 3)
        assert "Approved by utom" in played.chat.said[-1]
        assert [nodes for nodes, _, _ in leases(played).values()] == [2]


def test_whoever_has_used_up_their_role_may_still_say_no() -> None:
    with lab() as played:
        ask = asked(played, n=1, s=3600)
        played.chat.presses(TEACHER, "add", p="gpu", n=2, s=3600)
        minutes(played, 3)
        played.chat.presses("UBEA", "decline", a=ask)
        played.chat.presses(TEACHER, "decline", a=ask)
        played.chat.presses(TEACHER, "approve", a=ask)
        said = [each.partition(".")[0].partition(":")[0] for each in played.chat.said[-3:]]
        assert said == ["Not allowed", "Declined", "Not allowed"]


def noted(played: Play, ask: str) -> None:
    """The teacher approves, and then nothing more happens."""
    ledger = Ledger(f"{played.world.lab.name}-ledger")
    found = ledger.ask(ask)
    assert found is not None
    ledger.settle_ask(found, "approved", written(TEACHER), "a press that died")


def test_a_yes_that_was_not_given_is_given_by_whoever_says_yes_next() -> None:
    with lab(slack=WITH_ADMIN) as played:
        ask = asked(played, n=1, s=3600)
        noted(played, ask)
        played.chat.presses(TEACHER, "add", p="gpu", n=2, s=3600)
        minutes(played, 2)
        played.chat.presses(ADMIN, "approve", a=ask)
        minutes(played, 2)
        assert (1, written("UALI"), written(ADMIN)) in leases(played).values()


def test_a_no_gives_nothing_whatever_was_noted_before() -> None:
    with lab() as played:
        ask = asked(played, n=1, s=3600)
        noted(played, ask)
        played.chat.presses(TEACHER, "decline", a=ask)
        minutes(played, 4)
        assert leases(played) == {}


def test_what_was_asked_for_a_time_that_is_over_is_not_given_for_another() -> None:
    with lab() as played:
        ask = asked(played, n=1, o=int(datetime(2026, 11, 20, 18, tzinfo=UTC).timestamp()), s=1800)
        minutes(played, 120)
        played.chat.presses(TEACHER, "approve", a=ask)
        minutes(played, 5)
        assert leases(played) == {}


def test_an_extension_ends_when_it_was_said_to_end() -> None:
    with lab() as played:
        played.chat.presses(TEACHER, "approve", a=asked(played, n=1, s=1800))
        minutes(played, 5)
        (lease,) = leases(played)
        closes = played.truth.known("gpu")[lease].closes
        played.chat.presses("UBEA", "ask", p="gpu", v="extend", l=lease, s=1800)
        minutes(played, 1)
        played.chat.presses(TEACHER, "extend", l=lease, s=1200)
        minutes(played, 3)
        played.chat.presses(TEACHER, "approve", a=played.chat.asks[-1])
        minutes(played, 3)
        assert played.truth.known("gpu")[lease].closes - closes == timedelta(minutes=30)


@pytest.mark.parametrize("minutes_past_midnight", [3, 29])
def test_the_last_minutes_of_a_day_are_counted_in_their_currency(minutes_past_midnight: int) -> None:
    late = datetime(2026, 11, 20, 22, 30, tzinfo=UTC)
    watched = {**LAB["guard"], "mode": "watch"}
    with World({**LAB, "windows": [], "guard": watched}, late, 1) as world:
        world.run(FIRST_SWEEP)
        world.supply.resize("gpu", 2)
        world.run(datetime(2026, 11, 21, 0, minutes_past_midnight, tzinfo=UTC) - world.now)
        assert not world.cloudformation.changes_currency("USD", "EUR")
        assert (
            "the last minutes of the day 2026-11-20 are still counted in USD" in world.cloudformation.reason
        )


def test_what_ran_without_a_lease_is_on_a_receipt_before_the_currency_changes() -> None:
    watched = {**LAB["guard"], "mode": "watch"}
    with World({**LAB, "windows": [], "guard": watched}, START, 1) as world:
        world.run(FIRST_SWEEP)
        for size in (1, 0):
            world.supply.resize("gpu", size)
            world.run(timedelta(hours=1))
        world.run(datetime(2026, 11, 21, 10, tzinfo=UTC) - world.now)
        assert not world.cloudformation.changes_currency("USD", "EUR")
        assert "which is on no receipt yet" in world.cloudformation.reason


def test_a_lease_without_nodes_and_without_money_says_so_and_asks_again() -> None:
    guard = {**LAB["guard"], "budget": {"amount": "3", "period": "day"}}
    with lab(guard=guard) as played:
        world = played.world
        world.machines.troubles.capacity = 0
        played._ask("alice", "open", Step("open"), nodes=1, for_seconds=7200)
        minutes(played, 6)
        world.machines.troubles.capacity = None
        played._ask("bob", "open", Step("open", "big"), nodes=1, for_seconds=2600)
        minutes(played, 10)
        said = [text for _, _, text in world.said]
        assert not [text for text in said if "0 of 0" in text]
        played._ask("boss", "close", Step("open", "big"))
        minutes(played, 20)
        assert [nodes for nodes, _, _ in leases(played).values()] == [1]
        assert len([machine for machine in world.machines.of_pool("gpu") if machine.alive]) == 1
