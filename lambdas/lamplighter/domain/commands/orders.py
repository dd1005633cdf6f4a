"""Makes commands from words; the same in a shell and in Slack.

The caller of these functions gives the person's name, and an id under which the command is the same however often it
is given. The workflow that it starts decides whether it is granted.
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
"""An opening within this time begins now, because a schedule cannot be that near."""
CHANGES = "ChangeLab"
WORKFLOWS: Mapping[Verb, str] = {
    Verb.OPEN: "OpenLab",
    Verb.CLOSE: "CloseLab",
    Verb.EXTEND: "ExtendLease",
    Verb.EXPERIMENT: "Experiment",
    Verb.RESTORE: "Experiment",
}
"""The workflow of a verb; every other verb is a change of the lab."""


def workflow(verb: Verb) -> str:
    """The workflow that takes the verb."""
    return WORKFLOWS.get(verb, CHANGES)


def order(verb: Verb, pool: str, *, command_id: str, by: str, source: str, now: datetime) -> Command:
    """A command of a person, valid for a quarter of an hour; the person owns the lease that it makes."""
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
    """A command that opens a lease; the defaults are one node, now, and the default length."""
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
    """A command that extends a lease."""
    return replace(
        given,
        owner=lease.owner,
        lease=lease.id,
        closes=said.closes,
        lasting=said.duration,
        because=said.because,
    )


def closing(given: Command, lease: Lease) -> Command:
    """A command that ends a lease before its time."""
    return replace(given, owner=lease.owner, lease=lease.id, because=reason("lease.closed-by", by=given.by))
