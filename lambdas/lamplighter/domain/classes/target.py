"""What a class's namespace shall have at an instant: the seats of the running leases whose windows name it.

It is a whole target, never a difference: whoever writes it, however late, writes what the ledger justifies then.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.gpu.sharing import all_resources, resources
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.nodes import EFA_RESOURCE
from lamplighter.lab.classes import WindowClass
from lamplighter.lab.model import Lab


@dataclass(frozen=True, slots=True)
class ClassTarget:
    """The seats of one namespace, and how many GPUs of each resource they are."""

    terms: WindowClass
    seats: int
    gpus: Mapping[str, int]
    """Every resource of GPUs; 0 for one that no running lease of the class offers."""


def classes(lab: Lab) -> dict[str, WindowClass]:
    """The classes of the lab by namespace, in the lab's order; windows with the same namespace agree on the rest."""
    return {window.class_.namespace: window.class_ for window in lab.windows if window.class_ is not None}


def targets(lab: Lab, leases: Iterable[Lease], at: datetime) -> list[ClassTarget]:
    """The target of each class of the lab, from all leases of all its pools."""
    known = list(leases)
    running = [lease for lease in known if lease.in_force(at)]
    windows = {window.name: window for window in lab.windows}
    # A quota limits what it names: the cluster may have GPUs of other labs.
    offered = all_resources() | (
        frozenset() if any(pool.efa for pool in lab.pools.values()) else {EFA_RESOURCE}
    )
    made = []
    for namespace, terms in classes(lab).items():
        seats, gpus = 0, dict.fromkeys(sorted(offered), 0)
        for lease in running:
            window = windows.get(lease.window or "")
            if window is None or window.class_ is None or window.class_.namespace != namespace:
                continue
            seats += window.seats or 0
            # A node offers its GPUs as the pool's first open lease asked when the node was labelled.
            beside = [
                one
                for one in known
                if one.pool == lease.pool and one.opens <= at and one.closes > lease.opens
            ]
            for name in {name for one in beside for name in resources(lab, lease.pool, one.window)}:
                gpus[name] += window.seats or 0
        made.append(ClassTarget(terms, seats, gpus))
    return made
