"""What the audit trail has of earlier sweeps and closes: breaches, a close under way, a leak's history."""

from collections.abc import Iterable
from datetime import datetime

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.guard.breach import EarlierBreach, GuardAction, Rule
from lamplighter.domain.guard.incident import Incident
from lamplighter.domain.pool.pool import PoolState


def closing_since(entries: Iterable[Entry]) -> datetime | None:
    """When the close began that has not ordered the new size yet; None when there is no such close."""
    since = None
    for entry in entries:
        # For a pool without a lease the sweep itself orders the size: there is nothing to wait for.
        began = entry.details.get("action") == GuardAction.CLOSE and (entry.lease or entry.nodes)
        if entry.kind == "closing":
            since = entry.at
        elif began:
            # The guard started it again because it failed: the wait does not begin again.
            since = since or entry.at
        elif entry.kind == "scaled":
            since = None
    return since


def earlier_breaches(entries: Iterable[Entry]) -> tuple[EarlierBreach, ...]:
    """The breaches among these entries, in their order."""
    return tuple(earlier_breach(entry) for entry in entries if "rule" in entry.details)


def earlier_breach(entry: Entry) -> EarlierBreach:
    """The breach that an audit entry of an earlier sweep has."""
    details = entry.details
    return EarlierBreach(
        details["rule"],
        details.get("action", ""),
        entry.lease,
        entry.at,
        paged=details.get("paged") == "yes",
        unsent=details.get("paged") == "no",
        subject=details.get("subject", ""),
    )


def incident(ledger: Ledger, state: PoolState) -> Incident | None:
    """A leaked pool's history from the audit trail."""
    since = state.leaked_since
    if since is None:
        return None
    entries = ledger.audit(state.name, since)
    closed = [entry.at for entry in entries if entry.details.get("action") == GuardAction.CLOSE]
    paged = [
        entry.at
        for entry in entries
        if entry.details.get("rule") == Rule.LEAKED
        and entry.details["action"] in {GuardAction.PAGE, GuardAction.MARK_LEAKED}
        and entry.details.get("paged") == "yes"
    ]
    return Incident(
        since,
        closed_at=max(closed, default=None),
        tries=len(closed),
        pages=len(paged),
        paged_at=max(paged, default=None),
        silenced_until=state.acked_until,
    )
