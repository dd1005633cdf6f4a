"""The doctor's check of the reservations that pools are bought from: that they exist, fit, and have all nodes."""

from collections.abc import Iterator
from datetime import datetime

from lamplighter.domain.capacity.reservation import COMING, Reservation, misfits, wanted
from lamplighter.domain.doctor.facts import Facts
from lamplighter.domain.doctor.line import Judgement, Unread, unknown, unwell, well
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, reason


def reservation(facts: Facts, lab: Lab, _now: datetime) -> Iterator[Judgement]:
    """Each reservation is of the pool's type and zone, has its nodes, and all of them can be started."""
    for pool in lab.pools:
        needed = wanted(lab, pool)
        if needed is None:
            continue
        read = facts.reservations.get(pool, Unread(reason("doctor.not-asked-for")))
        if isinstance(read, Unread):
            yield unknown(read)
            continue
        found, advice = read.found, reason("doctor.reservation-advice", pool=pool)
        if found is None:
            yield unwell(
                reason("doctor.reservation-absent", reservation=needed.id, region=lab.region), advice
            )
            continue
        wrong = [*misfits(needed, found), *_lacks(found, read.unavailable, lab, pool)]
        yield from (unwell(said, advice) for said in wrong)
        if not wrong:
            yield well(
                reason(
                    "doctor.reservation-ok",
                    reservation=found.id,
                    pool=pool,
                    nodes=found.count,
                    type=found.instance_type,
                    zone=found.zone,
                    state=found.state,
                    hours=_hours(found),
                )
            )


def _lacks(found: Reservation, unavailable: int | None, lab: Lab, pool: str) -> Iterator[Said]:
    """Nodes that a lease may be granted and that the reservation does not give."""
    most = lab.pools[pool].max_nodes
    if found.state not in COMING:
        yield reason("doctor.reservation-state", reservation=found.id, pool=pool, state=found.state)
    if found.count < most:
        yield reason(
            "doctor.reservation-small", reservation=found.id, pool=pool, nodes=found.count, most=most
        )
    if unavailable:
        yield reason(
            "doctor.reservation-unavailable",
            reservation=found.id,
            nodes=found.count - unavailable,
            of=found.count,
        )


def _hours(found: Reservation) -> Said:
    """From when until when leases may have its nodes."""
    if found.closes is None:
        return reason("doctor.reservation-hours.open-ended", begins=found.begins)
    return reason("doctor.reservation-hours", begins=found.begins, closes=found.closes)
