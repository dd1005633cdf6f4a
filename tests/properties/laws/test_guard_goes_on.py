"""A failure in one pool or rule is reported, and the guard judges all the others."""

from datetime import timedelta
from decimal import Decimal

import pytest

from lamplighter.domain.guard import guard
from tests.world.experiments import command
from tests.world.labs import LAB, START
from tests.world.world import World

SWEPT = timedelta(minutes=6)


def leased(world: World, pool: str = "gpu") -> None:
    world.run(SWEPT)
    world.give("open", command(world, "open", pool=pool, nodes=1, for_seconds=3600))
    world.run(timedelta(minutes=12))


def by_hand(world: World, pool: str, size: int) -> None:
    world.supply.resize(pool, size)


def told(world: World) -> list[str]:
    """The errors of the sweeps from now on."""
    found: list[str] = []
    world.functions.seen = lambda made, outcome: found.append(outcome) if made.function == "guard" else None
    return found


def test_a_lease_in_another_currency_keeps_no_other_pool_from_being_guarded() -> None:
    with World({**LAB, "windows": []}, START, 1) as world:
        leased(world)
        assert world.swept
        outcomes = told(world)
        # An edit of the deployed file: a deploy would be refused.
        world.deploy({**world.document, "guard": {"budget": {"amount": Decimal(5), "currency": "EUR"}}})
        by_hand(world, "big", 1)
        since = world.now
        world.run(timedelta(minutes=15))
        assert not [machine for machine in world.machines.of_pool("big") if machine.alive]
        assert "OutsideFailed" in outcomes
        assert not [at for at in world.swept if at > since]
        assert world.functions.unnamed == []


def test_a_rule_that_fails_keeps_no_other_rule_from_judging(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_facts: object) -> None:
        raise ZeroDivisionError("a rule of ours is wrong")

    monkeypatch.setattr("lamplighter.application.guard.sweep.RULES", (broken, *guard.RULES))
    with World({**LAB, "windows": []}, START, 1) as world:
        world.run(SWEPT)
        outcomes = told(world)
        by_hand(world, "big", 1)
        world.run(timedelta(minutes=15))
        assert not [machine for machine in world.machines.of_pool("big") if machine.alive]
        assert "OutsideFailed" in outcomes


def test_a_planner_that_is_not_heard_of_keeps_the_sign_of_life_back() -> None:
    with World({**LAB, "windows": []}, START, 1) as world:
        world.sweeps_at_rest = True
        world.run(timedelta(hours=1))
        assert world.swept
        world.functions.deleted.add("planner")
        world.run(timedelta(hours=3, minutes=10))
        since = world.now
        world.run(timedelta(hours=1))
        assert not [at for at in world.swept if at > since]
        world.functions.deleted.clear()
        world.run(timedelta(hours=1, minutes=10))
        assert [at for at in world.swept if at > since]
