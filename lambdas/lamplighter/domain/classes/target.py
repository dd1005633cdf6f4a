"""What a class's namespace shall have at an instant: the seats of the running leases whose windows name it.

It is a whole target, never a difference: whoever writes it, however late, writes what the ledger justifies then.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.gpu.sharing import resources
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.target import first_open
from lamplighter.lab.classes import WindowClass
from lamplighter.lab.model import Lab


@dataclass(frozen=True, slots=True)
class ClassTarget:
    """The seats of one namespace, and how many GPUs of each resource they are."""

    terms: WindowClass
    seats: int
    gpus: Mapping[str, int]
    """Every resource of GPUs that the lab offers; 0 for one that no running lease of the class offers."""


def classes(lab: Lab) -> dict[str, WindowClass]:
    """The classes of the lab by namespace, in the lab's order; windows with the same namespace agree on the rest."""
    return {window.class_.namespace: window.class_ for window in lab.windows if window.class_ is not None}


def targets(lab: Lab, leases: Iterable[Lease], at: datetime) -> list[ClassTarget]:
    """The target of each class of the lab, from all leases of all its pools."""
    running = [lease for lease in leases if lease.in_force(at)]
    windows = {window.name: window for window in lab.windows}
    offered = {
        name for pool in lab.pools for window in (None, *windows) for name in resources(lab, pool, window)
    }
    made = []
    for namespace, terms in classes(lab).items():
        seats, gpus = 0, dict.fromkeys(sorted(offered), 0)
        for lease in running:
            window = windows.get(lease.window or "")
            if window is None or window.class_ is None or window.class_.namespace != namespace:
                continue
            seats += window.seats or 0
            # The pool offers its GPUs as its first open lease asks.
            first = first_open([other for other in running if other.pool == lease.pool], at)
            for name in resources(lab, lease.pool, first.window if first else None):
                gpus[name] += window.seats or 0
        made.append(ClassTarget(terms, seats, gpus))
    return made
