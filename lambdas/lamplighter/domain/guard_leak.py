"""A leaked pool: closed again for ever with a growing wait, and paged about more and more rarely.

When is incident.py's; that a pool is leaked at all was decided by CloseLab's proof.
"""

from collections.abc import Iterator

from lamplighter.domain.breach import Action, Breach, Rule
from lamplighter.domain.guard_facts import PoolFacts, count
from lamplighter.domain.incident import next_page, retry_after
from lamplighter.domain.instant import clock_time


def leak(facts: PoolFacts) -> Iterator[Breach]:
    """The next close and the next page of a leaked pool, or the end of the leak."""
    incident = facts.incident
    if incident is None:
        return
    if facts.empty or facts.target.nodes:
        why = "is at zero" if facts.empty else "is leased again"
        yield Breach(Rule.NO_LONGER_LEAKED, f"pool {facts.pool} {why}, no longer leaked", Action.RECOVER)
        return
    since = clock_time(incident.since)
    if facts.now >= next_page(incident):
        yield Breach(
            Rule.LEAKED,
            f"pool {facts.pool} should be at zero since {since} and is not: {_left(facts)}",
            Action.PAGE,
        )
    if incident.closed_at is None or facts.now - incident.closed_at >= retry_after(incident.tries):
        yield Breach(
            Rule.LEAKED,
            f"pool {facts.pool} is leaked since {since} and is closed again, try {incident.tries + 1}",
            Action.CLOSE,
            target=0,
        )


def _left(facts: PoolFacts) -> str:
    left = [instance.id for instance in facts.instances if instance.exists]
    if left:
        return f"{', '.join(left)} still in EC2"
    if facts.group is not None and facts.group.desired:
        return f"its group still wants {count(facts.group.desired)}"
    if facts.kubernetes_nodes is None:
        return "Kubernetes could not be asked"
    return f"{', '.join(facts.kubernetes_nodes) or 'an order'} still there"
