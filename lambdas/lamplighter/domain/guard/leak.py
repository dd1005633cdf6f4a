"""A leaked pool: closed again for ever with a growing wait, and paged about more and more rarely.

When is incident.py's. CloseLab's proof calls a pool leaked; where no close gets that far, the guard does.
"""

from collections.abc import Iterator
from datetime import timedelta

from lamplighter.domain.guard.breach import Action, Breach, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.incident import Incident, next_page, retry_after
from lamplighter.values.counted import counted
from lamplighter.values.instant import clock_time

LEAKED_AFTER = timedelta(minutes=45)
"""Longer than a close with a full drain and all its patience takes until it has proof or calls it leaked."""
BY_FORCE_AFTER = timedelta(minutes=15)
"""From then on what a group of size 0 keeps is ended in EC2 itself."""


def leak(facts: PoolFacts) -> Iterator[Breach]:
    """The beginning of a leak, its next close and next page, or its end."""
    incident = facts.incident
    if incident is None:
        yield from _begun(facts)
        return
    if facts.empty or facts.target.nodes:
        why = "is at zero" if facts.empty else "is leased again"
        yield Breach(Rule.NO_LONGER_LEAKED, f"pool {facts.pool} {why}, no longer leaked", Action.RECOVER)
        return
    since = clock_time(incident.since)
    if facts.now >= next_page(incident) and not incident.silenced(facts.now):
        yield Breach(
            Rule.LEAKED,
            f"pool {facts.pool} should be at zero since {since} and is not: {left(facts)}",
            Action.PAGE,
        )
    if incident.closed_at is None or facts.now - incident.closed_at >= retry_after(incident.tries):
        yield Breach(
            Rule.LEAKED,
            f"pool {facts.pool} is leaked since {since} and is closed again, try {incident.tries + 1}",
            Action.CLOSE,
            target=0,
            since=incident.since,
        )
    yield from _by_force(facts, incident)


def _begun(facts: PoolFacts) -> Iterator[Breach]:
    if not facts.acting or facts.over_since is None or facts.target.nodes or not facts.costly:
        return
    if facts.now - facts.over_since >= LEAKED_AFTER:
        since = clock_time(facts.over_since)
        yield Breach(
            Rule.LEAKED,
            f"pool {facts.pool} should be at zero since {since} and is not: {left(facts)}",
            Action.MARK_LEAKED,
        )


def _by_force(facts: PoolFacts, incident: Incident) -> Iterator[Breach]:
    """The group wants none and keeps some: scale-in protection, a suspended process, a hook that hangs."""
    alive = tuple(instance.id for instance in facts.instances if instance.alive)
    wanted = facts.group.desired if facts.group else 0
    if alive and not wanted and facts.now - incident.since >= BY_FORCE_AFTER:
        yield Breach(
            Rule.LEAKED,
            f"the group of pool {facts.pool} wants no node and keeps {', '.join(alive)}, ended in EC2 itself",
            Action.TERMINATE,
            target=0,
            instances=alive,
        )


def left(facts: PoolFacts) -> str:
    """What is still there."""
    there = [instance.id for instance in facts.instances if instance.exists]
    if there:
        return f"{', '.join(there)} still in EC2"
    if facts.group is not None and facts.group.desired:
        return f"its group still wants {counted(facts.group.desired, 'node')}"
    if facts.kubernetes_nodes is None:
        return "Kubernetes could not be asked"
    return f"{', '.join(facts.kubernetes_nodes) or 'an order'} still there"
