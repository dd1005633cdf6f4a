"""What the guard would close on a pool now, if it enforced there. It asks AWS and the ledger, and changes nothing."""

from dataclasses import replace
from datetime import datetime

from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.guard.known import known
from lamplighter.domain.guard.breach import Breach, GuardAction
from lamplighter.domain.guard.guard import sweep

CHANGES = frozenset({GuardAction.CLOSE, GuardAction.TERMINATE, GuardAction.REMOVE, GuardAction.RESTORE_SIZES})


def would_change(capacity: CapacityServices, pool: str, now: datetime) -> list[Breach]:
    """The breaches whose action changes the pool. Schedules and Kubernetes are not read, so their rules are left out.

    BadInput where the pool's capacity does not exist.
    """
    seen, ledger = capacity.see(pool), capacity.ledger
    if not seen.exists:
        raise capacity.missing(pool)
    leases = tuple(ledger.leases(pool))
    facts = known(capacity, pool, seen, leases, ledger.pauses(), now=now)
    facts = replace(facts, over_since=ledger.pool(pool).over_since)
    return [breach for breach in sweep(facts) if breach.action in CHANGES]
