"""What one sweep knows of a pool: which nodes stay, what costs money, what proves that it is empty."""

from dataclasses import replace

import pytest

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.guard import judge
from lamplighter.domain.guard.nodes import strays, surplus
from lamplighter.reasons.reason import reason
from tests.builders.guard_facts import after, earlier, instance, lease, pool, seen
from tests.builders.leases import EIGHT, MINUTE, SECOND


def test_a_new_instance_has_two_minutes_to_be_listed_by_its_group() -> None:
    new = pool(strays=[instance("i-new", minutes=0)])

    assert judge(strays, after(new, 2 * MINUTE - SECOND)) == ()
    why = reason("guard.stray", instances=("i-new",), pool="gpu")
    assert judge(strays, after(new, 2 * MINUTE)) == (
        Breach(Rule.STRAY_INSTANCE, why, GuardAction.TERMINATE, target=0, instances=("i-new",)),
    )


def test_an_instance_of_which_its_controller_said_nothing_is_no_stray() -> None:
    facts = pool(strays=[instance("i-1", minutes=-60), instance("i-2", minutes=-60)])

    assert [stray.id for stray in seen(facts, unsure=frozenset({"i-1"})).strays] == ["i-2"]


def test_of_strays_the_youngest_end_since_the_oldest_may_be_a_leases() -> None:
    [oldest, middle, youngest] = (instance(f"i-{90 - age}", minutes=-age) for age in (60, 20, 10))
    [breach] = judge(strays, pool(lease(nodes=1), strays=[middle, oldest, youngest]))
    assert breach.instances == (youngest.id, middle.id)


@pytest.mark.parametrize("state", ["terminated", "shutting-down"])
def test_an_instance_that_is_ending_already_is_no_stray(state: str) -> None:
    ending = replace(instance("i-9"), state=state)
    assert pool(strays=[ending]).strays == ()


def test_without_a_group_nothing_stays_and_every_instance_is_a_stray() -> None:
    facts = seen(pool(running=["i-1"]), controller=None)
    assert facts.staying == 0
    assert [stray.id for stray in facts.strays] == ["i-1"]


@pytest.mark.parametrize(
    ("running", "desired", "staying"), [(["i-1", "i-2"], 1, 2), (["i-1"], 2, 2), (["i-1"], 1, 1), ([], 0, 0)]
)
def test_the_larger_of_order_and_what_runs_stays(running: list[str], desired: int, staying: int) -> None:
    facts = pool(running=running, desired=desired)
    assert facts.staying == staying
    assert facts.costly is (staying > 0)


def test_an_instance_costs_until_it_is_gone() -> None:
    def with_one(state: str) -> PoolFacts:
        return pool(strays=[replace(instance("i-9"), state=state)])

    assert with_one("shutting-down").costly
    assert not with_one("shutting-down").empty
    assert not with_one("terminated").costly
    assert with_one("terminated").empty


def test_a_pool_is_proven_empty_only_where_everything_that_was_asked_says_so() -> None:
    facts = pool()
    assert facts.seen.controller is not None

    assert facts.empty
    assert seen(facts, controller=None, exists=False).empty
    assert not seen(facts, ordered=1).empty
    assert not seen(facts, controller=replace(facts.seen.controller, size=1)).empty
    assert not replace(seen(pool(leaving=["i-1"], desired=0), instances=()), kubernetes_nodes=()).empty
    assert not replace(facts, kubernetes_nodes=None).empty
    assert not replace(facts, kubernetes_nodes=("i-1.internal",)).empty


def test_a_lease_that_a_pause_keeps_from_opening_justifies_no_node() -> None:
    facts = replace(pool(lease(), running=["i-1"]), held_back=frozenset({"evening"}))
    assert facts.target.nodes == 0
    assert [breach.rule for breach in judge(surplus, facts)] == [Rule.NODE_WITHOUT_LEASE]


def test_what_was_said_last_is_of_the_same_rule_action_and_lease() -> None:
    said = (
        earlier(Rule.IDLE_LEASE, -9),
        earlier(Rule.IDLE_LEASE, -8),
        earlier(Rule.IDLE_LEASE, -7, name="other"),
        earlier(Rule.IDLE_LEASE, -6, GuardAction.CLOSE),
        earlier(Rule.LEASE_TOO_LONG, -5),
    )
    facts = replace(pool(), earlier=said)

    assert facts.last_reported(Rule.IDLE_LEASE, GuardAction.WARN, "evening") == EIGHT - 8 * MINUTE
    assert facts.last_reported(Rule.IDLE_LEASE, GuardAction.WARN) is None
