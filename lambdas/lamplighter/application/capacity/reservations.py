"""The reservation of a pool, which people extend or cancel in AWS: the ledger keeps what was read last.

Every grant goes by that. Where EC2 does not answer, the last values stay.
"""

from dataclasses import replace

from lamplighter.adapters.aws.capacity.reservations import Reservations
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.capacity.reservation import GONE
from lamplighter.reasons.reason import reason


def note_reservation(capacity: CapacityServices, pool: str, reservations: Reservations, who: str) -> bool:
    """Read and keep the reservation of a pool. True if it is another than before: then windows and ends move."""
    named = capacity.lab.pools[pool].reservation
    if named is None:
        return False
    found, before = reservations.read(named), capacity.ledger.reservation(pool, named)
    if found is None and before is not None:
        found = replace(before, state=GONE)
    if found is None or found == before:
        return False
    why = reason("audit.reservation.open-ended")
    if found.ends is not None:
        why = reason("audit.reservation.hours", begins=found.begins, ends=found.ends)
    what = reason("audit.reservation", reservation=named, pool=pool, state=found.state)
    capacity.ledger.keep_reservation(pool, found)
    capacity.ledger.append_audit(Entry(capacity.now(), pool, "reservation", who, what, why))
    return True
