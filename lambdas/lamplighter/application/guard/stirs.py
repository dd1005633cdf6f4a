"""Slack's board looks when something moves in the ledger; where it is to look though nothing does, a sweep moves it.

An offer lapses and a pause ends while nothing else happens; and what was changed about the calendar of a quiet lab
would stay untold, were the one event about it lost.
"""

from typing import TYPE_CHECKING

from lamplighter.errors import LamplighterError

if TYPE_CHECKING:
    from lamplighter.application.guard.services import GuardServices
    from lamplighter.domain.guard.facts import PoolFacts


def stir(guard_services: "GuardServices", facts: "PoolFacts", failures: list[str]) -> None:
    """Move the pool's own item while somebody waits in Slack, or while news of the pool are fresh."""
    if guard_services.capacity.lab.slack is None:
        return
    try:
        if _is_waited_for(guard_services, facts) or _has_news(guard_services, facts):
            guard_services.lease_services.ledger.note_stirred(facts.pool, facts.now)
    except LamplighterError as error:
        failures.append(f"pool {facts.pool}, what Slack is to be told: {error}")


def _is_waited_for(guard_services: "GuardServices", facts: "PoolFacts") -> bool:
    return bool(guard_services.lease_services.ledger.wishes(facts.pool, facts.now))


def _has_news(guard_services: "GuardServices", facts: "PoolFacts") -> bool:
    """Whether something was said lately of which no lease's message tells."""
    from lamplighter.domain.slack import channel  # noqa: PLC0415 -- only for labs with Slack

    trail = guard_services.lease_services.ledger.audit(facts.pool, facts.now - channel.TELLS_BACK)
    return any(channel.is_news(entry) for entry in trail)
