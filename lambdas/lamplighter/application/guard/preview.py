"""What the guard would close on a pool now, if it enforced there. It asks AWS and the ledger, and changes nothing."""

from datetime import datetime

from lamplighter.application.capacity.services import CapacityServices
from lamplighter.domain.guard.breach import Breach, GuardAction
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.schedules.of_leases import held_back

CHANGES = frozenset({GuardAction.CLOSE, GuardAction.TERMINATE, GuardAction.RESTORE_SIZES})


def would_change(capacity: CapacityServices, pool: str, now: datetime) -> list[Breach]:
    """The breaches whose action changes the pool. Schedules and Kubernetes are not read, so their rules are left out.

    BadInput where the pool's node group does not exist.
    """
    seen, lab, ledger = capacity.see(pool), capacity.lab, capacity.ledger
    if seen.nodegroup is None:
        capacity.nodegroup(pool)  # raises BadInput
    leases = tuple(ledger.leases(pool))
    facts = PoolFacts(
        pool=pool,
        now=now,
        enforcing=True,
        ours=lab.pools[pool].existing is None,
        max_nodes=capacity.max_nodes(pool, seen.nodegroup),
        leases=leases,
        closing_since=None,
        nodegroup=seen.nodegroup,
        rolling=None,
        group=seen.group,
        instances=seen.instances,
        kubernetes_nodes=None,
        failsafe_wanted=(),
        failsafe_found=None,
        over_since=ledger.pool(pool).over_since,
        longest_lease=lab.guard.longest_lease,
        held_back=held_back(leases, ledger.pauses(), now),
    )
    return [breach for breach in sweep(facts) if breach.action in CHANGES]
