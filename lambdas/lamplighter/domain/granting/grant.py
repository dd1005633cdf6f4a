"""Whether an open command is granted: the rules from top to bottom, each refusal with its reason.

Owns the answer to one command, on what the ledger holds. Whether nodes and money are free is admission.py's rule.
Keeping the answer and moving the failsafe first are the handler's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lamplighter.domain.calendar.changes import Changes, paused_at
from lamplighter.domain.commands.command import Command
from lamplighter.domain.granting import admission
from lamplighter.domain.leases import allowance
from lamplighter.domain.leases.curfew import KEPT_FREE
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.occupancy import others, taken_at
from lamplighter.domain.leases.terms import Terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.domain.people.person import who
from lamplighter.reasons.reason import Reason, Said, Value, reason

FURTHEST_AHEAD = timedelta(days=366)
SHORTEST = timedelta(minutes=5)
"""A pool takes minutes to open and to close, and nobody holds money for the close. Windows may be shorter."""
LATER = timedelta(minutes=30)
"""A planned lease that opens this much later was moved. A smaller change is a new measurement of its warm-up."""


@dataclass(frozen=True, slots=True)
class GrantDecision:
    """The answer to an open command: granted, already-open or refused."""

    outcome: str
    reason: Said
    lease: Lease | None = None
    earliest: datetime | None = None
    for_now: bool = False
    """A temporary refusal: the same command may be granted later, and its lease stays as it is."""


def as_planned(command: Command, leases: Iterable[Lease], now: datetime) -> Command:
    """A window's command with its present plan: its schedule may be of an older plan."""
    known = next((lease for lease in leases if lease.id == command.lease_id), None)
    if known is None or known.state is not LeaseState.PLANNED:
        return command
    opens = known.opens if known.opens <= now else command.opens
    return replace(command, opens=opens, closes=known.closes, nodes=known.nodes)


def asked_for(command: Command, terms: Terms, now: datetime) -> Lease:
    """The lease that an open command asks for. The defaults are 1 node, now, and the default length."""
    # A window keeps its planned opening; no other lease opens in the past.
    opens = command.opens or now
    opens = (opens if command.window else max(opens, now)).replace(microsecond=0)
    closes = (command.closes or opens + (command.lasting or terms.default)).replace(microsecond=0)
    closes = terms.ends(opens, closes) if closes > opens else closes
    nodes = command.nodes or 1
    return Lease(
        id=command.lease_id,
        pool=terms.pool,
        nodes=nodes,
        owner=command.owner,
        source=command.source,
        state=LeaseState.ADMITTED,
        opens=opens,
        closes=closes,
        hold=terms.hold(nodes, opens, closes) if closes > opens else Money.zero(terms.budget.currency),
        window=command.window,
        date=command.date,
        by=command.by,
        because=command.because,
        period=terms.period(opens).key,
        price_per_hour=terms.price_per_hour,
        instance_types=terms.instance_types,
        asked_until=command.closes if command.window and command.moved_from is None else None,
        moved_from=command.moved_from,
    )


def decide(
    command: Command,
    terms: Terms,
    leases: Sequence[Lease],
    budgets: Mapping[str, BudgetPeriod],
    *,
    now: datetime,
    generation: int,
    changes: Changes | None = None,
) -> GrantDecision:
    """The answer to an open command.

    `budgets` has the period in which the lease opens and the next one, for the earliest instant. `changes` are people's
    changes of the calendar.
    """
    known = next((lease for lease in leases if lease.id == command.lease_id), None)
    changes = changes or Changes()
    closed = _kept_closed(command, known, changes, now)
    if closed is not None:
        # An existing lease stays as it is, and opens when the pause is over.
        stays = known is not None or command.window is not None
        earliest = _after_the_pause(command, terms, leases, budgets, now=now, changes=changes)
        return GrantDecision("refused", closed, known, earliest, for_now=stays)
    if known is not None and known.granted:
        return _granted_before(command, known)
    if known is not None and known.state is not LeaseState.PLANNED:
        return GrantDecision(
            "refused", reason("lease.opens-once", lease=known.called(), state=known.stands()), known
        )
    too_late = command.too_old(now, generation)
    of_a_window = command.source == "window" or command.window is not None
    if of_a_window and command.moved_from is None and (known is None or known.window != command.window):
        too_late = reason("lease.taken-back", lease=command.lease_id)
    if too_late:
        return GrantDecision("refused", too_late)
    lease = asked_for(command, terms, now)
    if known is not None:
        lease = replace(lease, order=known.order, ready_by=known.ready_by)
    # A lease whose nodes are all missing does not make the pool open.
    running = [other for other in leases if other.in_force(lease.opens) and other.wanted]
    if running and command.window is None and not command.add:
        last = max(running, key=lambda other: other.closes)
        return GrantDecision(
            "already-open",
            reason(
                "lease.already-open",
                pool=terms.pool,
                taken=taken_at(running, lease.opens),
                most=terms.max_nodes,
                until=last.closes,
            ),
            last,
        )
    beyond = allowance.refusal(command.allowance, command.by, lease, leases, since=lease.opens)
    beyond = beyond or allowance.too_many_ahead(command.by, lease, leases, terms, now)
    return GrantDecision("refused", beyond) if beyond else _judge(lease, terms, leases, budgets, now)


def _granted_before(command: Command, known: Lease) -> GrantDecision:
    """The same lease again. A command's id determines its lease's id, so it could be the lease of another person."""
    if command.lease is None and who(command.by) != who(known.by or known.owner):
        return GrantDecision("refused", reason("lease.id-of-another", lease=known.called()))
    return GrantDecision("granted", reason("lease.granted-before", lease=known.called()), known)


def _kept_closed(command: Command, known: Lease | None, changes: Changes, now: datetime) -> Said | None:
    """Why it does not open yet; what runs goes on: only what has not been opened is kept closed."""
    if known is not None and known.state is LeaseState.PLANNED and known.opens - now > LATER:
        return reason("lease.moved", lease=known.called(), opens=known.opens)
    if known is not None and known.ordered is not None:
        return None
    return changes.keeps_closed(max(command.opens or now, now))


def _after_the_pause(
    command: Command,
    terms: Terms,
    leases: Sequence[Lease],
    budgets: Mapping[str, BudgetPeriod],
    *,
    now: datetime,
    changes: Changes,
) -> datetime | None:
    """When a person would get the same lease after the pause; None if that is not known."""
    pause = paused_at(changes.pauses, max(command.opens or now, now))
    if pause is None or pause.until is None or command.window is not None:
        return None
    lease = asked_for(command, terms, now)
    moved = replace(lease, opens=pause.until, closes=pause.until + (lease.closes - lease.opens))
    moved = replace(moved, period=terms.period(moved.opens).key)
    beyond = allowance.refusal(command.allowance, command.by, moved, leases, since=moved.opens)
    if moved.period not in budgets or beyond:
        return None
    answer = _judge(moved, terms, leases, budgets, now)
    return pause.until if answer.outcome == "granted" else answer.earliest


def _judge(
    lease: Lease, terms: Terms, leases: Sequence[Lease], budgets: Mapping[str, BudgetPeriod], now: datetime
) -> GrantDecision:
    curfew = terms.curfew_at(lease.opens)
    if curfew is not None:
        free = curfew + KEPT_FREE
        return GrantDecision(
            "refused",
            reason("lease.in-curfew", pool=terms.pool, curfew=curfew, opens=free),
            earliest=free if lease.nodes <= terms.max_nodes else None,
        )
    impossible = _never(lease, terms, now)
    if impossible:
        return GrantDecision("refused", impossible)
    before = others(leases, lease)
    refused = _refusal(lease, terms, before, budgets)
    if refused:
        return GrantDecision("refused", refused.figures, earliest=_earliest(lease, terms, before, budgets))
    return GrantDecision("granted", _granted(lease, terms), lease)


def possible(
    lease: Lease, terms: Terms, leases: Sequence[Lease], budgets: Mapping[str, BudgetPeriod], now: datetime
) -> bool:
    """Whether such a lease would be granted, if nothing but time, nodes and money decides."""
    if terms.curfew_at(lease.opens) is not None or _never(lease, terms, now) is not None:
        return False
    return _refusal(lease, terms, others(leases, lease), budgets) is None


def _granted(lease: Lease, terms: Terms) -> Reason:
    granted: dict[str, Value] = {
        "nodes": lease.nodes,
        "most": terms.max_nodes,
        "until": terms.until(lease.closes),
        "owner": lease.owner,
        "hold": str(lease.hold),
    }
    if lease.moved_from:
        return reason("lease.granted.moved", pool=lease.moved_from.pool, **granted)
    if lease.because:
        return reason("lease.granted.because", because=lease.because, **granted)
    return reason("lease.granted", **granted)


def _never(lease: Lease, terms: Terms, now: datetime) -> Said | None:
    """A refusal that waiting does not change."""
    if lease.closes <= max(lease.opens, now):
        return reason("lease.end-has-passed", closes=lease.closes)
    if lease.opens - now > FURTHEST_AHEAD:
        return reason("lease.too-far-ahead", opens=lease.opens)
    if lease.nodes > terms.max_nodes:
        return reason("lease.too-many-nodes", nodes=lease.nodes, pool=terms.pool, most=terms.max_nodes)
    # The wall-clock length of a window was compared when the lab file was read.
    if lease.window is None and lease.closes - lease.opens > terms.longest:
        return reason("lease.too-long", length=lease.closes - lease.opens, longest=terms.longest)
    shortest = min(SHORTEST, terms.default)
    if lease.window is None and lease.closes - lease.opens < shortest:
        return reason("lease.too-short", length=lease.closes - lease.opens, shortest=shortest)
    return None


def _refusal(
    lease: Lease, terms: Terms, before: Sequence[Lease], budgets: Mapping[str, BudgetPeriod]
) -> admission.Refusal | None:
    planned = [other for other in before if other.state is LeaseState.PLANNED]
    return admission.refusal(lease, terms, before, budgets[lease.period], planned)


def _earliest(
    lease: Lease, terms: Terms, before: Sequence[Lease], budgets: Mapping[str, BudgetPeriod]
) -> datetime | None:
    """The first instant at which the same lease would be granted, as far as it is known now."""
    length = lease.closes - lease.opens
    candidates = {other.closes for other in before} | {terms.period(lease.opens).ends}
    candidates |= {terms.hours.begins} if terms.hours and terms.hours.begins else set()
    for opens in sorted(instant for instant in candidates if instant > lease.opens):
        moved = replace(
            lease,
            opens=opens,
            closes=terms.ends(opens, opens + length),
            period=terms.period(opens).key,
        )
        if moved.period not in budgets or terms.curfew_at(opens):
            continue
        if _refusal(moved, terms, before, budgets) is None:
            return opens
    return None
