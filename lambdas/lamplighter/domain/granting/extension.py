"""Whether a lease may end later, and which lease an extend command means.

The longest lease, the pool and the budget bound an extension, and its reason names the person. The step Extend moves
the failsafe first and keeps the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lamplighter.domain.commands.command import Command
from lamplighter.domain.granting import admission, following, spending
from lamplighter.domain.leases import allowance
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.occupancy import crowded_at, others, taken_at
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.people.person import who
from lamplighter.reasons.reason import Said, reason

MAY_SHORTEN = frozenset({"window", "guard"})
"""Sources that may move an end nearer, with notice. People close a lease instead."""


@dataclass(frozen=True, slots=True)
class Extension:
    """The answer to an extend command: extended, shortened or refused, and the lease before and after."""

    outcome: str
    reason: Said
    before: Lease | None = None
    after: Lease | None = None


def meant(command: Command, leases: Sequence[Lease], now: datetime) -> Lease | None:
    """The named lease, or the owner's own lease in force, or the lease in force that ends last."""
    if command.lease is not None:
        return next((lease for lease in leases if lease.id == command.lease), None)
    in_force = [lease for lease in leases if lease.in_force(now)]
    own = [lease for lease in in_force if who(lease.owner) == who(command.owner)]
    return max(own or in_force, key=lambda lease: lease.closes, default=None)


def furthest(lease: Lease, terms: Terms) -> datetime:
    """The latest end that the lab's rules allow, apart from nodes and money; at least the present end."""
    if terms.curfew_at(lease.closes):
        return lease.closes
    last = terms.ends(lease.closes, lease.begins + terms.longest)
    return max(lease.closes, min(last, terms.reserved_until or last))


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
    # After a person has moved its end, a lease no longer follows its window.
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
    """Moves the end of a running lease nearer, with notice."""
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
    # The minutes by which a window opens early do not count as its length.
    if after.closes - after.begins > terms.longest:
        last = after.begins + terms.longest
        return reason("lease.extended-too-long", lease=lease.called(), last=last)
    # Leases that are granted or planned for the added time come first.
    walk_in = replace(after, window=None)
    first = others(leases, walk_in)
    full_at = crowded_at(first, lease.nodes, lease.closes, after.closes, terms.max_nodes)
    free = terms.max_nodes - taken_at(first, full_at or lease.closes)
    planned = [other for other in first if other.state is LeaseState.PLANNED]
    purses = spending.purses(lease.owner, terms, budget, planned)
    more = after.hold - lease.hold
    missing = admission.missing(lease.nodes, free, more, [purse.left for purse in purses])
    if missing is None:
        return terms.hours.refusal(lease.opens, after.closes) if terms.hours else None
    if missing.lack is admission.Lack.NODES:
        return reason("lease.promised", pool=terms.pool, since=full_at or lease.closes)
    return spending.refusal_of_more(more, purses[missing.budget], terms.period(lease.opens).ends)
