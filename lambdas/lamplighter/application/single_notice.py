"""A trail entry with its notice: both once, also where an answer is lost or two runs meet.

Each of the two has its mark in the ledger. So a run that comes again sends the notice of an entry whose write nobody
acknowledged.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Decision
from lamplighter.errors import LamplighterError

BESIDE = timedelta(seconds=30)
"""A run so soon after another came with it, and leaves the notice to it. Lambda tries again after a minute."""
LATE = timedelta(hours=3)
"""An entry that is older has sent its notice: an older release wrote no mark for it. The planner runs every hour."""


def once(ledger: Ledger, key: str, entry: Entry, send: Callable[[], object]) -> bool:
    """Write the entry and send its notice, unless a run before did so under this key. Whether somebody took it.

    `send` gives `no` for what neither topic nor function took: whoever calls again with this key sends it again.
    """
    sent = Decision(f"{key}-told", entry.kind, entry.why, entry.at)
    if ledger.command(entry.pool, sent.command) is not None:
        return True
    if not ledger.decide(entry.pool, Decision(key, entry.kind, entry.why, entry.at), entry):
        before = ledger.command(entry.pool, key)
        if before is not None and not BESIDE <= abs(entry.at - before.at) < LATE:
            return abs(entry.at - before.at) >= LATE
    if send() == "no":
        return False
    with suppress(LamplighterError):  # a run that comes again would send it again
        ledger.decide(entry.pool, sent)
    return True
