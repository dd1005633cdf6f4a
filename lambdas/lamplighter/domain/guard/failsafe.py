"""Law 2: a pool that runs has its failsafe armed as its leases need it. A pool at rest has none."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.leases import warned_first
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.schedules.failsafe import may_still_run
from lamplighter.domain.schedules.schedule import Schedule
from lamplighter.reasons.reason import Reason, reason

FAILSAFE_MARGIN = timedelta(seconds=90)
"""A schedule due sooner is about to run. Scheduler would refuse to move it into the past."""

UNARMED_PATIENCE = timedelta(minutes=15)
"""How long the failsafe may fail to be set before the guard warns that the leases end."""


def failsafe(facts: PoolFacts) -> Iterator[Breach]:
    """A failsafe that is missing, late, early, changed, or left behind."""
    if facts.failsafe_found is None:
        return
    found = {schedule.name: schedule for schedule in facts.failsafe_found}
    if not facts.failsafe_wanted:
        firing = any(may_still_run(schedule.at, facts.now) for schedule in found.values())
        unfinished = any(_unfinished(lease) for lease in facts.leases)
        if found and facts.empty and not unfinished and not firing:
            yield Breach(
                Rule.FAILSAFE_LEFT, reason("guard.failsafe.left", pool=facts.pool), GuardAction.DISARM
            )
        return
    # Before the first node of a lease, too: nothing is ordered until the failsafe is due after it.
    if facts.staying == 0 and not facts.strays and not facts.target.in_force:
        return
    soon = facts.now + FAILSAFE_MARGIN
    for wanted in facts.failsafe_wanted:
        armed = found.get(wanted.name)
        if wanted.at <= soon or armed == wanted:
            continue
        yield Breach(Rule.FAILSAFE_WRONG, _fault(facts.pool, wanted, armed), GuardAction.REARM)
        yield from _unarmable(facts)
        return


def _unarmable(facts: PoolFacts) -> Iterator[Breach]:
    """No pool runs without its failsafe: where it cannot be set for long, the leases end."""
    since = _failing_since(facts)
    if since is None or facts.now - since < UNARMED_PATIENCE:
        return
    for lease in facts.leases:
        if lease.in_force(facts.now):
            why = reason("guard.failsafe.cannot-be-set", pool=facts.pool, since=since)
            yield from warned_first(facts, Rule.FAILSAFE_WRONG, lease, why, since=since)


def _failing_since(facts: PoolFacts) -> datetime | None:
    """Since when every attempt of the last hour to set it failed; None where the last attempt succeeded."""
    since = None
    for earlier in facts.earlier:
        if earlier.rule != Rule.FAILSAFE_WRONG:
            continue
        if earlier.action == GuardAction.FAILED:
            since = since or earlier.at
        elif earlier.action == GuardAction.REARM:
            since = None
    last = facts.last_reported(Rule.FAILSAFE_WRONG, GuardAction.FAILED)
    return since if last is not None and facts.now - last <= UNARMED_PATIENCE else None


def _fault(pool: str, wanted: Schedule, armed: Schedule | None) -> Reason:
    if armed is None:
        return reason("guard.failsafe.missing", pool=pool, name=wanted.name, due=wanted.at)
    if armed.at > wanted.at:
        return reason("guard.failsafe.late", pool=pool, name=wanted.name, due=wanted.at, at=armed.at)
    if armed.at < wanted.at:
        return reason("guard.failsafe.early", pool=pool, name=wanted.name, due=wanted.at, at=armed.at)
    return reason("guard.failsafe.changed", pool=pool, name=wanted.name, due=wanted.at)


def _unfinished(lease: Lease) -> bool:
    return lease.granted or lease.state is LeaseState.CLOSING
