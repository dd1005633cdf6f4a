"""What the guard does about a breach: it starts a close, terminates a stray, re-arms a failsafe, warns, or pages.

It does what the domain decided, once for each breach, and writes that into the audit trail. It never raises a size.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from lamplighter.application.capacity.sizes import Direction, Order, put_bounds_back, write
from lamplighter.application.guard import outside, single_nodes
from lamplighter.application.guard.services import GuardServices
from lamplighter.application.guard.trail import earlier_breach
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.capacity.evidence import Part
from lamplighter.domain.capacity.port import Removal
from lamplighter.domain.capacity.zero import PROVEN
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.experiments.rails import restore
from lamplighter.domain.guard import announcements
from lamplighter.domain.guard.breach import Breach, EarlierBreach, GuardAction, Rule
from lamplighter.domain.guard.facts import MEMORY, NOTICE, PoolFacts
from lamplighter.domain.guard.failsafe import FAILSAFE_MARGIN
from lamplighter.domain.guard.incident import PAGES_EVERY, QUIET, pages_again, retry_after
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.pool.pool import Phase
from lamplighter.domain.schedules.failsafe import bar_instant, failsafe_instant
from lamplighter.domain.schedules.schedule import Start, start_name
from lamplighter.errors import BadInput, OutsideFailed, TryLater
from lamplighter.reasons.reason import Reason, Said, first_of, reason

_logger = logging.getLogger(__name__)

ONE_START = timedelta(minutes=5)
"""Sweeps within the same five minutes, however many events wake them, start one close."""
CLOSE_GOOD_FOR = timedelta(hours=1)
SAID_AGAIN_AFTER = timedelta(days=1)
SILENT = frozenset(
    {GuardAction.DISARM, GuardAction.NOTE, GuardAction.PROTECT, GuardAction.SWITCH_CURFEW, GuardAction.WARN}
)
"""The guard pages nobody about these. A warning goes to the lab's own topic."""
TOLD_IN_PLACE = frozenset({GuardAction.REPLACE_TAKEN, GuardAction.GO_ON_WITH_FEWER})
"""Their entry is written with what it tells of."""


def act(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """Do what the breach asks for; False when an earlier sweep did it."""
    _logger.warning("%s: %s", breach.rule.value, breach.reason)
    done = _DOES[breach.action](guard_services, facts, breach)
    if done and breach.action not in TOLD_IN_PLACE:
        write_down(guard_services, facts.pool, breach)
    return done


def _close(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """Order zero at once where there is no lease, then let CloseLab drain, prove and settle."""
    pool, now = facts.pool, guard_services.capacity.now()
    if breach.rule is Rule.FAILSAFE_WRONG and _is_armed(guard_services, facts):
        return False
    if breach.target == 0 and breach.lease is None:
        _order_zero(guard_services, pool, breach.since or now)
    if _started_lately(guard_services, pool, breach, now):
        return False
    lease = _lease(facts, breach)
    command = Command(
        id=f"guard-{pool}-{breach.lease or 'pool'}-{_bucket(now)}",
        verb=Verb.CLOSE,
        pool=pool,
        owner=guard_services.capacity.lab.owner,
        by="guard",
        source="guard",
        issued=now,
        expires=now + CLOSE_GOOD_FOR,
        lease=breach.lease,
        # For this end and this state of the lease: the command is stale if somebody extends or keeps it meanwhile.
        closes=lease.closes if lease and lease.granted else None,
        generation=lease.generation if lease and lease.granted else None,
        because=breach.reason,
    )
    return guard_services.workflows.start(Start(guard_services.close_lab, start_name(command.id), command))


def _order_zero(guard_services: GuardServices, pool: str, since: datetime) -> None:
    try:
        write(
            guard_services.capacity, Order(pool, guard_services.holder, "guard", Direction.DOWN, since=since)
        )
    except TryLater as later:
        _logger.info("CloseLab orders the size: %s", later)
    except BadInput as missing:
        # Nothing is there to order it of. What still runs is closed all the same.
        _logger.warning("no size is ordered: %s", missing)


def _started_lately(guard_services: GuardServices, pool: str, breach: Breach, now: datetime) -> bool:
    """Whether this close was started so lately that it is still at work; the wait grows with each close.

    Closes before the last proof do not count: nodes that somebody starts after it are closed at once.
    """
    started: list[datetime] = []
    in_vain: list[datetime] = []
    for entry in guard_services.capacity.ledger.audit(pool, now - MEMORY):
        if entry.kind == PROVEN:
            in_vain = []
        elif entry.details.get("action") == GuardAction.CLOSE and entry.lease == breach.lease:
            started.append(entry.at)
            in_vain.append(entry.at)
    if not started:
        return False
    waits = bool(in_vain) and now - started[-1] < retry_after(len(in_vain) - 1)
    return waits or _bucket(started[-1]) == _bucket(now)


def _bucket(now: datetime) -> str:
    start = now - timedelta(seconds=now.timestamp() % ONE_START.total_seconds())
    return f"{start:%Y%m%dT%H%MZ}"


def _terminate(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    capacity = guard_services.capacity.of(facts.pool)
    capacity.remove(facts.pool, breach.instances, Removal.STRAY, facts.seen)
    return True


def _arm(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """Set the failsafe as the present leases need it, as the only writer of the pool."""
    capacity, pool = guard_services.capacity, facts.pool
    with capacity.ledger.writing(pool, guard_services.holder, capacity.now()):
        # An extension moves the failsafe before the lease: what the sweep saw in between is no fault.
        if facts.failsafe_wanted and _is_armed(guard_services, facts):
            return False
        try:
            guard_services.lease_services.arm(pool)
        except OutsideFailed as error:
            not_set = reason("guard.failsafe.not-set", pool=pool, error=error.said)
            write_down(guard_services, pool, replace(breach, action=GuardAction.FAILED, reason=not_set))
            raise
    return True


def _is_armed(guard_services: GuardServices, facts: PoolFacts) -> bool:
    """Whether the failsafe is now as the leases need it."""
    wanted = guard_services.lease_services.wanted_failsafe(facts.pool)
    return bool(wanted) and all(
        guard_services.lease_services.failsafes.read(schedule.name) == schedule
        for schedule in wanted
        if schedule.at > facts.now + FAILSAFE_MARGIN
    )


def _restore_sizes(guard_services: GuardServices, facts: PoolFacts, _breach: Breach) -> bool:
    try:
        put_bounds_back(guard_services.capacity, facts.pool, guard_services.holder)
    except TryLater as later:
        _logger.info("the guard puts the sizes back later: %s", later)
        return False
    return True


def _scale_back(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """Nothing runs, so there is nothing to close: the size goes back to what leases justify."""
    _order_zero(guard_services, facts.pool, breach.since or facts.now)
    return True


def _move_bar(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """Move the launch bar as the present leases need it, as the only writer of the pool."""
    capacity, pool = guard_services.capacity, facts.pool
    with capacity.ledger.writing(pool, guard_services.holder, capacity.now()):
        # An extension moves the bar before the lease: what the sweep saw in between is no fault.
        leases, now = capacity.ledger.leases(pool), capacity.now()
        until, bar = bar_instant(failsafe_instant(leases, now), now), capacity.see(pool, {Part.BAR}).bar
        if bar is None:
            return False
        stands = bar.until == until if until > now else (bar.until or now) <= now
        if stands and not bar.unreadable:
            return False
        try:
            capacity.of(pool).bar(pool, until)
        except OutsideFailed as error:
            not_moved = reason("guard.bar.not-moved", pool=pool, error=error.said)
            write_down(guard_services, pool, replace(breach, action=GuardAction.FAILED, reason=not_moved))
            raise
    return True


def _end_claims(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    return _ended(guard_services, facts, breach, outside.end_claims(guard_services.connect, facts, breach))


def _end_outside(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    return _ended(guard_services, facts, breach, outside.terminate(guard_services.instances(), breach))


def _ended(guard_services: GuardServices, facts: PoolFacts, breach: Breach, failed: Said | None) -> bool:
    """What cannot be ended is reported once a day, and tried again in each sweep."""
    if failed is None:
        return True
    refused = reason("guard.outside.refused", instances=first_of(breach.instances), error=failed)
    said = replace(breach, action=GuardAction.SAY, reason=refused)
    if _say(guard_services, facts, said):
        write_down(guard_services, facts.pool, said)
    return False


def _switch_curfew(guard_services: GuardServices, facts: PoolFacts, _breach: Breach) -> bool:
    for name, enabled in facts.curfew.items():
        if enabled not in {None, facts.acting}:
            guard_services.lease_services.failsafes.switch(name, on=facts.acting)
    return True


def _protect(guard_services: GuardServices, facts: PoolFacts, _breach: Breach) -> bool:
    from lamplighter.adapters.kubernetes.nodes import protect  # noqa: PLC0415 -- only where it matters

    connection = guard_services.kubernetes()
    if connection is None:
        return False
    for node in facts.unprotected:
        protect(connection, node)
    return True


def _restore(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """Start the workflow that undoes an experiment, at most once in five minutes."""
    run, now = facts.experiment, guard_services.capacity.now()
    if run is None:
        return False
    return guard_services.workflows.start(
        restore(run, guard_services.experiment, _bucket(now), now, breach.reason)
    )


def _warn(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """Notify the lab's own topic that a lease will end early, so that people can still do something about it."""
    lease = _lease(facts, breach)
    if lease is not None:
        announcement = announcements.of_early_end(lease, breach.reason, facts.now + NOTICE)
        guard_services.notify(lease.pool, announcement)
    return True


def _mark_leaked(guard_services: GuardServices, facts: PoolFacts, _breach: Breach) -> bool:
    capacity = guard_services.capacity
    return capacity.ledger.mark_leaked(facts.pool, capacity.now(), facts.zero.reason(facts.pool))


def _recover(guard_services: GuardServices, facts: PoolFacts, _breach: Breach) -> bool:
    phase = Phase.OPEN if facts.target.nodes else Phase.CLOSED
    return guard_services.capacity.ledger.clear_leaked(facts.pool, phase)


def _only_write_down(_guard_services: GuardServices, _facts: PoolFacts, _breach: Breach) -> bool:
    return True


def _say(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """Report it once a day, even if the reason has changed."""
    now = guard_services.capacity.now()
    return not any(
        earlier.action == GuardAction.SAY and now - earlier.at < SAID_AGAIN_AFTER
        for earlier in _earlier(guard_services, facts.pool, breach, now)
    )


def _lease(facts: PoolFacts, breach: Breach) -> Lease | None:
    """The lease that a breach is about."""
    return next((lease for lease in facts.leases if lease.id == breach.lease), None)


def _earlier(guard_services: GuardServices, pool: str, breach: Breach, now: datetime) -> list[EarlierBreach]:
    """Breaches of the same rule, lease and subject since the day before, oldest first."""
    return [
        earlier_breach(entry)
        for entry in guard_services.capacity.ledger.audit(pool, now - PAGES_EVERY - QUIET)
        if entry.details.get("rule") == breach.rule
        and entry.lease == breach.lease
        and entry.details.get("subject", "") == breach.subject
    ]


def write_down(guard_services: GuardServices, pool: str, breach: Breach) -> None:
    """Page somebody where the breach asks for it, and keep what the guard did in the audit trail."""
    now = guard_services.capacity.now()
    paged = {}
    if _pages(guard_services, pool, breach, now):
        # Sent before it counts as sent: a run that dies in between pages twice.
        paged = {"paged": guard_services.page(pool, announcements.of_breach(pool, breach))}
    guard_services.capacity.ledger.append_audit(
        Entry(
            at=now,
            pool=pool,
            kind=_kind(breach),
            who="guard",
            what=_done(breach.action, pool),
            why=breach.reason,
            lease=breach.lease,
            nodes=breach.target,
            details={
                "rule": breach.rule.value,
                "action": breach.action.value,
                **({"subject": breach.subject} if breach.subject else {}),
                **paged,
            },
        )
    )


def _pages(guard_services: GuardServices, pool: str, breach: Breach, now: datetime) -> bool:
    """Whether to page somebody. About a breach that goes on, the guard pages more and more rarely."""
    if breach.action in SILENT:
        return False
    if breach.rule is Rule.LEAKED:
        # incident.py says when a leak pages; an ack silences it.
        return breach.action in {GuardAction.PAGE, GuardAction.MARK_LEAKED, GuardAction.SAY}
    if breach.action in {GuardAction.SAY, GuardAction.RECOVER}:
        return True
    # A report said that nothing is done, so what is done now is news.
    earlier = _earlier(guard_services, pool, breach, now)
    return pages_again([each for each in earlier if each.action != GuardAction.SAY], now)


def _kind(breach: Breach) -> str:
    if breach.rule in {Rule.LEAKED, Rule.NO_LONGER_LEAKED}:
        return "leaked"
    if breach.action in {GuardAction.NOTE, GuardAction.PROTECT}:
        # Nobody has done anything wrong yet.
        return "noted"
    return "warned" if breach.action is GuardAction.WARN else "breach"


def _done(action: GuardAction, pool: str) -> Reason:
    """What the audit trail says that the guard did."""
    return {
        GuardAction.CLOSE: reason("guard.did.close", pool=pool),
        GuardAction.FAILED: reason("guard.did.failed", pool=pool),
        GuardAction.TERMINATE: reason("guard.did.terminate", pool=pool),
        GuardAction.REMOVE: reason("guard.did.remove", pool=pool),
        GuardAction.REARM: reason("guard.did.rearm", pool=pool),
        GuardAction.DISARM: reason("guard.did.disarm", pool=pool),
        GuardAction.RESTORE_SIZES: reason("guard.did.restore-sizes", pool=pool),
        GuardAction.SCALE_BACK: reason("guard.did.scale-back", pool=pool),
        GuardAction.MOVE_BAR: reason("guard.did.move-bar", pool=pool),
        GuardAction.END_CLAIMS: reason("guard.did.end-claims"),
        GuardAction.END_OUTSIDE: reason("guard.did.end-outside"),
        GuardAction.SWITCH_CURFEW: reason("guard.did.switch-curfew", pool=pool),
        GuardAction.PROTECT: reason("guard.did.protect", pool=pool),
        GuardAction.RESTORE: reason("guard.did.restore", pool=pool),
        GuardAction.REPLACE_TAKEN: reason("guard.did.replace-taken", pool=pool),
        GuardAction.GO_ON_WITH_FEWER: reason("guard.did.go-on-with-fewer", pool=pool),
        GuardAction.WARN: reason("guard.did.warn", pool=pool),
        GuardAction.NOTE: reason("guard.did.note", pool=pool),
        GuardAction.MARK_LEAKED: reason("guard.did.mark-leaked", pool=pool),
        GuardAction.PAGE: reason("guard.did.page", pool=pool),
        GuardAction.RECOVER: reason("guard.did.recover", pool=pool),
        GuardAction.SAY: reason("guard.did.say", pool=pool),
    }[action]


_DOES: Mapping[GuardAction, Callable[[GuardServices, PoolFacts, Breach], bool]] = {
    GuardAction.CLOSE: _close,
    GuardAction.TERMINATE: _terminate,
    GuardAction.REMOVE: single_nodes.remove,
    GuardAction.REARM: _arm,
    GuardAction.DISARM: _arm,
    GuardAction.RESTORE_SIZES: _restore_sizes,
    GuardAction.SCALE_BACK: _scale_back,
    GuardAction.MOVE_BAR: _move_bar,
    GuardAction.END_CLAIMS: _end_claims,
    GuardAction.END_OUTSIDE: _end_outside,
    GuardAction.SWITCH_CURFEW: _switch_curfew,
    GuardAction.PROTECT: _protect,
    GuardAction.RESTORE: _restore,
    GuardAction.REPLACE_TAKEN: single_nodes.give_up,
    GuardAction.GO_ON_WITH_FEWER: single_nodes.give_up,
    GuardAction.WARN: _warn,
    GuardAction.NOTE: _only_write_down,
    GuardAction.MARK_LEAKED: _mark_leaked,
    GuardAction.PAGE: _only_write_down,
    GuardAction.RECOVER: _recover,
    GuardAction.SAY: _say,
    GuardAction.FAILED: _only_write_down,
}
