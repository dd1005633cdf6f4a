"""Leases that end before their time: too long, or idle. Their people are told first, and may say keep.

What else ends a lease early, the budget, has rules of its own; the notice is the same for all.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.calendar.changes import Clock
from lamplighter.domain.guard.breach import Action, Breach, Rule
from lamplighter.domain.guard.facts import NOTICE, PoolFacts
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.notices.phrases import called
from lamplighter.values.counted import write_duration
from lamplighter.values.instant import clock_time

WINDOW_MARGIN = timedelta(minutes=90)
"""A window that a clock change lengthens is admitted whole, and one that must be ready opens early."""


def too_long(facts: PoolFacts) -> Iterator[Breach]:
    """A lease in force for longer than any may last, however it came to that."""
    if facts.longest_lease is None:
        return
    for lease in facts.leases:
        last = lease.opens + facts.longest_lease + (WINDOW_MARGIN if lease.window else timedelta())
        if lease.in_force(facts.now) and facts.now >= last - NOTICE and lease.closes > last:
            why = (
                f"{lease.called()} on pool {facts.pool} runs since {clock_time(lease.opens)}, and "
                f"guard.longest_lease allows {write_duration(facts.longest_lease)}"
            )
            yield from warned_first(facts, Rule.LEASE_TOO_LONG, lease, why, since=last - NOTICE)


def idle(facts: PoolFacts) -> Iterator[Breach]:
    """A lease on whose pool no pod has held a GPU for longer than it may be so."""
    if facts.idle_since is None or not facts.staying:
        return
    for lease in facts.leases:
        allowed = facts.idle_after.get(lease.id)
        if allowed is None or lease.kept or not lease.in_force(facts.now):
            continue
        extended = facts.extended_at.get(lease.id)
        since = max(each for each in (facts.idle_since, lease.opens, lease.ready, extended) if each)
        if facts.now - since < allowed:
            continue
        why = f"no pod has held a GPU of pool {facts.pool} since {clock_time(since)}"
        yield from warned_first(
            facts,
            Rule.IDLE_LEASE,
            lease,
            why,
            since=since,
            instead=f"`lamplighter keep {lease.id}` keeps it, and so does a pod that asks for a GPU",
        )


def warned_first(
    facts: PoolFacts, rule: Rule, lease: Lease, why: str, *, since: datetime, instead: str = ""
) -> Iterator[Breach]:
    """Tell that the lease will be closed, and a quarter of an hour after that was told close it.

    What was told before `since` was about something else. `instead` says what would keep it.
    """
    told = facts.last_said(rule, Action.WARN, lease.id)
    if told is None or told < since:
        at = clock_time(facts.now + NOTICE)
        also = f"; {instead}" if instead else ""
        yield Breach(rule, f"{why}: it is closed at {at}{also}", Action.WARN, lease=lease.id)
    elif facts.now - told >= NOTICE:
        yield Breach(
            rule,
            f"{why}, as was said at {clock_time(told)}",
            Action.CLOSE,
            lease=lease.id,
            target=max(0, facts.target.nodes - lease.wanted),
        )


def early_end(
    lease: Lease, reason: str, at: datetime, clock: Clock, texts: Texts = ENGLISH
) -> tuple[str, str]:
    """Subject and text of what its people are told, by their own clock and in their language."""
    subject = texts.say(
        "notice.ends-early.subject", lease=called(texts, lease), pool=lease.pool, at=clock(at)
    )
    return subject, texts.say(
        "notice.ends-early.text",
        id=lease.id,
        owner=lease.owner,
        reason=reason,
        closes=clock(lease.closes),
    )
