"""What earlier sweeps and closes said, out of the audit trail: breaches, a close under way, a leak's history."""

from collections.abc import Iterable
from datetime import datetime

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.guard.breach import Action, EarlierBreach
from lamplighter.domain.guard.incident import Incident
from lamplighter.domain.pool.pool import PoolState


def closing_since(entries: Iterable[Entry]) -> datetime | None:
    """When the close began that has not given its order yet; None when there is no such close."""
    since = None
    for entry in entries:
        # A pool without any lease gets its order from the sweep itself: there is nothing to wait for.
        began = entry.details.get("action") == Action.CLOSE and (entry.lease or entry.nodes)
        if entry.kind == "closing":
            since = entry.at
        elif began:
            # Started again because it came to nothing: that is no reason to wait anew.
            since = since or entry.at
        elif entry.kind == "scaled":
            since = None
    return since


def said_in(entries: Iterable[Entry]) -> tuple[EarlierBreach, ...]:
    """The breaches among them, in their order."""
    return tuple(said_of(entry) for entry in entries if "rule" in entry.details)


def said_of(entry: Entry) -> EarlierBreach:
    """An audit entry of an earlier sweep as what it said."""
    details = entry.details
    return EarlierBreach(
        details["rule"],
        details.get("action", ""),
        entry.lease,
        entry.at,
        paged=details.get("paged") == "yes",
    )


def incident(ledger: Ledger, state: PoolState) -> Incident | None:
    """A leaked pool's history, out of the audit trail."""
    since = state.leaked_since
    if since is None:
        return None
    entries = ledger.audit(state.name, since)
    closed = [entry.at for entry in entries if entry.details.get("action") == Action.CLOSE]
    paged = [
        entry.at for entry in entries if entry.details.get("action") in {Action.PAGE, Action.MARK_LEAKED}
    ]
    return Incident(
        since,
        closed_at=max(closed, default=None),
        tries=len(closed),
        pages=len(paged),
        paged_at=max(paged, default=None),
        silenced_until=state.acked_until,
    )
