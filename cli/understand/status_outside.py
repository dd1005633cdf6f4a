"""What the guard last did or said about GPU instances that belong to no pool, for `status`."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.guard.breach import GuardAction, Rule
from lamplighter.lab.model import Lab

SAID_WITHIN = timedelta(days=1)
"""The guard reports once a day what it leaves alone."""
DONE_WITHIN = timedelta(hours=1)


def outside(ledger: Ledger, lab: Lab, now: datetime) -> Iterator[Entry]:
    """The newest entry about each of them. One pool of the lab has these entries, since they belong to none."""
    newest = {
        entry.details.get("subject", ""): entry
        for pool in lab.pools_with("node pool")[:1]
        for entry in ledger.audit(pool, now - SAID_WITHIN)
        if entry.details.get("rule") == Rule.GPU_OUTSIDE_POOLS
    }
    for entry in newest.values():
        if entry.details.get("action") == GuardAction.SAY or now - entry.at <= DONE_WITHIN:
            yield entry
