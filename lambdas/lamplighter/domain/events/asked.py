"""A request that was let in and waits for the lab's decision: the ledger keeps it until it is answered."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.events.request import EventRequest

DECIDED_WITHIN = timedelta(minutes=10)
"""A workflow that has not decided so long after its command expired has failed, and the failure was paged."""


@dataclass(frozen=True, slots=True)
class AskedByEvent:
    """One event and the command that it gave; several events with one token give the same command."""

    event: str
    command: str
    verb: Verb
    pool: str
    owner: str
    lease: str
    """The lease that it opens, extends or closes."""
    expires: datetime
    held: bool = False
    """It is not known yet whether its close came before it, so nothing is started."""

    @classmethod
    def of(cls, request: EventRequest, command: Command) -> "AskedByEvent":
        """The request and its command."""
        return cls(
            request.event,
            command.id,
            command.verb,
            command.pool,
            command.owner,
            command.lease_id,
            command.expires,
        )

    def undecided(self, now: datetime) -> bool:
        """Whether no decision comes any more."""
        return now > self.expires + DECIDED_WITHIN
