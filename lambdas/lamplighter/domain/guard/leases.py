"""Leases that end before their time because they are too long or idle. The guard warns their people first.

People may keep an idle lease. budget.py has the rules about money; they warn in the same way.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.facts import NOTICE, PoolFacts
from lamplighter.domain.leases.lease import Lease
from lamplighter.reasons.reason import Said, Sentences, reason

WINDOW_MARGIN = timedelta(minutes=90)
"""A window that a clock change lengthens is admitted whole, and one that must be ready opens early."""


def too_long(facts: PoolFacts) -> Iterator[Breach]:
    """A lease in force for longer than the lab allows, whatever the cause."""
    if facts.longest_lease is None:
        return
    for lease in facts.leases:
        last = lease.opens + facts.longest_lease + (WINDOW_MARGIN if lease.window else timedelta())
        if lease.in_force(facts.now) and facts.now >= last - NOTICE and lease.closes > last:
            why = reason(
                "guard.too-long",
                lease=lease.called(),
                pool=facts.pool,
                since=lease.opens,
                longest=facts.longest_lease,
            )
            yield from warned_first(facts, Rule.LEASE_TOO_LONG, lease, why, since=last - NOTICE)


def idle(facts: PoolFacts) -> Iterator[Breach]:
    """A lease whose pool had no GPU in use for longer than the lease may be idle."""
    if facts.idle_since is None or not facts.staying:
        return
    for lease in facts.leases:
        allowed = facts.idle_after.get(lease.id)
        if allowed is None or lease.kept or not lease.in_force(facts.now):
            continue
        extended = facts.extended_at.get(lease.id)
        since = max(at for at in (facts.idle_since, lease.opens, lease.ready, extended) if at)
        if facts.now - since < allowed:
            continue
        by_gpu = facts.idle_by == "gpu"
        why = reason("guard.idle.gpu" if by_gpu else "guard.idle", pool=facts.pool, since=since)
        keep = reason("guard.idle.keep-gpu" if by_gpu else "guard.idle.keep", lease=lease.id)
        yield from warned_first(facts, Rule.IDLE_LEASE, lease, why, since=since, instead=keep)


def warned_first(
    facts: PoolFacts,
    rule: Rule,
    lease: Lease,
    why: Said,
    *,
    since: datetime,
    instead: Said | None = None,
) -> Iterator[Breach]:
    """Warn that the guard will close the lease; close it a quarter of an hour after the warning.

    A warning before `since` was about something else. `instead` says how to keep the lease.
    """
    warned = facts.last_reported(rule, GuardAction.WARN, lease.id)
    if warned is None or warned < since:
        closes = reason("guard.ends-early", why=why, at=facts.now + NOTICE)
        yield Breach(
            rule,
            Sentences((closes, instead)) if instead else closes,
            GuardAction.WARN,
            lease=lease.id,
        )
    elif facts.now - warned >= NOTICE:
        yield Breach(
            rule,
            reason("guard.ends-now", why=why, warned=warned),
            GuardAction.CLOSE,
            lease=lease.id,
            target=max(0, facts.target.nodes - lease.wanted),
        )
