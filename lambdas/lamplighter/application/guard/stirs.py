"""Slack's board updates when the ledger changes. Where it must update without a change, a sweep writes to the ledger.

An offer lapses, and a pause ends, without any write. In a quiet lab the one event about a calendar change may be lost.
"""

from typing import TYPE_CHECKING

from lamplighter.errors import LamplighterError

if TYPE_CHECKING:
    from lamplighter.application.guard.services import GuardServices
    from lamplighter.domain.guard.facts import PoolFacts


def stir(guard_services: "GuardServices", facts: "PoolFacts", failures: list[str]) -> None:
    """Write the pool's own item while somebody waits in Slack, or soon after news of the pool."""
    if guard_services.capacity.lab.slack is None:
        return
    try:
        if _is_waited_for(guard_services, facts) or _has_news(guard_services, facts):
            guard_services.lease_services.ledger.note_stirred(facts.pool, facts.now)
    except LamplighterError as error:
        failures.append(f"pool {facts.pool}, update of Slack: {error}")


def _is_waited_for(guard_services: "GuardServices", facts: "PoolFacts") -> bool:
    return bool(guard_services.lease_services.ledger.wishes(facts.pool, facts.now))


def _has_news(guard_services: "GuardServices", facts: "PoolFacts") -> bool:
    """Whether there is recent news that no lease's message in Slack has."""
    from lamplighter.domain.slack import channel  # noqa: PLC0415 -- only for labs with Slack

    trail = guard_services.lease_services.ledger.audit(facts.pool, facts.now - channel.TELLS_BACK)
    return any(channel.is_news(entry) for entry in trail)
