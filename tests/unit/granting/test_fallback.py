"""Whether a lease moves to a fallback pool, and what the commands that move it say."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.commands.command import Command
from lamplighter.domain.granting import fallback
from lamplighter.domain.granting.fallback import FallbackStep
from lamplighter.domain.granting.grant import SHORTEST, GrantDecision
from lamplighter.domain.leases.lease import Lease, LeaseState, MovedLease
from lamplighter.domain.leases.occupancy import others
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, reason
from tests.builders.leases import EIGHT, MINUTE, lease, persons

SHORT = lease(missing=2, state=LeaseState.OPENING)
NOW = EIGHT + 3 * MINUTE
FULL, FREE = GrantDecision("refused", "it is full"), GrantDecision("granted", "two nodes")
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(("one", "answers", "ask", "step", "pool"), [
    (SHORT, [("b", FREE)], False, FallbackStep.MOVE, "b"),
    (SHORT, [("b", FREE)], True, FallbackStep.ASK, "b"),
    (SHORT, [("b", FULL), ("c", FREE)], False, FallbackStep.MOVE, "c"),
    (SHORT, [("b", FULL), ("c", FULL)], False, FallbackStep.NOTHING, None),
    (SHORT, [], False, FallbackStep.NOTHING, None),
    (replace(SHORT, missing=1), [("b", FREE)], False, FallbackStep.STAY, None),
    (replace(SHORT, missing=0), [("b", FREE)], True, FallbackStep.STAY, None),
    (replace(SHORT, state=LeaseState.CLOSING), [("b", FREE)], False, FallbackStep.STAY, None),
    (replace(SHORT, closes=NOW), [("b", FREE)], False, FallbackStep.STAY, None),
    (replace(SHORT, closes=NOW + SHORTEST - SECOND), [("b", FREE)], False, FallbackStep.STAY, None),
    (replace(SHORT, closes=NOW + SHORTEST), [("b", FREE)], False, FallbackStep.MOVE, "b"),
])  # fmt: skip
def test_only_a_lease_without_any_node_moves_and_only_where_the_other_pool_grants_it(
    one: Lease,
    answers: Any,
    ask: bool,
    step: FallbackStep,
    pool: str | None,
) -> None:
    decided = fallback.decide(one, answers, NOW, ask=ask)
    assert (decided.step, decided.pool) == (step, pool)
    assert str(decided.reason) or not answers


def test_the_refusals_of_all_pools_are_said() -> None:
    decided = fallback.decide(SHORT, [("b", FULL), ("c", FULL)], NOW, ask=False)
    assert str(decided.reason) == (
        "fallback pool b does not take the lease: it is full; fallback pool c does not take the lease: it is full"
    )


def test_an_answer_is_alike_whatever_time_it_is() -> None:
    def refused(code: str, at: int) -> Said:
        return fallback.nothing_there([("b", reason(code, pool="b", at=EIGHT + at * MINUTE))])

    assert fallback.alike(refused("lease.pool-full", 1), refused("lease.pool-full", 6))
    assert not fallback.alike(refused("lease.pool-full", 1), refused("lease.in-curfew", 1))
    assert not fallback.alike(refused("lease.pool-full", 1), "")


def test_the_chain_has_each_pool_once_whatever_the_lab_says() -> None:
    circle = {"a": {"fallback": "b"}, "b": {"fallback": "c"}, "c": {"fallback": "a"}}
    lab = Lab.model_validate({"name": "x", "pools": circle})
    assert [fallback.chain(lab, pool) for pool in circle] == [("b", "c"), ("c", "a"), ("a", "b")]


@pytest.mark.parametrize("name", ["evening-2026-11-20", "a" * 63])
def test_one_lease_has_one_place_on_a_pool_and_its_schedules_have_names_that_aws_takes(name: str) -> None:
    one = replace(SHORT, id=name, generation=4)
    first, again = fallback.command(one, "b", NOW), fallback.command(one, "b", NOW + MINUTE)
    next_round = fallback.command(replace(one, generation=6), "b", NOW)

    assert (first.id, first.lease) == (again.id, again.lease)
    assert next_round.id != first.id
    assert next_round.lease == first.lease != fallback.command(one, "c", NOW).lease
    assert len(f"warn-15-{first.lease}") <= 64
    assert len(first.id) <= 80
    assert Command.from_json(first.to_json()) == first


def test_the_lease_there_is_the_same_persons_until_the_same_end() -> None:
    one = replace(persons(because="the exam", by="bob"), missing=2)
    moved = fallback.command(one, "b", NOW)
    assert (moved.owner, moved.by, moved.because, moved.nodes, moved.closes, moved.opens) == (
        one.owner,
        "bob",
        "the exam",
        one.nodes,
        one.closes,
        None,
    )
    assert moved.moved_from == MovedLease("gpu", one.id)


def test_a_lease_that_comes_from_another_pool_gives_way_to_every_planned_window() -> None:
    planned = lease("late-1", opens=60, state=LeaseState.PLANNED, order=1)
    window = lease("evening-1", opens=3, order=0)
    assert others([planned], window) == []
    assert others([planned], replace(window, moved_from=MovedLease("a", "evening-1"))) == [planned]


@pytest.mark.parametrize(("one", "came", "why"), [
    (None, False, "not in the ledger"),
    (replace(SHORT, moved_to=MovedLease("b", "x"), state=LeaseState.CLOSING), False,
     "pool gpu has no capacity for the evening lease, so it moved to pool b"),
    (replace(SHORT, state=LeaseState.CLOSED), False, "the evening lease is closed, so it does not move"),
    (replace(SHORT, closes=NOW), False, "the evening lease is closing, so it does not move"),
    (SHORT, True, "the evening lease has nodes, so it stays on its pool"),
    (SHORT, False, None),
])  # fmt: skip
def test_a_button_that_is_pressed_too_late_is_answered_in_one_sentence(
    one: Lease | None,
    came: bool,
    why: str | None,
) -> None:
    refused = fallback.may_not_move(one, NOW, came=came)
    assert (refused and str(refused)) == why
