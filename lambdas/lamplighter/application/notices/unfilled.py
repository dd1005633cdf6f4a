"""Reads what the letter about a lease without its nodes tells: its shortage, its cost, and the next free times."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from lamplighter.application import environment
from lamplighter.application.logs import logger
from lamplighter.domain.commands import orders
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.money.money import Money
from lamplighter.domain.notices import unfilled
from lamplighter.domain.notices.unfilled import Later
from lamplighter.errors import LamplighterError
from lamplighter.lab.pools import LONGEST_CHAIN
from lamplighter.reasons.reason import Said

if TYPE_CHECKING:
    from lamplighter.application.notices.services import NoticeServices
    from lamplighter.domain.notices.announcement import Announcement

BEFORE = timedelta(hours=1)
"""Entries from so long before its opening may be the lease's."""


def letter(leases: Sequence[Lease], why: Said, notice_services: "NoticeServices") -> "Announcement | None":
    """The letter, if the one lease that ends never got all its nodes, as far as that can be found out now."""
    # The letter about a lease that moved comes from its last pool, if that one has nothing either.
    if len(leases) != 1 or leases[0].moved_to is not None:
        return None
    try:
        return _letter(leases[0], why, notice_services)
    except LamplighterError as error:
        logger().warning("whether the lease got its nodes is not known: %s", error)
        return None


def _letter(lease: Lease, why: Said, notice_services: "NoticeServices") -> "Announcement | None":
    from lamplighter.domain.views.lease_view import cost_so_far  # noqa: PLC0415 -- most closes need none of it

    ledger, now = notice_services.ledger, notice_services.now()
    trail = ledger.audit(lease.pool, lease.opens - BEFORE)
    about = unfilled.unfilled(lease, ledger.progress(lease.pool, lease.id), trail)
    if about is None:
        return None
    had = replace(lease, missing=lease.nodes - about.came)
    cost = cost_so_far(had, None, now) if about.came else Money.zero(lease.hold.currency)
    later = _later(lease, notice_services)
    return unfilled.letter(about, why, cost, later, min(now, lease.closes), _before(lease, notice_services))


def _before(lease: Lease, notice_services: "NoticeServices") -> tuple[str, ...]:
    """The pools that the lease came from, the first one first."""
    pools: list[str] = []
    while lease.moved_from is not None and len(pools) < LONGEST_CHAIN:
        pools.insert(0, lease.moved_from.pool)
        earlier = notice_services.ledger.lease(lease.moved_from.pool, lease.moved_from.lease)
        if earlier is None:
            break
        lease = earlier
    return tuple(pools)


def _later(lease: Lease, notice_services: "NoticeServices") -> Later | None:
    """When a lease like it would be granted; None where that cannot be found out now."""
    from lamplighter.application.leases.outlook import why_never  # noqa: PLC0415
    from lamplighter.application.views.free_times import next_free  # noqa: PLC0415

    ledger, now = notice_services.ledger, notice_services.now()
    lab = environment.as_kept(notice_services.lab, ledger)
    wish = replace(_like(lease), issued=now, expires=now + orders.EXPIRES_AFTER)
    free = next_free(lab, ledger, wish, now)
    return None if free is None else Later(free, None if free else why_never(wish, ledger, lab, now))


def _like(lease: Lease) -> Command:
    return Command(
        id=lease.id,
        verb=Verb.OPEN,
        pool=lease.pool,
        owner=lease.owner,
        by=lease.by or lease.owner,
        source="slack",
        issued=lease.opens,
        expires=lease.closes,
        nodes=lease.nodes,
        lasting=lease.closes - lease.begins,
        add=True,
    )
