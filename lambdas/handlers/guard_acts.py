"""What the guard does about a breach: it starts a close, ends a stray, re-arms a failsafe, or pages.

Does what the domain decided, once for each breach, and writes down that it did. Never raises a size.
"""

import logging
from datetime import datetime, timedelta

from handlers.guard_facts import Watch
from handlers.sizes import Direction, Order, write
from lamplighter.domain.audit import Entry
from lamplighter.domain.breach import Action, Breach, Rule
from lamplighter.domain.commands import Command, Verb
from lamplighter.domain.schedule import Start
from lamplighter.errors import OutsideFailed, TryLater

_logger = logging.getLogger(__name__)

ONE_START = timedelta(minutes=5)
"""Sweeps within the same five minutes, however many events wake them, start one close."""
CLOSE_GOOD_FOR = timedelta(hours=1)
SAID_AGAIN_AFTER = timedelta(days=1)


def act(watch: Watch, pool: str, breach: Breach) -> bool:
    """Do what the breach asks for; False when it was done, or said, before."""
    _logger.warning("%s: %s", breach.rule.value, breach.reason)
    match breach.action:
        case Action.CLOSE:
            done = _close(watch, pool, breach)
        case Action.TERMINATE:
            watch.capacity.instances.terminate(breach.instances)
            done = True
        case Action.REARM | Action.DISARM:
            done = _arm(watch, pool)
        case Action.RESTORE_SIZES:
            done = _restore_sizes(watch, pool)
        case Action.RECOVER:
            done = watch.capacity.ledger.clear_leaked(pool)
        case Action.PAGE:
            done = True
        case Action.SAY:
            done = not _said_lately(watch, pool, breach)
    if done:
        _write_down(watch, pool, breach)
    return done


def _close(watch: Watch, pool: str, breach: Breach) -> bool:
    """Order zero at once where nobody has a lease, then let CloseLab drain, prove and settle."""
    now = watch.capacity.now()
    if breach.target == 0 and breach.lease is None:
        _order_zero(watch, pool, now)
    if _started_lately(watch, pool, breach, now):
        return False
    command = Command(
        id=f"guard-{pool}-{breach.lease or 'pool'}-{_bucket(now)}",
        verb=Verb.CLOSE,
        pool=pool,
        owner=watch.capacity.lab.owner,
        by="guard",
        source="guard",
        issued=now,
        expires=now + CLOSE_GOOD_FOR,
        lease=breach.lease,
        because=breach.reason,
    )
    return watch.workflows.start(Start(watch.close_lab, command.id[:80], command))


def _order_zero(watch: Watch, pool: str, now: datetime) -> None:
    try:
        write(watch.capacity, Order(pool, f"guard {pool}", "guard", Direction.DOWN, since=now))
    except TryLater as later:
        _logger.info("the order is left to CloseLab: %s", later)


def _started_lately(watch: Watch, pool: str, breach: Breach, now: datetime) -> bool:
    """Whether an earlier sweep of the same five minutes started this very close."""
    return any(
        entry.details.get("action") == Action.CLOSE
        and entry.lease == breach.lease
        and _bucket(entry.at) == _bucket(now)
        for entry in watch.capacity.ledger.audit(pool, now - ONE_START)
    )


def _bucket(now: datetime) -> str:
    start = now - timedelta(seconds=now.timestamp() % ONE_START.total_seconds())
    return f"{start:%Y%m%dT%H%MZ}"


def _arm(watch: Watch, pool: str) -> bool:
    """Put the failsafe where the leases of this very moment want it, nobody else moving it meanwhile."""
    capacity = watch.capacity
    with capacity.ledger.writing(pool, f"guard {pool}", capacity.now()):
        try:
            watch.desk.arm(pool)
        except OutsideFailed as error:
            watch.pages.say(
                f"{capacity.lab.name}: the failsafe of pool {pool} cannot be set",
                f"The failsafe of pool {pool} could not be put right: {error}. The next sweep tries again.",
            )
            raise
    return True


def _restore_sizes(watch: Watch, pool: str) -> bool:
    capacity = watch.capacity
    try:
        capacity.nodegroups.bound(capacity.lab.nodegroup_name(pool), capacity.lab.pools[pool].max_nodes)
    except TryLater as later:
        _logger.info("the sizes are put back later: %s", later)
        return False
    return True


def _said_lately(watch: Watch, pool: str, breach: Breach) -> bool:
    now = watch.capacity.now()
    return any(
        entry.kind == "breach"
        and entry.details.get("rule") == breach.rule
        and entry.details.get("action") == Action.SAY
        for entry in watch.capacity.ledger.audit(pool, now - SAID_AGAIN_AFTER)
    )


def _write_down(watch: Watch, pool: str, breach: Breach) -> None:
    lab = watch.capacity.lab.name
    watch.capacity.ledger.append_audit(
        Entry(
            at=watch.capacity.now(),
            pool=pool,
            kind="leaked" if breach.rule in {Rule.LEAKED, Rule.NO_LONGER_LEAKED} else "breach",
            who="guard",
            what=f"{_DONE[breach.action]} pool {pool}",
            why=breach.reason,
            lease=breach.lease,
            nodes=breach.target,
            details={"rule": breach.rule.value, "action": breach.action.value},
        )
    )
    if breach.action is not Action.DISARM:
        watch.pages.say(
            f"{lab}: {breach.rule.value} on pool {pool}", f"{breach.reason[:1].upper()}{breach.reason[1:]}."
        )


_DONE = {
    Action.CLOSE: "closes",
    Action.TERMINATE: "ends stray instances of",
    Action.REARM: "re-arms the failsafe of",
    Action.DISARM: "takes away the failsafe left on",
    Action.RESTORE_SIZES: "puts back the sizes of",
    Action.PAGE: "pages about",
    Action.RECOVER: "sees the end of the leak of",
    Action.SAY: "watches",
}
