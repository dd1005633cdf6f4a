"""What people may say to the guard, and the answer: arm or only watch a pool, silence its pages, keep a lease.

None of it keeps a node that no lease justifies; writing the answer down is leases/guard_changes.py's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.commands.command import Command
from lamplighter.domain.guard.incident import LONGEST_SILENCE
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.pool import PoolState
from lamplighter.values.instant import clock_time

ENFORCE, WATCH = "enforce", "watch"


@dataclass(frozen=True, slots=True)
class OrderOutcome:
    """What comes of an order; `until` and `lease` where it is about an instant or a lease."""

    outcome: str
    reason: str
    until: datetime | None = None
    lease: Lease | None = None


def mode(command: Command, pool: PoolState, as_deployed: str, wanted: str) -> OrderOutcome:
    """Enforce, or only watch; `as_deployed` is what the lab says."""
    said = f", because {command.because}" if command.because else ""
    if (pool.mode or as_deployed) == wanted:
        return OrderOutcome("unchanged", f"pool {pool.name} is in {wanted} already")
    if wanted == ENFORCE:
        return OrderOutcome(
            "armed", f"what runs on pool {pool.name} without a lease is closed from now on{said}"
        )
    return OrderOutcome(
        "watching",
        f"what runs on pool {pool.name} without a lease is only said from now on, not closed{said}",
    )


def acknowledge(command: Command, pool: PoolState, now: datetime) -> OrderOutcome:
    """Silence the pages of a leaked pool, for at most twelve hours; it is closed on all the same."""
    if pool.leaked_since is None:
        return OrderOutcome("refused", f"pool {pool.name} is not leaked, so nobody is paged about it")
    until = command.closes or now + (command.lasting or LONGEST_SILENCE)
    if until <= now:
        return OrderOutcome("refused", f"{clock_time(until)} is over already")
    if until > now + LONGEST_SILENCE:
        return OrderOutcome(
            "refused", f"pages are silenced for at most 12 hours, until {clock_time(now + LONGEST_SILENCE)}"
        )
    return OrderOutcome(
        "acknowledged",
        f"nobody is paged about pool {pool.name} until {clock_time(until)}; it is being closed all the same",
        until=until,
    )


def keep(command: Command, leases: Sequence[Lease], now: datetime) -> OrderOutcome:
    """Keep a lease though no pod holds its GPUs; the one named, or the only one in force."""
    running = [lease for lease in leases if lease.in_force(now)]
    if command.lease is not None:
        running = [lease for lease in running if lease.id == command.lease]
    if not running:
        what = f"the lease {command.lease}" if command.lease else f"any lease of pool {command.pool}"
        return OrderOutcome("refused", f"{what} is not in force, so there is nothing to keep")
    if len(running) > 1:
        names = ", ".join(lease.id for lease in running)
        return OrderOutcome("refused", f"pool {command.pool} has several leases, name one of {names}")
    [lease] = running
    if lease.kept:
        return OrderOutcome("unchanged", f"{lease.called()} is kept already, by {lease.kept}", lease=lease)
    return OrderOutcome(
        "kept",
        f"{lease.called()} is kept until {clock_time(lease.closes)}, idle or not, by {command.by}",
        lease=lease,
    )
