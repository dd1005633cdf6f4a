"""How the lab understood a command, as a sentence by the asker's clock. Every answer to a change shows it."""

from datetime import datetime, timedelta

from lamplighter.data.texts import Texts
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.notices.phrases import called
from lamplighter.domain.slack.times import Times


def sentence(command: Command, lease: Lease | None, times: Times, texts: Texts) -> str:
    """What a command asks for, without its reason; `lease` is the lease that it is about, if any."""
    return texts.say(
        f"slack.understood.{_kind(command)}",
        nodes=command.nodes or 1,
        pool=command.pool,
        opens=times.at(command.opens) if command.opens else "",
        until=times.at(_until(command, lease)),
        zone=times.zone.key,
        lease=called(texts, lease) if lease else "",
        id=lease.id if lease else "",
        window=command.window or "",
        date=command.date or "",
    )


def _kind(command: Command) -> str:
    """The last part of the text's key."""
    match command.verb:
        case Verb.OPEN if command.opens is not None:
            return "open-at"
        case Verb.OPEN if command.add:
            return "add"
        case Verb.SKIP | Verb.UNSKIP if command.date is None:
            return f"{command.verb}-next"
        case Verb.PAUSE if command.closes or command.lasting:
            return "pause-until"
        case _:
            return command.verb.value


def _until(command: Command, lease: Lease | None) -> datetime:
    if command.verb is Verb.EXTEND and lease is not None:
        return extended(command, lease)
    return ends(command)


def extended(command: Command, lease: Lease) -> datetime:
    """The end of a lease after an extension."""
    return command.closes or lease.closes + (command.lasting or timedelta())


def ends(command: Command) -> datetime:
    """The end that an open command or a pause asks for."""
    begins = command.opens or command.issued
    return command.closes or begins + (command.lasting or timedelta())
