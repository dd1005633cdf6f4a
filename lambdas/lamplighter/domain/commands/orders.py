"""How words become a command: the same typed in a shell and in Slack.

The giver says who they are, and an id under which the command is the same however often it is given; here is
added what it is about. Whether it is granted is decided by the workflow that it starts.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.commands.words import OpenWords
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.reason import reason

EXPIRES_AFTER = timedelta(minutes=15)
SOON = timedelta(minutes=2)
"""What begins in a moment begins now: no schedule is that near."""
CHANGES = "ChangeLab"
WORKFLOWS: Mapping[Verb, str] = {
    Verb.OPEN: "OpenLab",
    Verb.CLOSE: "CloseLab",
    Verb.EXTEND: "ExtendLease",
    Verb.EXPERIMENT: "Experiment",
    Verb.RESTORE: "Experiment",
}
"""Which workflow a command starts; every other verb is a change of the lab."""


def workflow(verb: Verb) -> str:
    """The workflow that takes the verb."""
    return WORKFLOWS.get(verb, CHANGES)


def order(verb: Verb, pool: str, *, command_id: str, by: str, source: str, now: datetime) -> Command:
    """A command of theirs, good for a quarter of an hour; the giver answers for what it makes."""
    return Command(
        id=command_id,
        verb=verb,
        pool=pool,
        owner=by,
        by=by,
        source=source,
        issued=now,
        expires=now + EXPIRES_AFTER,
    )


def opening(given: Command, said: OpenWords, default: timedelta, *, add: bool = False) -> Command:
    """Asks for a lease; what was left unsaid is one node, now, for the usual length."""
    opens = said.opens if said.opens is not None and said.opens - given.issued > SOON else None
    return replace(
        given,
        nodes=said.nodes or 1,
        opens=opens,
        closes=said.closes,
        lasting=None if said.closes else said.duration or default,
        because=said.because,
        add=add,
    )


def extending(given: Command, lease: Lease, said: OpenWords) -> Command:
    """Asks for more time on a lease."""
    return replace(
        given,
        owner=lease.owner,
        lease=lease.id,
        closes=said.closes,
        lasting=said.duration,
        because=said.because,
    )


def closing(given: Command, lease: Lease) -> Command:
    """Ends a lease before its time."""
    return replace(given, owner=lease.owner, lease=lease.id, because=reason("lease.closed-by", by=given.by))
