"""Whether a lease without a node moves to a fallback pool, and the commands that move it.

A lease moves whole: on the other pool a new lease takes its place, and it closes in the same write of the ledger. It
moves only while it justifies no node: a shortage keeps all its nodes away, and nothing is ordered or held for them. So
no two pools ever run nodes for it. grant.py decides whether the other pool grants it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.granting.grant import SHORTEST, GrantDecision
from lamplighter.domain.leases.lease import Lease, LeaseState, MovedLease
from lamplighter.domain.schedules.schedule import CLOSE_GOOD_FOR
from lamplighter.reasons.reason import Reason, Said, Sentences, reason

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab

_LONGEST_BEGINNING = 40
"""So much of the old id begins the new one: the names of its schedules have at most 64 characters."""


class FallbackStep(StrEnum):
    """What becomes of the lease."""

    STAY = "stay"
    """It has nodes, or it is over, now or within minutes."""
    MOVE = "move"
    ASK = "ask"
    """A person decides with a button."""
    NOTHING = "nothing"
    """No fallback pool takes it: the lab goes on trying its own pool."""


@dataclass(frozen=True, slots=True)
class FallbackDecision:
    """What becomes of a lease whose pool is short; `pool` would take it."""

    step: FallbackStep
    reason: Said
    pool: str | None = None


def chain(lab: "Lab", pool: str) -> tuple[str, ...]:
    """The pools that may take a lease of this pool, in their order; each once, whatever the lab says."""
    found: list[str] = []
    following = lab.pools[pool].fallback
    while following in lab.pools and following not in (pool, *found):
        found.append(following)
        following = lab.pools[following].fallback
    return tuple(found)


def decide(
    lease: Lease, answers: Sequence[tuple[str, GrantDecision]], now: datetime, *, ask: bool
) -> FallbackDecision:
    """What becomes of a lease; `answers` are those of its fallback pools to its `command`, in their order."""
    if not lease.in_force(now) or lease.wanted:
        return FallbackDecision(FallbackStep.STAY, reason("lease.fallback.stays", lease=lease.called()))
    if lease.closes - now < SHORTEST:
        late = reason("lease.fallback.too-late", lease=lease.called(), until=lease.closes)
        return FallbackDecision(FallbackStep.STAY, late)
    for pool, answer in answers:
        if answer.outcome == "granted":
            step, code = (FallbackStep.ASK, "ask") if ask else (FallbackStep.MOVE, "moves")
            return FallbackDecision(
                step, reason(f"lease.fallback.{code}", lease=lease.called(), to=pool), pool
            )
    return FallbackDecision(
        FallbackStep.NOTHING, nothing_there([(pool, said.reason) for pool, said in answers])
    )


def nothing_there(refusals: Sequence[tuple[str, Said]]) -> Said:
    """Why no fallback pool takes the lease: a sentence for each."""
    return Sentences(tuple(reason("lease.fallback.refused", to=pool, why=why) for pool, why in refusals))


def alike(one: Said, other: Said) -> bool:
    """Whether two answers have the same causes: instants and amounts in them change every round."""
    return _causes(one) == _causes(other)


def _causes(said: Said) -> tuple[object, ...]:
    if isinstance(said, Sentences):
        return tuple(_causes(part) for part in said.sentences)
    if isinstance(said, Reason):
        inner = (value for value in said.values.values() if isinstance(value, Reason | Sentences))
        return (said.code, *map(_causes, inner))
    return (said,)


def command(lease: Lease, pool: str, now: datetime) -> Command:
    """The command that opens the lease's place on another pool.

    The id of the new lease follows from the old one, so it is granted once. Each round for missing nodes has a
    generation of its own, so it is another command.
    """
    whole = f"{lease.pool} {lease.id} {pool}"
    digest = hashlib.sha256(f"{whole} {lease.generation}".encode()).hexdigest()[:8]
    return Command(
        id=f"move-{lease.id[:_LONGEST_BEGINNING]}-{digest}",
        verb=Verb.OPEN,
        pool=pool,
        owner=lease.owner,
        by=lease.by or (f"window {lease.window}" if lease.window else lease.owner),
        source=lease.source,
        issued=now,
        expires=lease.closes,
        lease=f"{lease.id[:_LONGEST_BEGINNING]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}",
        nodes=lease.nodes,
        closes=lease.closes,
        window=lease.window,
        date=lease.date,
        because=lease.because,
        add=True,
        moved_from=MovedLease(lease.pool, lease.id),
    )


def close_command(left: Lease, taken: Lease) -> Command:
    """The command that closes a lease whose place another pool has taken."""
    return Command(
        id=f"close-moved-{left.id[:_LONGEST_BEGINNING]}-{taken.id[-8:]}",
        verb=Verb.CLOSE,
        pool=left.pool,
        owner=left.owner,
        by=left.by or left.owner,
        source="guard",
        issued=left.closes,
        expires=left.closes + CLOSE_GOOD_FOR,
        lease=left.id,
        because=moved_to(left, taken.pool),
    )


def moved_to(lease: Lease, pool: str) -> Reason:
    """Why a lease that has moved is being closed."""
    return reason("lease.fallback.moved", lease=lease.called(), pool=lease.pool, to=pool)


def may_not_move(lease: Lease | None, now: datetime, *, came: bool) -> Said | None:
    """Why a lease may not move any more, where a button or a command comes late; `came`: nodes of it run."""
    if lease is None:
        return reason("lease.state.unknown")
    if lease.moved_to is not None:
        return moved_to(lease, lease.moved_to.pool)
    if not lease.in_force(now):
        state = LeaseState.CLOSING if lease.granted else lease.state
        return reason("lease.fallback.over", lease=lease.called(), state=lease.in_state(state).stands())
    return reason("lease.fallback.stays", lease=lease.called()) if came else None
