"""The guard's second law: a pool that runs has its failsafe armed as its leases want it, one at rest has none."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from lamplighter.domain.guard.breach import Action, Breach, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.leases import warned_first
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.schedules.failsafe import in_the_air
from lamplighter.domain.schedules.schedule import Schedule
from lamplighter.values.instant import clock_time

FAILSAFE_MARGIN = timedelta(seconds=90)
"""What is due sooner is about to fire; Scheduler would refuse to move it into the past."""

UNARMED_PATIENCE = timedelta(minutes=15)
"""How long it may fail to be set before the people of a lease are told that it ends."""


def failsafe(facts: PoolFacts) -> Iterator[Breach]:
    """A failsafe that is missing, late, early or another one; or left behind."""
    if facts.failsafe_found is None:
        return
    found = {schedule.name: schedule for schedule in facts.failsafe_found}
    if not facts.failsafe_wanted:
        firing = any(in_the_air(schedule.at, facts.now) for schedule in found.values())
        unfinished = any(_unfinished(lease) for lease in facts.leases)
        if found and facts.empty and not unfinished and not firing:
            yield Breach(
                Rule.FAILSAFE_LEFT,
                f"pool {facts.pool} is at zero without a lease and still has a failsafe armed",
                Action.DISARM,
            )
        return
    if facts.staying == 0 and not facts.strays:
        return
    soon = facts.now + FAILSAFE_MARGIN
    for wanted in facts.failsafe_wanted:
        armed = found.get(wanted.name)
        if wanted.at <= soon or armed == wanted:
            continue
        fault = _fault(wanted, armed)
        yield Breach(
            Rule.FAILSAFE_WRONG,
            f"the failsafe {wanted.name} of pool {facts.pool} {fault}, due at {clock_time(wanted.at)}",
            Action.REARM,
        )
        yield from _unarmable(facts)
        return


def _unarmable(facts: PoolFacts) -> Iterator[Breach]:
    """No pool runs without its failsafe: where it cannot be set for long, the leases end."""
    since = _failing_since(facts)
    if since is None or facts.now - since < UNARMED_PATIENCE:
        return
    for lease in facts.leases:
        if lease.in_force(facts.now):
            why = f"the failsafe of pool {facts.pool} cannot be set since {clock_time(since)}"
            yield from warned_first(facts, Rule.FAILSAFE_WRONG, lease, why, since=since)


def _failing_since(facts: PoolFacts) -> datetime | None:
    """Since when every try of the last hour to put it right failed; None where the last one did not."""
    since = None
    for said in facts.said:
        if said.rule != Rule.FAILSAFE_WRONG:
            continue
        if said.action == Action.FAILED:
            since = since or said.at
        elif said.action == Action.REARM:
            since = None
    last = facts.last_said(Rule.FAILSAFE_WRONG, Action.FAILED)
    return since if last is not None and facts.now - last <= UNARMED_PATIENCE else None


def _fault(wanted: Schedule, armed: Schedule | None) -> str:
    if armed is None:
        return "is missing"
    if armed.at > wanted.at:
        return f"is late, at {clock_time(armed.at)}"
    if armed.at < wanted.at:
        return f"is early, at {clock_time(armed.at)}"
    return "does something else than bring the pool to zero"


def _unfinished(lease: Lease) -> bool:
    return lease.granted or lease.state is LeaseState.CLOSING
