"""Attacks by people, and harm by autoscalers: each one broke a law that no random history had broken."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest

from lamplighter.adapters.aws.ledger.items import decoded
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.application.leases import granting as leases_granting
from lamplighter.domain.schedules.schedule import start_name
from lamplighter.domain.slack.asked.request import Press
from tests.builders.leases import usd
from tests.drawn import sentence
from tests.world.chat import TEACHER, written
from tests.world.history import Play
from tests.world.kubernetes.kubernetes import QUICK_RUNS
from tests.world.labs import FIRST_SWEEP, LAB, START
from tests.world.people import ask
from tests.world.world import World

SAME_LEASE = {"alice": "a22158", "bob": "b116397"}
"""Tokens with which two commands make a lease of the same id: a search through 32 bits is quick."""


TAIL = usd("0.15")
"""What two nodes cost while a lease of theirs closes."""


@contextmanager
def lab(**more: Any) -> Iterator[Play]:
    with World({**LAB, "windows": [], **more}, START, 1) as world:
        world.run(FIRST_SWEEP)
        yield Play(world, 1)


def alive(world: World) -> int:
    return sum(machine.alive for machine in world.machines.of_pool("gpu"))


def decided(world: World, command: str | None) -> Any:
    return world.dynamodb.items["POOL#gpu", f"COMMAND#{command}"]


def test_what_is_raised_again_and_again_is_lowered_as_soon_each_time() -> None:
    with lab() as played:
        world = played.world
        ask(world, "alice", {"verb": "open", "pool": "gpu", "token": "x", "nodes": 1, "for_seconds": 9000})
        world.run(timedelta(minutes=12))
        for _ in range(5):
            world.supply.resize("gpu", 2)
            begun = world.now
            while world.supply.size("gpu") > 1 and world.now - begun < timedelta(minutes=15):
                world.run(timedelta(minutes=1))
            assert world.now - begun <= timedelta(minutes=8)
            world.run(timedelta(minutes=2))
        assert alive(world) == 1


def test_nobody_gets_anothers_lease_by_its_id() -> None:
    with lab() as played:
        world = played.world
        world.kubernetes.check_runs = QUICK_RUNS
        opens = {"verb": "open", "pool": "gpu", "nodes": 1, "for_seconds": 3600, "add": True}
        ask(world, "alice", {**opens, "token": SAME_LEASE["alice"]})
        world.run(timedelta(minutes=12))
        command = ask(world, "bob", {**opens, "token": SAME_LEASE["bob"]})
        world.functions.deleted.add("cluster")
        world.run(timedelta(minutes=30))
        assert decided(world, command)["outcome"]["S"] == "refused"
        [lease] = played.truth.known("gpu").values()
        assert (lease.owner, lease.state) == ("alice", "open")


def test_the_windows_over_what_is_too_long_are_not_worked_out() -> None:
    seen: list[int] = []
    works_out = leases_granting._promised

    def counted(*given: Any) -> Any:
        found = works_out(*given)
        seen.append(len(found))
        return found

    with lab(windows=LAB["windows"]) as played, patch.object(leases_granting, "_promised", counted):
        opens = (played.world.now + timedelta(minutes=30)).isoformat(timespec="seconds")
        body = {"verb": "open", "pool": "gpu", "token": "x", "opens": opens, "closes": "2056-12-31T00:00:00Z"}
        command = ask(played.world, "alice", body)
        played.world.run(timedelta(minutes=1))
        assert "no lease lasts longer" in sentence(decoded(decided(played.world, command)["reason"]))
        assert max(seen) < 10


def test_another_name_in_slack_is_no_other_purse() -> None:
    budget = {"amount": "30", "period": "day", "owners": {written(TEACHER): "2"}}
    with lab(guard={**LAB["guard"], "budget": budget}) as played:
        for name in ("utom", "tommy"):
            asked = {"p": "gpu", "n": 1, "s": 3600}
            played.chat._heard(Press("T1", TEACHER, name, "C1", "add", json.dumps(asked), None))
            played.world.run(timedelta(minutes=3))
        hers = [lease for lease in played.truth.known("gpu").values() if lease.granted]
        assert sum(float(lease.hold) for lease in hers) == 1.5


def test_short_leases_granted_ahead_do_not_spend_the_money_of_the_day_in_their_closes() -> None:
    """Nobody holds the minutes in which a pool closes; leases of five minutes cost half as much again."""
    budget = {"amount": "2.5", "period": "day"}
    with lab(guard={**LAB["guard"], "budget": budget}) as played:
        world = played.world
        for number in range(10):
            opens = (world.now + timedelta(minutes=10 + 12 * number)).isoformat(timespec="seconds")
            body = {
                "verb": "open",
                "pool": "gpu",
                "nodes": 2,
                "for_seconds": 300,
                "opens": opens,
                "add": True,
            }
            ask(world, "alice", {**body, "token": f"short-{number}"})
        world.run(timedelta(hours=3))
        leases = list(played.truth.known("gpu").values())
        spent = Ledger(f"{world.lab.name}-ledger").budget("2026-11-20", "USD").spent
        assert {lease.state for lease in leases} == {"closed", "refused"}
        assert usd("2.25") <= spent <= usd("2.5") + TAIL
        said = next(text for _, _, text in world.said if "A lease on pool gpu was refused" in text)
        assert "more than is left of the 2.50 USD for the day" in said


def test_a_pool_is_not_taken_away_from_a_lease_for_later() -> None:
    with lab() as played:
        world = played.world
        opens = (world.now + timedelta(hours=3)).isoformat(timespec="seconds")
        body = {"verb": "open", "pool": "big", "token": "x", "nodes": 1, "for_seconds": 3600, "opens": opens}
        ask(world, "alice", body)
        world.run(timedelta(minutes=5))
        without, before = {"Pools": "gpu"}, {"Pools": "big,gpu"}
        assert world.cloudformation.ask("Update", "Pools", "pools", without, before) is None
        assert "would remove pool big, and alice's lease" in world.cloudformation.reason


@pytest.mark.parametrize(("most", "refused"), [(1, True), (2, False)])
def test_no_nodes_are_taken_away_from_a_pool_whose_leases_have_them(most: int, *, refused: bool) -> None:
    """An adopted node group has no deploy gate."""
    with lab() as played:
        world = played.world
        opens = (world.now + timedelta(hours=3)).isoformat(timespec="seconds")
        body = {"verb": "open", "pool": "gpu", "token": "x", "nodes": 2, "for_seconds": 3600, "opens": opens}
        ask(world, "alice", body)
        world.run(timedelta(minutes=5))
        lower = {"Pools": "big,gpu", "Most": f"big=1,gpu={most}"}
        before = {"Pools": "big,gpu", "Most": "big=1,gpu=3"}
        assert (world.cloudformation.ask("Update", "Pools", "pools", lower, before) is None) == refused
        if refused:
            assert "would leave pool gpu 1 node, and its leases have 2" in world.cloudformation.reason


def test_a_long_name_is_closed_by_the_guard_on_every_day() -> None:
    """Long names of pool and window left no room for the date: for 90 days every run had the same name."""
    window, pool = "w" * 40, "p" * 40
    names = {start_name(f"guard-{pool}-{window}-2026-11-{day}-202611{day}T1700Z") for day in (20, 21)}
    assert len(names) == 2
    assert {len(name) for name in names} == {80}
