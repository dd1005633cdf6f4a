"""What an open pool can still give to a person, as far as it is known before the lab decides.

A lease's whole length counts for a role, and the person's other nodes at that time.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lamplighter.application.slack.context import RequestContext
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.allowance import answered_for
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.slack.asked import roles
from lamplighter.domain.slack.asked.roles import Wanted
from lamplighter.domain.slack.asked.understand import Word
from lamplighter.domain.slack.asked.understood import ends, extended
from lamplighter.domain.slack.room import Room

if TYPE_CHECKING:
    from lamplighter.application.leases.outlook import Outlook

KEPT_LONGER = (timedelta(minutes=30), timedelta(hours=1), timedelta(hours=2))
"""The later ends that [Keep until…] offers, from the present end."""


def room(context: RequestContext, command: Command, last: Lease) -> Room:
    """How much of the command can be granted now, when or why not the rest, and until when `last` can be kept.

    A limit of the person's role, the pool or the guard stays as it is: no instant is named then. A person without a
    role that may open is offered no node, but may ask an approver.
    """
    from lamplighter.application.leases.outlook import outlook  # noqa: PLC0415 -- the calendar is paid for here
    from lamplighter.application.views.free_times import next_free  # noqa: PLC0415

    slack_services, nodes = context.slack_services, command.nodes or 1
    pool = outlook(command.pool, slack_services.ledger, slack_services.lab, slack_services.now())
    later, command = tuple(_later(context, last, pool)), replace(command, add=True)
    whole = pool.opening(command)
    forbidden = roles.refusal(context.person, opened(context, command), slack_services.roles)
    beyond = roles.limit(context.person, opened(context, command), slack_services.roles)
    if whole.outcome != "refused" and beyond is None:
        if forbidden is None:
            return Room(nodes, later=later)
        return Room(0, forbidden, approvable=True, later=later)
    if forbidden is None and whole.earliest is not None:
        allowed = roles.allowance(context.person, opened(context, command), slack_services.roles)
        wish = replace(command, allowance=allowed)
        free = next_free(slack_services.lab, slack_services.ledger, wish, slack_services.now())
        return Room(0, earliest=whole.earliest, free=free, later=later)

    def is_granted(number: int) -> bool:
        part = replace(command, nodes=number)
        may = roles.refusal(context.person, opened(context, part), slack_services.roles) is None
        return may and pool.opening(part).outcome != "refused"

    fewer = next(filter(is_granted, range(nodes - 1, 0, -1)), 0)
    return Room(fewer, forbidden or whole.reason, later=later)


def opened(context: RequestContext, command: Command) -> Wanted:
    """What an open command comes to. The person's nodes and those that they approved for others count together."""
    begins, until = command.opens or command.issued, ends(command)
    theirs = answered_for(context.leases(command.pool), context.person.written, command.owner, begins, until)
    return Wanted(Word.OPEN, command.pool, theirs + (command.nodes or 1), until - begins)


def kept(context: RequestContext, command: Command, lease: Lease) -> Wanted:
    """What an extend command comes to."""
    until = extended(command, lease)
    others = (other for other in context.leases(lease.pool) if other.id != lease.id)
    theirs = answered_for(others, context.person.written, lease.owner, lease.closes, until)
    # A person may keep more nodes than their role allows, where somebody approved them.
    nodes = theirs + lease.nodes if theirs else None
    return Wanted(Word.EXTEND, lease.pool, nodes, until - lease.begins, lease)


def _later(context: RequestContext, lease: Lease, pool: "Outlook") -> Iterator[datetime]:
    for longer in KEPT_LONGER:
        order = context.order(Verb.EXTEND, lease.pool)
        command = replace(order, owner=lease.owner, lease=lease.id, closes=lease.closes + longer)
        why = roles.refusal(context.person, kept(context, command, lease), context.slack_services.roles)
        if why is None and pool.extension(command).outcome == "extended":
            yield lease.closes + longer
