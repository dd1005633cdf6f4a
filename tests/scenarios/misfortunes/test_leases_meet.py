"""Leases meet: on one pool, on the last node, on the last dollar, at a boundary, and long after the fact."""

from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

import pytest

from lamplighter.domain.commands.command import Verb
from lamplighter.domain.leases.lease import LeaseState
from tests.scenarios.misfortunes.pool import Pool, Story
from tests.scenarios.misfortunes.story import story


@pytest.mark.long
@story("shared")
def test_one_of_two_leases_ends_and_the_other_keeps_its_node(pool: Pool) -> Story:
    # given alice's node, and beside it bob's, opened later and for a shorter time
    alice = yield from pool.open(1, minutes=60)
    yield pool.opened(alice)
    (hers,) = pool.seen.instances
    bob = yield from pool.open(1, minutes=20, owner="bob", by="bob", add=True)
    yield pool.opened(bob)
    (his,) = set(pool.seen.instances) - {hers}
    begun = pool.now

    # when bob's lease ends
    yield pool.closed(bob)

    # then the younger node went and hers was there all the time, in EC2 and in Kubernetes
    yield pool.another_look()
    assert all(hers in sample.instances for sample in pool.since(begun))
    assert his not in pool.seen.instances
    assert pool.seen.instances == (hers,)
    assert len(pool.seen.kubernetes_nodes) == 1
    # and the failsafe stands for her lease now
    yield pool.until(
        "the failsafe is hers",
        lambda: pool.seen.failsafe == (alice.closes + timedelta(minutes=10),),
        minutes=5,
    )

    # and each lease pays for its own
    yield pool.closed(alice)
    yield pool.zero()
    assert pool.receipt(bob.id)["nodes"] == 1
    assert pool.receipt(alice.id)["node_seconds"] > pool.receipt(bob.id)["node_seconds"]
    pool.verdicts(1, 5, 8)


@pytest.mark.long
@story("contended")
def test_two_ask_at_once_for_the_last_node_and_the_last_dollar_and_one_command_comes_late(
    pool: Pool,
) -> Story:
    # given one free node, when two ask for it at once
    asked = [
        pool.command(Verb.OPEN, nodes=1, lasting=timedelta(minutes=20), owner=who, by=who, add=True)
        for who in ("alice", "bob")
    ]
    for command in asked:
        pool.give(command)
    yield pool.until("both are decided", lambda: all(pool.decision(command) for command in asked), minutes=10)

    # then one has it, the other one hears why not and when
    decisions = [pool.decision(command) for command in asked]
    granted = next(d for d in decisions if d and d.outcome == "granted")
    refused = next(d for d in decisions if d and d.outcome == "refused")
    lease = pool.lease(str(granted.lease))
    assert "is full" in str(refused.reason)
    assert refused.earliest == lease.closes
    yield pool.opened(lease)
    assert len(pool.seen.instances) == 1
    yield pool.closed(lease)
    yield pool.zero()

    # when the command that was granted comes again, and one that expired, then nothing opens
    begun = pool.now
    again = asked[decisions.index(granted)]
    old = replace(again, id=f"old-{again.id}", expires=pool.now - timedelta(minutes=1))
    runs = [pool.give(again, name=f"again-{again.id}"), pool.give(old)]
    yield pool.until("both runs are over", lambda: not any(map(pool.runs, runs)), minutes=10)
    decision = pool.decision(old)
    assert decision is not None
    assert (decision.outcome, "was good until" in str(decision.reason)) == ("refused", True)
    yield pool.reached(begun + timedelta(minutes=15))
    pool.no_node_after(begun)
    assert pool.lease(lease.id).state is LeaseState.CLOSED
    assert not any(sample.desired for sample in pool.since(begun))

    # given what is left of the budget, when two ask for more than half of it at once on two pools
    dear = pool.day.pools["dear"]
    budget = pool.day.cloud.lab.guard.budget
    left = Fraction(budget.amount) - Fraction(pool.seen.committed)
    length = timedelta(hours=float(left * 6 / 10 / 100))
    ahead = (pool.now + timedelta(hours=2)).replace(microsecond=0)
    both = [(each, each.command(Verb.OPEN, nodes=1, opens=ahead, lasting=length)) for each in (pool, dear)]
    for each, command in both:
        each.give(command)
    yield pool.until("both are decided", lambda: all(each.decision(c) for each, c in both), minutes=10)

    # then one has it, and no more is held than there is
    outcomes = {each.name: each.decision(command) for each, command in both}
    said = [decision for decision in outcomes.values() if decision]
    assert sorted(decision.outcome for decision in said) == ["granted", "refused"]
    assert any("would cost" in str(decision.reason) for decision in said)
    yield pool.another_look()
    pool.within_budget()
    for each, command in both:
        decision = each.decision(command)
        if decision and decision.outcome == "granted":
            promised = each.lease(str(decision.lease))
            each.close(promised)
            yield each.closed(promised)
    yield pool.zero()
    pool.verdicts(1, 5, 7, 8)


#: The number of times that the workflow tries a failing step.
TRIES = 6


@pytest.mark.long
@story("boundary")
def test_a_hand_over_keeps_the_nodes_though_its_first_close_crashes(pool: Pool) -> Story:
    # given a window of one node, one of two nodes that begins at its end, and a close that dies half-way
    early, late = pool.lease("early-2026-12-01"), pool.lease("late-2026-12-01")
    assert early.closes == late.opens
    yield pool.opened(early)
    (running,) = pool.seen.instances
    faults, begun = pool.day.cloud.faults, pool.now
    faults.kill_step("RestoreExperiments", pool.name, times=TRIES, after_calls=2)

    # when the boundary passes, then the first node is there all the time, and a second one comes
    yield pool.opened(late, minutes=60)
    yield pool.until("the second node is there", lambda: len(pool.seen.instances) == 2, minutes=20)
    assert all(running in sample.instances for sample in pool.since(begun))
    assert pool.seen.failsafe == (late.closes + timedelta(minutes=10),)
    # and the early window was closed by somebody, with a receipt of its own
    yield pool.closed(early)
    assert pool.receipt(early.id)["nodes"] == 1

    # and all ends with the later window
    assert all(running in sample.instances for sample in pool.since(begun) if sample.at < late.closes)
    yield pool.closed(late)
    yield pool.zero()
    assert pool.receipt(late.id)["proof_of_zero"]["instances"] == []
    pool.verdicts(1, 5, 8)
    pool.failsafe_stood()
