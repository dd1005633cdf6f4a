"""Whether an open pool has room for a command, as far as it is known before the lab decides."""

from dataclasses import replace

from lamplighter.application.slack.context import RequestContext
from lamplighter.domain.commands.command import Command
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.occupancy import crowded_at
from lamplighter.domain.slack.asked import roles
from lamplighter.domain.slack.asked.roles import Wanted
from lamplighter.domain.slack.asked.understand import Word
from lamplighter.domain.slack.asked.understood import ends
from lamplighter.domain.slack.room import Room


def room(context: RequestContext, command: Command) -> Room:
    """How much of the command can be granted now, and when or why not the rest.

    A limit of the person's role, the pool or the guard stays as it is: no instant is named then. A person without a
    role that may open is offered no node, but may ask an approver.
    """
    found = _by_time(context, command)
    wanted = Wanted(Word.OPEN, command.pool, found.nodes, ends(command) - (command.opens or command.issued))
    forbidden = roles.refusal(context.person, wanted, context.slack_services.roles) if found.nodes else None
    return found if forbidden is None else replace(found, nodes=0, never=forbidden, approvable=True)


def _by_time(context: RequestContext, command: Command) -> Room:
    slack_services, nodes = context.slack_services, command.nodes or 1
    lab, begins = slack_services.lab, command.opens or command.issued
    until, longest = ends(command), lab.guard.longest_lease
    wanted = Wanted(Word.OPEN, command.pool, nodes, until - begins)
    beyond = roles.limit(context.person, wanted, slack_services.roles)
    there = [
        lease for lease in context.leases(command.pool) if lease.granted or lease.state is LeaseState.PLANNED
    ]
    most = lab.pools[command.pool].max_nodes

    def free(number: int) -> bool:
        return crowded_at(there, number, begins, until, most) is None

    if until - begins <= longest and free(nodes):
        return Room(0 if beyond else nodes, beyond, longest=longest)
    from lamplighter.application.leases.outlook import outlook  # noqa: PLC0415 -- the calendar is paid for here

    decision = outlook(command.pool, slack_services.ledger, lab, slack_services.now())(
        replace(command, add=True)
    )
    if decision.outcome != "refused":
        return Room(0 if beyond else nodes, beyond, longest=longest)
    if beyond is None and decision.earliest is not None:
        return Room(0, earliest=decision.earliest, longest=longest)
    too_long = beyond is not None or until - begins > longest
    fewer = 0 if too_long else next(filter(free, range(nodes - 1, 0, -1)), 0)
    return Room(fewer, beyond or decision.reason, longest=longest)
