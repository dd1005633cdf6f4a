"""A leaked pool: the guard closes it again with a growing wait, and pages about it more and more rarely.

incident.py says when. CloseLab's step ProveZero finds most leaks. Where no close gets that far, the guard does.
"""

from collections.abc import Iterator
from datetime import timedelta

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.incident import Incident, next_page, retry_after
from lamplighter.reasons.reason import reason

LEAKED_AFTER = timedelta(minutes=45)
"""Longer than a close takes, with a full drain and all its waits, until it has proof or marks the pool as leaked."""
BY_FORCE_AFTER = timedelta(minutes=15)
"""From then on the guard terminates in EC2 the instances that a group of size 0 keeps."""


def leak(facts: PoolFacts) -> Iterator[Breach]:
    """The beginning of a leak, its next close and next page, or its end."""
    incident = facts.incident
    if incident is None:
        yield from _begun(facts)
        return
    zero = facts.zero
    if zero.proven or facts.target.nodes:
        yield Breach(
            Rule.NO_LONGER_LEAKED,
            reason("guard.leaked.over", pool=facts.pool)
            if zero.proven
            else reason("guard.leaked.leased-again", pool=facts.pool),
            GuardAction.RECOVER,
        )
        return
    if facts.now >= next_page(incident) and not incident.silenced(facts.now):
        yield Breach(
            Rule.LEAKED,
            reason("guard.leaked", pool=facts.pool, since=incident.since, left=zero.reason(facts.pool)),
            GuardAction.PAGE,
        )
    if incident.closed_at is None or facts.now - incident.closed_at >= retry_after(incident.tries):
        yield Breach(
            Rule.LEAKED,
            reason(
                "guard.leaked.closed-again",
                pool=facts.pool,
                since=incident.since,
                tries=incident.tries + 1,
            ),
            GuardAction.CLOSE,
            target=0,
            since=incident.since,
        )
    yield from _by_force(facts, incident)


def _begun(facts: PoolFacts) -> Iterator[Breach]:
    if not facts.acting or facts.over_since is None or facts.target.nodes or not facts.costly:
        return
    if facts.now - facts.over_since >= LEAKED_AFTER:
        yield Breach(
            Rule.LEAKED,
            reason(
                "guard.leaked",
                pool=facts.pool,
                since=facts.over_since,
                left=facts.zero.reason(facts.pool),
            ),
            GuardAction.MARK_LEAKED,
        )


def _by_force(facts: PoolFacts, incident: Incident) -> Iterator[Breach]:
    """The group wants no instance and keeps some: scale-in protection, a suspended process, a stuck hook."""
    alive = tuple(instance.id for instance in facts.seen.alive)
    wanted = facts.seen.size if facts.seen.controller else 0
    if alive and not wanted and facts.now - incident.since >= BY_FORCE_AFTER:
        yield Breach(
            Rule.LEAKED,
            reason("guard.leaked.forced", pool=facts.pool, instances=alive),
            GuardAction.TERMINATE,
            target=0,
            instances=alive,
        )
