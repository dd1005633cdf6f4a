"""What people may order of the guard, and the answer: enforce or only watch a pool, silence its pages, keep a lease.

No order keeps a node that no lease justifies. application/leases/guard_changes.py writes the answer down.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.commands.command import Command
from lamplighter.domain.guard.incident import LONGEST_SILENCE
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.pool import PoolState
from lamplighter.reasons.reason import Reason, reason

ENFORCE, WATCH = "enforce", "watch"


@dataclass(frozen=True, slots=True)
class OrderOutcome:
    """The answer to an order; `until` and `lease` where it is about an instant or a lease."""

    outcome: str
    reason: Reason
    until: datetime | None = None
    lease: Lease | None = None


def mode(command: Command, pool: PoolState, as_deployed: str, wanted: str) -> OrderOutcome:
    """Enforce, or only watch; `as_deployed` is the mode in the lab file."""
    because = command.because
    if (pool.mode or as_deployed) == wanted:
        return OrderOutcome("unchanged", reason("guard.mode.already", pool=pool.name, mode=wanted))
    if wanted == ENFORCE:
        return OrderOutcome(
            "armed",
            reason("guard.mode.enforce.because", pool=pool.name, because=because)
            if because
            else reason("guard.mode.enforce", pool=pool.name),
        )
    return OrderOutcome(
        "watching",
        reason("guard.mode.watch.because", pool=pool.name, because=because)
        if because
        else reason("guard.mode.watch", pool=pool.name),
    )


def acknowledge(command: Command, pool: PoolState, now: datetime) -> OrderOutcome:
    """Silence the pages of a leaked pool for at most twelve hours. The guard goes on closing it."""
    if pool.leaked_since is None:
        return OrderOutcome("refused", reason("guard.ack.not-leaked", pool=pool.name))
    until = command.closes or now + (command.lasting or LONGEST_SILENCE)
    if until <= now:
        return OrderOutcome("refused", reason("guard.ack.over", until=until))
    if until > now + LONGEST_SILENCE:
        return OrderOutcome("refused", reason("guard.ack.too-long", most=now + LONGEST_SILENCE))
    granted = reason("guard.ack.granted", pool=pool.name, until=until)
    return OrderOutcome("acknowledged", granted, until=until)


def keep(command: Command, leases: Sequence[Lease], now: datetime) -> OrderOutcome:
    """Keep a lease although no pod has its GPUs: the lease that the order names, or the only one in force."""
    running = [lease for lease in leases if lease.in_force(now)]
    if command.lease is not None:
        running = [lease for lease in running if lease.id == command.lease]
    if not running:
        return OrderOutcome(
            "refused",
            reason("guard.keep.lease-not-in-force", lease=command.lease)
            if command.lease
            else reason("guard.keep.none-in-force", pool=command.pool),
        )
    if len(running) > 1:
        names = tuple(lease.id for lease in running)
        return OrderOutcome("refused", reason("guard.keep.several", pool=command.pool, leases=names))
    [lease] = running
    if lease.kept:
        already = reason("guard.keep.already", lease=lease.called(), by=lease.kept)
        return OrderOutcome("unchanged", already, lease=lease)
    kept = reason("guard.keep.granted", lease=lease.called(), until=lease.closes, by=command.by)
    return OrderOutcome("kept", kept, lease=lease)
