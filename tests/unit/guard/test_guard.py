"""A sweep as a whole: every rule is heard in it, health is no breach, and watching only says; how often it pages."""

from dataclasses import replace
from typing import Any

import pytest

from lamplighter.domain.guard.breach import GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.guard.incident import Incident, next_page, retry_after
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.money.overdraft import Overdraft
from lamplighter.domain.schedules.schedule import RunEnd
from lamplighter.reasons.reason import Reason, reason
from tests.builders.guard_facts import instance, lease, pool, seen, shots
from tests.builders.leases import EIGHT, HOUR, MINUTE

LEASED = pool(lease(), running=["i-1", "i-2"])
ALONE = pool(running=["i-1"])
IDLE: dict[str, Any] = {"idle_since": EIGHT - 2 * HOUR, "idle_after": {"evening": HOUR}}
ENDED = lease(closes=-5)


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(LEASED, id="as many nodes as leases"),
        pytest.param(pool(), id="at zero without a lease"),
        pytest.param(pool(leaving=["i-1"], desired=0), id="a node that leaves already"),
        pytest.param(
            replace(pool(leaving=["i-1"], desired=0), failsafe_found=shots(EIGHT + HOUR)),
            id="a failsafe while a node is left",
        ),
    ],
)
def test_a_healthy_pool_has_no_breach(facts: PoolFacts) -> None:
    assert sweep(facts) == ()


@pytest.mark.parametrize(
    ("facts", "rule", "action"),
    [
        (pool(desired=2), Rule.NODE_WITHOUT_LEASE, GuardAction.CLOSE),
        (pool(lease(nodes=1), running=["i-1", "i-2"]), Rule.MORE_NODES_THAN_LEASES, GuardAction.CLOSE),
        (pool(ENDED, running=["i-1"]), Rule.LEASE_PAST_ITS_END, GuardAction.CLOSE),
        (pool(strays=[instance("i-9", group=None)]), Rule.STRAY_INSTANCE, GuardAction.TERMINATE),
        (replace(LEASED, failsafe_found=()), Rule.FAILSAFE_WRONG, GuardAction.REARM),
        (replace(pool(), failsafe_found=shots(EIGHT + HOUR)), Rule.FAILSAFE_LEFT, GuardAction.DISARM),
        (replace(pool(), curfew={"a": None}), Rule.CURFEW_WRONG, GuardAction.SAY),
        (replace(LEASED, longest_lease=MINUTE - 90 * MINUTE), Rule.LEASE_TOO_LONG, GuardAction.WARN),
        (replace(LEASED, **IDLE), Rule.IDLE_LEASE, GuardAction.WARN),
        (replace(LEASED, overdrafts={"evening": Overdraft(EIGHT, "")}), Rule.BUDGET_REACHED, GuardAction.WARN),
        (replace(LEASED, opening_ended={"evening": RunEnd.FAILED}), Rule.OPENING_ABANDONED, GuardAction.CLOSE),
        (pool(replace(ENDED, state=LeaseState.CLOSING, closes=EIGHT - 2 * HOUR, opens=EIGHT - 3 * HOUR)),
         Rule.CLOSING_ABANDONED, GuardAction.CLOSE),
        (seen(pool(), minimum=1), Rule.SIZES_CHANGED, GuardAction.RESTORE_SIZES),
        (pool(replace(lease(), ready=EIGHT), running=["i-1"]), Rule.FEWER_NODES_THAN_LEASES, GuardAction.SAY),
        (replace(LEASED, unprotected=("i-1.internal",)), Rule.NODE_UNPROTECTED, GuardAction.PROTECT),
        (replace(ALONE, incident=Incident(EIGHT, closed_at=EIGHT)), Rule.LEAKED, GuardAction.PAGE),
        (replace(pool(), incident=Incident(EIGHT)), Rule.NO_LONGER_LEAKED, GuardAction.RECOVER),
    ],
)  # fmt: skip
def test_every_rule_is_heard_in_a_sweep(facts: PoolFacts, rule: Rule, action: GuardAction) -> None:
    assert [(found.rule, found.action) for found in sweep(facts) if found.rule is rule] == [(rule, action)]


@pytest.mark.parametrize(
    ("facts", "rule", "action"),
    [
        pytest.param(ALONE, Rule.NODE_WITHOUT_LEASE, GuardAction.SAY, id="a close"),
        pytest.param(replace(LEASED, **IDLE), Rule.IDLE_LEASE, GuardAction.SAY, id="a warning"),
        pytest.param(replace(LEASED, failsafe_found=()), Rule.FAILSAFE_WRONG, GuardAction.REARM, id="a failsafe"),
        pytest.param(pool(ENDED, running=["i-1"]), Rule.LEASE_PAST_ITS_END, GuardAction.CLOSE, id="its lease"),
    ],
)  # fmt: skip
def test_watching_does_only_what_a_lease_needs(facts: PoolFacts, rule: Rule, action: GuardAction) -> None:
    found = sweep(replace(facts, enforcing=False))
    assert [breach.action for breach in found if breach.rule is rule] == [action]


def test_watching_says_what_it_would_do() -> None:
    [breach] = sweep(replace(ALONE, enforcing=False))
    finding, action = reason("guard.no-lease", pool="gpu", nodes=1), reason("guard.act.close")
    assert breach.reason == reason("guard.only-watched", finding=finding, action=action)


def test_watching_says_that_nodes_added_during_a_lease_end_with_it() -> None:
    facts = replace(pool(lease(nodes=1), running=["i-1", "i-2"]), enforcing=False)
    [said] = [each.reason for each in sweep(facts) if each.rule is Rule.MORE_NODES_THAN_LEASES]
    at = EIGHT + 2 * HOUR
    assert isinstance(said, Reason)
    assert (said.code, said.values["at"]) == ("guard.ends-with-a-lease", at)


def test_pages_repeat_after_15_minutes_1_hour_4_hours_then_daily() -> None:
    due = [next_page(Incident(EIGHT, pages=count)) - EIGHT for count in range(7)]
    assert [at / HOUR for at in due] == [0, 0.25, 1, 4, 28, 52, 76]


def test_closes_of_a_leaked_pool_back_off_to_an_hour() -> None:
    assert [retry_after(tries) // MINUTE for tries in range(6)] == [5, 10, 20, 40, 60, 60]
