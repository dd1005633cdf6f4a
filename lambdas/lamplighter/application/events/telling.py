"""Tells what happened to a pool, and answers the requests about it. Every run takes up what earlier ones left.

An event that the bus did not take is told by the next run. Where a run dies between telling and noting, the next one
tells its events again.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.application.events.putting import check_taken, put
from lamplighter.application.events.services import EventServices
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.events import telling
from lamplighter.domain.events.cursor import GIVEN_UP_AFTER, OVERLAP, Cursor
from lamplighter.domain.events.orders import SOURCE
from lamplighter.domain.events.telling import Known
from lamplighter.domain.leases.lease import Lease


def tell(pool: str, services: EventServices) -> list[str]:
    """Tells what is new about a pool; returns the detail-types that the bus took.

    Raises OutsideFailed where it did not take all, after all were tried.
    """
    try:
        answered = _answer(pool, services)
    finally:
        # Whatever is wrong with a request, what happens is told.
        trail = _tell_trail(pool, services)
    told = [*answered, *trail]
    check_taken([error for _, error in told if error], services)
    return [kind for kind, _ in told]


def _answer(pool: str, services: EventServices) -> list[tuple[str, str]]:
    """Answers the requests that are decided; gives each answer's type, with the error where it was not taken."""
    now, known = services.now(), services.known()
    ready = []
    for asked in services.ledger.asked(pool):
        decision = services.ledger.command(pool, asked.command)
        lease = services.ledger.lease(pool, asked.lease)
        answer = telling.of_answer(asked, decision, lease, known, now)
        if answer is not None:
            ready.append((asked, answer))
    failed = put([answer for _, answer in ready], services)
    for place, (asked, _) in enumerate(ready):
        if place not in failed or now - asked.expires > GIVEN_UP_AFTER:
            services.ledger.forget(asked)
    return [(answer.TYPE, failed.get(place, "")) for place, (_, answer) in enumerate(ready)]


def _tell_trail(pool: str, services: EventServices) -> list[tuple[str, str]]:
    """Tells the new entries of the audit trail, and moves the cursor past what was told."""
    now = services.now()
    cursor = services.ledger.cursor(pool)
    begun = cursor or Cursor.first(now)
    read = services.ledger.trail(pool, begun.since)
    # Of a new bus, what is older than its beginning counts as told.
    before = frozenset() if cursor else frozenset(key for key, entry in read if entry.at < begun.until)
    tellable = [(key, entry) for key, entry in read if telling.is_told(entry)]
    later = telling.unfinished(tellable, now)
    new = [row for row in tellable if row[0] not in begun.keys | before | later]
    told = telling.of_trail(new, _known(pool, new, services))
    events = [(each.keys, event) for each in told for event in each.events]
    failed = put([event for _, event in events], services)
    owed = later.union(*(events[place][0] for place in failed)) - begun.keys
    after = begun.moved(
        ((key, entry.at) for key, entry in read),
        done=before.union(*(each.keys for each in told)) - owed,
        owed=owed,
        now=now,
    )
    if cursor is None or new or after.until - begun.until > OVERLAP:
        # Where another run moved it meanwhile, that run has told the same.
        with suppress(Conflict):
            services.ledger.move_cursor(pool, after)
    return [(event.TYPE, failed.get(place, "")) for place, (_, event) in enumerate(events)]


def _opening_event(lease: Lease, services: EventServices) -> str | None:
    """The event that opened a lease, or the lease that moved here."""
    event, left = services.ledger.opened_by(lease.pool, lease.id), lease.moved_from
    while event is None and left is not None:
        event = services.ledger.opened_by(left.pool, left.lease)
        earlier = services.ledger.lease(left.pool, left.lease)
        left = earlier.moved_from if earlier else None
    return event


def _known(pool: str, new: Sequence[tuple[str, Entry]], services: EventServices) -> Known:
    """What the events of these entries are made with."""
    if not new:
        return services.known()
    leases = {lease.id: lease for lease in services.ledger.leases(pool)}
    named = {
        entry.lease for _, entry in new if entry.lease in leases and leases[entry.lease].source == SOURCE
    }
    replies = {lease: _opening_event(leases[lease], services) for lease in named}

    def receipt(lease: Lease) -> dict[str, object] | None:
        return services.ledger.receipt(pool, lease.id, lease.closed) if lease.closed else None

    return replace(
        services.known(),
        leases=leases,
        replies={lease: event for lease, event in replies.items() if event},
        receipt=receipt,
    )
