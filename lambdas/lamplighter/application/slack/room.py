"""Whether an open pool has room for a command, as far as it is known before the lab decides."""

from dataclasses import replace
from datetime import datetime

from lamplighter.application.slack.context import RequestContext
from lamplighter.domain.commands.command import Command
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.leases.occupancy import crowded_at
from lamplighter.domain.slack.asked.understood import ends


def full_until(context: RequestContext, command: Command) -> datetime | None:
    """When a full pool would grant the command; None where it has room now, or never would."""
    begins, nodes = command.opens or command.issued, command.nodes or 1
    there = [
        lease for lease in context.leases(command.pool) if lease.granted or lease.state is LeaseState.PLANNED
    ]
    most = context.slack_services.lab.pools[command.pool].max_nodes
    if crowded_at(there, nodes, begins, ends(command), most) is None:
        return None
    from lamplighter.application.leases.outlook import outlook  # noqa: PLC0415 -- the calendar is paid for here

    slack_services = context.slack_services
    found = outlook(command.pool, slack_services.ledger, slack_services.lab, slack_services.now())(
        replace(command, add=True)
    )
    return found.earliest if found.outcome == "refused" else None
