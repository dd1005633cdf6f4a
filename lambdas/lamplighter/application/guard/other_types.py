"""Removes nodes of a type that no lease was granted for, one by one. domain/guard/other_types.py chooses them."""

from lamplighter.application.capacity.sizes import still_writing
from lamplighter.application.guard.services import GuardServices
from lamplighter.domain.capacity.evidence import SIZES
from lamplighter.domain.capacity.port import Removal
from lamplighter.domain.guard.breach import Breach
from lamplighter.domain.guard.facts import PoolFacts


def remove(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """As the only writer of the pool, lower its size by these nodes: a node in their place would be of the same type.

    Where pods bring the nodes, the size is only a limit and stays: the leases still need it.
    """
    capacity, pool = guard_services.capacity, facts.pool
    with capacity.ledger.writing(pool, guard_services.holder, capacity.now()) as fence:
        seen = capacity.see(pool, SIZES)
        listed = {member.instance for member in seen.members}
        why = Removal.REPLACED if seen.dynamic else Removal.FEWER
        still_writing(capacity, fence)
        for reason, instances in (
            (why, [each for each in breach.instances if each in listed]),
            (Removal.STRAY, [each for each in breach.instances if each not in listed]),
        ):
            if instances and seen.controller is not None:
                capacity.of(pool).remove(pool, instances, reason, seen)
    return True
