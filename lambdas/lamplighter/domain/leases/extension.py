"""Whether a lease may end later, and which one an extend command means.

Extending is bounded by the longest lease, the pool and the budget, and names who; moving the failsafe
first and keeping the answer are the handler's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lamplighter.domain.commands.command import Command
from lamplighter.domain.leases import admission, allowance, following
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.occupancy import crowded_at, others, taken_at
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money import spending
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.reasons.reason import Said, reason

MAY_SHORTEN = frozenset({"window", "guard"})
"""People end a lease by closing it; only the lab's own rules move its end nearer, with notice."""


@dataclass(frozen=True, slots=True)
class Extension:
    """What an extend command gets: extended, shortened or refused, and the lease before and after."""

    outcome: str
    reason: Said
    before: Lease | None = None
    after: Lease | None = None


def meant(command: Command, leases: Sequence[Lease], now: datetime) -> Lease | None:
    """The lease named, or the asker's own in force, or the one in force that ends last."""
    if command.lease is not None:
        return next((lease for lease in leases if lease.id == command.lease), None)
    in_force = [lease for lease in leases if lease.in_force(now)]
    own = [lease for lease in in_force if lease.owner == command.owner]
    return max(own or in_force, key=lambda lease: lease.closes, default=None)


def furthest(lease: Lease, terms: Terms) -> datetime:
    """The latest end that the lab's rules leave a lease, room and money apart; its own, where that is it."""
    if terms.curfew_at(lease.closes):
        return lease.closes
    return max(lease.closes, terms.ends(lease.closes, lease.begins + terms.longest))


def decide(
    command: Command,
    terms: Terms,
    leases: Sequence[Lease],
    budget: BudgetPeriod | None,
    *,
    now: datetime,
    generation: int,
) -> Extension:
    """The answer to an extend command; `budget` is that of the meant lease's period."""
    too_old = command.too_old(now, generation)
    if too_old:
        return Extension("refused", too_old)
    lease = meant(command, leases, now)
    if lease is None or budget is None:
        return Extension("refused", reason("lease.none-to-extend", pool=terms.pool))
    if not lease.in_force(now):
        return Extension(
            "refused",
            reason("lease.ended", lease=lease.called(), state=lease.stands(), closes=lease.closes),
            lease,
        )
    if command.source in MAY_SHORTEN and command.closes is not None and command.closes < lease.closes:
        because = command.because or reason("lease.lab-asks", until=command.closes)
        return _shorten(lease, command.closes, because, terms, now)
    closes = command.closes or lease.closes + (command.lasting or terms.default)
    closes = terms.ends(lease.closes, closes.replace(microsecond=0))
    more = terms.as_granted(lease).hold(lease.wanted, lease.closes, closes)
    after = replace(lease, closes=closes, hold=lease.hold + more)
    # Whose end a person has moved follows its window no more.
    after = replace(after, asked_until=command.closes if command.source == "window" else None)
    beside = [other for other in leases if other.id != lease.id]
    refusal = _refusal(lease, after, terms, leases, budget) or allowance.refusal(
        command.allowance, command.by, after, beside, since=lease.closes, has=lease.nodes
    )
    if refusal:
        return Extension("refused", refusal, lease)
    return Extension(
        "extended",
        reason(
            "lease.extended",
            lease=lease.called(),
            until=terms.until(closes),
            before=lease.closes,
            by=command.by,
            hold=str(after.hold),
        ),
        lease,
        after,
    )


def _shorten(lease: Lease, wanted: datetime, because: Said, terms: Terms, now: datetime) -> Extension:
    """An end that the lab moved nearer while the lease runs: nobody loses it without notice."""
    after = following.shortened(lease, wanted, terms, now)
    if after is None:
        return Extension(
            "refused", reason("lease.ends-anyway", lease=lease.called(), closes=lease.closes), lease
        )
    return Extension(
        "shortened",
        reason(
            "lease.shortened",
            lease=lease.called(),
            until=after.closes,
            before=lease.closes,
            because=because,
            hold=str(after.hold),
        ),
        lease,
        after,
    )


def _refusal(
    lease: Lease, after: Lease, terms: Terms, leases: Sequence[Lease], budget: BudgetPeriod
) -> Said | None:
    if terms.curfew_at(lease.closes):
        return reason("lease.ends-at-curfew", lease=lease.called(), until=terms.until(lease.closes))
    if after.closes <= lease.closes:
        return reason("lease.ends-anyway", lease=lease.called(), closes=lease.closes)
    # Minutes in which a window is opened early, to be ready, are no part of its length.
    if after.closes - after.begins > terms.longest:
        last = after.begins + terms.longest
        return reason("lease.extended-too-long", lease=lease.called(), last=last)
    # Everybody who is granted or planned over the added time goes first.
    walk_in = replace(after, window=None)
    first = others(leases, walk_in)
    full_at = crowded_at(first, lease.nodes, lease.closes, after.closes, terms.max_nodes)
    free = terms.max_nodes - taken_at(first, full_at or lease.closes)
    planned = [other for other in first if other.state is LeaseState.PLANNED]
    purses = spending.purses(lease.owner, terms, budget, planned)
    more = after.hold - lease.hold
    missing = admission.missing(lease.nodes, free, more, [purse.left for purse in purses])
    if missing is None:
        return None
    if missing.lack is admission.Lack.NODES:
        return reason("lease.promised", pool=terms.pool, since=full_at or lease.closes)
    return spending.refusal_of_more(more, purses[missing.budget], terms.period(lease.opens).ends)
