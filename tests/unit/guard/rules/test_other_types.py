"""Nodes of a type that no lease was granted for are a breach with their real price, and the guard removes them."""

from dataclasses import replace

import pytest

from lamplighter.domain.capacity.evidence import Member
from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.reason import in_english
from tests.builders.guard_facts import instance, lease, pool, seen
from tests.builders.leases import usd

DEAR = "p5.48xlarge"
OF_G5 = lease(nodes=1, instance_types=("g5.xlarge",))


def with_dear(*leases: Lease, running: tuple[str, ...] = ("i-1",), beside: int | None = None) -> PoolFacts:
    """A pool whose last node, or an instance that its controller does not list, is a p5.48xlarge."""
    facts = pool(*leases, running=running)
    *usual, last = facts.seen.instances
    if beside is not None:
        usual.append(last)
        last = instance("i-9", beside, group=None)
    return seen(replace(facts, prices={DEAR: usd("67.6772")}), instances=(*usual, replace(last, type=DEAR)))


def found(facts: PoolFacts) -> list[Breach]:
    return [breach for breach in sweep(facts) if breach.rule is Rule.OTHER_INSTANCE_TYPE]


def test_a_node_of_another_type_is_removed_and_its_real_price_is_said() -> None:
    [breach] = sweep(with_dear(OF_G5))

    assert (breach.rule, breach.action) == (Rule.OTHER_INSTANCE_TYPE, GuardAction.REMOVE)
    assert (breach.instances, breach.subject, breach.target) == (("i-1",), DEAR, 1)
    assert in_english(breach.reason) == (
        "i-1 on pool gpu: a p5.48xlarge costs 67.68 USD an hour, and the leases were granted for g5.xlarge;"
        " no lease pays for it"
    )


def test_a_price_that_nobody_knows_is_said_to_be_unknown() -> None:
    [breach] = sweep(replace(with_dear(OF_G5), prices={}))
    assert "the price of a p5.48xlarge is not known" in in_english(breach.reason)


def test_a_watched_pool_says_it_and_what_the_guard_would_do() -> None:
    [breach] = sweep(replace(with_dear(OF_G5), enforcing=False))
    assert (breach.rule, breach.action) == (Rule.OTHER_INSTANCE_TYPE, GuardAction.SAY)
    assert "67.68 USD" in in_english(breach.reason)
    assert "remove these nodes" in in_english(breach.reason)


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(
            with_dear(lease(nodes=1, instance_types=("g5.xlarge", DEAR))), id="one of several types"
        ),
        pytest.param(with_dear(OF_G5, lease("dear", nodes=1, instance_types=(DEAR,))), id="of another lease"),
        pytest.param(with_dear(lease(nodes=1)), id="granted by an older release, and the lab names no type"),
        pytest.param(with_dear(OF_G5, beside=-1), id="so young that its controller may list it in a moment"),
        pytest.param(
            seen(
                with_dear(OF_G5),
                controller=replace(pool().seen.controller, members=(Member("i-1", "a", leaving=True),)),  # type: ignore[type-var]
            ),
            id="it leaves already",
        ),
    ],
)
def test_it_is_no_breach(facts: PoolFacts) -> None:
    assert found(facts) == []


def test_a_lease_of_an_older_release_is_for_the_type_that_the_lab_names() -> None:
    [breach] = found(replace(with_dear(lease(nodes=1)), instance_types=("g5.xlarge",)))
    assert breach.action is GuardAction.REMOVE


def test_an_instance_that_nobody_lists_is_removed_although_a_lease_has_room_for_it() -> None:
    [breach] = found(with_dear(lease(instance_types=("g5.xlarge",)), beside=-30))
    assert breach.instances == ("i-9",)


def test_the_nodes_that_a_lease_was_granted_for_are_not_closed_for_one_of_another_type() -> None:
    """CloseLab would begin with an empty node, whatever its type."""
    [breach] = sweep(with_dear(OF_G5, running=("i-1", "i-2")))
    assert (breach.action, breach.instances) == (GuardAction.REMOVE, ("i-2",))


def test_without_a_lease_the_whole_pool_is_closed() -> None:
    [breach] = sweep(with_dear())
    assert (breach.rule, breach.action) == (Rule.NODE_WITHOUT_LEASE, GuardAction.CLOSE)


def test_while_its_controller_is_not_known_the_guard_only_pages() -> None:
    [breach] = found(seen(with_dear(OF_G5), controller=None))
    assert breach.action is GuardAction.PAGE
