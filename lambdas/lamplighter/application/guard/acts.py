"""What the guard does about a breach: it starts a close, ends a stray, re-arms a failsafe, warns, or pages.

Does what the domain decided, once for each breach, and writes down that it did. Never raises a size.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from lamplighter.application.capacity.sizes import Direction, Order, put_bounds_back, write
from lamplighter.application.guard import announcements as guard_says
from lamplighter.application.guard.services import GuardServices
from lamplighter.application.guard.trail import said_of
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.experiments.rails import restore
from lamplighter.domain.guard.breach import Action, Breach, EarlierBreach, Rule
from lamplighter.domain.guard.facts import MEMORY, NOTICE, PoolFacts
from lamplighter.domain.guard.failsafe import FAILSAFE_MARGIN
from lamplighter.domain.guard.incident import PAGES_EVERY, QUIET, pages_again, retry_after
from lamplighter.domain.guard.leak import left
from lamplighter.domain.notices import notification
from lamplighter.domain.pool.pool import Phase
from lamplighter.domain.schedules.schedule import Start, start_name
from lamplighter.errors import OutsideFailed, TryLater

_logger = logging.getLogger(__name__)

ONE_START = timedelta(minutes=5)
"""Sweeps within the same five minutes, however many events wake them, start one close."""
CLOSE_GOOD_FOR = timedelta(hours=1)
SAID_AGAIN_AFTER = timedelta(days=1)
SILENT = frozenset({Action.DISARM, Action.NOTE, Action.PROTECT, Action.SWITCH_CURFEW, Action.WARN})
"""Nobody is woken for these; who has to know of a warning is told by the lab's own topic."""


def act(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """Do what the breach asks for; False when it was done, or said, before."""
    _logger.warning("%s: %s", breach.rule.value, breach.reason)
    done = _DOES[breach.action](guard_services, facts, breach)
    if done:
        _write_down(guard_services, facts.pool, breach)
    return done


def _close(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """Order zero at once where nobody has a lease, then let CloseLab drain, prove and settle."""
    pool, now = facts.pool, guard_services.capacity.now()
    if breach.rule is Rule.FAILSAFE_WRONG and _is_armed(guard_services, facts):
        return False
    if breach.target == 0 and breach.lease is None:
        _order_zero(guard_services, pool, breach.since or now)
    if _started_lately(guard_services, pool, breach, now):
        return False
    lease = next((each for each in facts.leases if each.id == breach.lease), None)
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
        # For this end and this state of the lease: extended, handed on or kept meanwhile, it is stale.
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
        _logger.info("the order is left to CloseLab: %s", later)


def _started_lately(guard_services: GuardServices, pool: str, breach: Breach, now: datetime) -> bool:
    """Whether this very close was started so lately that it is still at work; it gets longer each time.

    What was proven gone since is over: nodes that somebody starts after that are not waited for.
    """
    started: list[datetime] = []
    in_vain: list[datetime] = []
    for entry in guard_services.capacity.ledger.audit(pool, now - MEMORY):
        if entry.kind == "zero-proven":
            in_vain = []
        elif entry.details.get("action") == Action.CLOSE and entry.lease == breach.lease:
            started.append(entry.at)
            in_vain.append(entry.at)
    if not started:
        return False
    waits = bool(in_vain) and now - started[-1] < retry_after(len(in_vain) - 1)
    return waits or _bucket(started[-1]) == _bucket(now)


def _bucket(now: datetime) -> str:
    start = now - timedelta(seconds=now.timestamp() % ONE_START.total_seconds())
    return f"{start:%Y%m%dT%H%MZ}"


def _terminate(guard_services: GuardServices, _facts: PoolFacts, breach: Breach) -> bool:
    guard_services.capacity.instances.terminate(breach.instances)
    return True


def _arm(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """Put the failsafe where the leases of this very moment want it, nobody else moving it meanwhile."""
    capacity, pool = guard_services.capacity, facts.pool
    with capacity.ledger.writing(pool, guard_services.holder, capacity.now()):
        # Who extends a lease moves the failsafe first: what was seen in between is no fault.
        if facts.failsafe_wanted and _is_armed(guard_services, facts):
            return False
        try:
            guard_services.lease_services.arm(pool)
        except OutsideFailed as error:
            reason = (
                f"the failsafe of pool {pool} could not be put right: {error}; the next sweep tries again"
            )
            _write_down(guard_services, pool, replace(breach, action=Action.FAILED, reason=reason))
            raise
    return True


def _is_armed(guard_services: GuardServices, facts: PoolFacts) -> bool:
    """Whether the failsafe is by now as the leases want it by now."""
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
        _logger.info("the sizes are put back later: %s", later)
        return False
    return True


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
    """Start the workflow that undoes an experiment, once in five minutes."""
    run, now = facts.experiment, guard_services.capacity.now()
    if run is None:
        return False
    return guard_services.workflows.start(
        restore(run, guard_services.experiment, _bucket(now), now, breach.reason)
    )


def _warn(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """Say on the lab's own topic what will happen, so that people can still do something about it."""
    lab = guard_services.capacity.lab
    lease = next((each for each in facts.leases if each.id == breach.lease), None)
    if lease is not None:
        said = guard_says.of_early_end(lab, lease, breach.reason, facts.now + NOTICE)
        guard_services.notices.say(notification.of(lab.name, lease.pool, said))
    return True


def _mark_leaked(guard_services: GuardServices, facts: PoolFacts, _breach: Breach) -> bool:
    return guard_services.capacity.ledger.mark_leaked(facts.pool, guard_services.capacity.now(), left(facts))


def _recover(guard_services: GuardServices, facts: PoolFacts, _breach: Breach) -> bool:
    phase = Phase.OPEN if facts.target.nodes else Phase.CLOSED
    return guard_services.capacity.ledger.clear_leaked(facts.pool, phase)


def _only_write_down(_watch: GuardServices, _facts: PoolFacts, _breach: Breach) -> bool:
    return True


def _say(guard_services: GuardServices, facts: PoolFacts, breach: Breach) -> bool:
    """Once a day, whatever the reason says by then."""
    now = guard_services.capacity.now()
    return not any(
        said.action == Action.SAY and now - said.at < SAID_AGAIN_AFTER
        for said in _said_before(guard_services, facts.pool, breach, now)
    )


def _said_before(
    guard_services: GuardServices, pool: str, breach: Breach, now: datetime
) -> list[EarlierBreach]:
    """What was said of the same rule and lease since the day before, oldest first."""
    return [
        said_of(entry)
        for entry in guard_services.capacity.ledger.audit(pool, now - PAGES_EVERY - QUIET)
        if entry.details.get("rule") == breach.rule and entry.lease == breach.lease
    ]


def _write_down(guard_services: GuardServices, pool: str, breach: Breach) -> None:
    now = guard_services.capacity.now()
    paging = _pages(guard_services, pool, breach, now)
    guard_services.capacity.ledger.append_audit(
        Entry(
            at=now,
            pool=pool,
            kind=_kind(breach),
            who="guard",
            what=f"{_DONE[breach.action]} pool {pool}",
            why=breach.reason,
            lease=breach.lease,
            nodes=breach.target,
            details={
                "rule": breach.rule.value,
                "action": breach.action.value,
                **({"paged": "yes"} if paging else {}),
            },
        )
    )
    if paging:
        lab = guard_services.capacity.lab
        guard_services.pages.say(notification.of(lab.name, pool, guard_says.of_breach(lab, pool, breach)))


def _pages(guard_services: GuardServices, pool: str, breach: Breach, now: datetime) -> bool:
    """Whether somebody is paged; for what goes on and on more and more rarely."""
    if breach.action in SILENT:
        return False
    if breach.rule is Rule.LEAKED:
        # Its pages have a timetable of their own, which an ack silences.
        return breach.action in {Action.PAGE, Action.MARK_LEAKED, Action.SAY}
    if breach.action in {Action.SAY, Action.RECOVER}:
        return True
    return pages_again(_said_before(guard_services, pool, breach, now), now)


def _kind(breach: Breach) -> str:
    if breach.rule in {Rule.LEAKED, Rule.NO_LONGER_LEAKED}:
        return "leaked"
    if breach.action in {Action.NOTE, Action.PROTECT}:
        # Nothing was wrong yet that anybody did.
        return "noted"
    return "warned" if breach.action is Action.WARN else "breach"


_DONE = {
    Action.CLOSE: "closes",
    Action.FAILED: "cannot set the failsafe of",
    Action.TERMINATE: "ends instances of",
    Action.REARM: "re-arms the failsafe of",
    Action.DISARM: "takes away the failsafe left on",
    Action.RESTORE_SIZES: "puts back the sizes of",
    Action.SWITCH_CURFEW: "switches the curfew of",
    Action.PROTECT: "keeps autoscalers from",
    Action.RESTORE: "undoes the experiment on",
    Action.WARN: "warns about",
    Action.NOTE: "notes about",
    Action.MARK_LEAKED: "calls leaked",
    Action.PAGE: "pages about",
    Action.RECOVER: "sees the end of the leak of",
    Action.SAY: "watches",
}
_DOES: Mapping[Action, Callable[[GuardServices, PoolFacts, Breach], bool]] = {
    Action.CLOSE: _close,
    Action.TERMINATE: _terminate,
    Action.REARM: _arm,
    Action.DISARM: _arm,
    Action.RESTORE_SIZES: _restore_sizes,
    Action.SWITCH_CURFEW: _switch_curfew,
    Action.PROTECT: _protect,
    Action.RESTORE: _restore,
    Action.WARN: _warn,
    Action.NOTE: _only_write_down,
    Action.MARK_LEAKED: _mark_leaked,
    Action.PAGE: _only_write_down,
    Action.RECOVER: _recover,
    Action.SAY: _say,
    Action.FAILED: _only_write_down,
}
