"""What is told beside a lease's message: in its thread, or, for three things only, as a new message that pings.

The three: a planned window refused, a late or degraded opening, an end while GPUs are in use. The fourth, a leaked
pool, and what is told where no lease has a message, is channel.py's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.notices.findings import KIND as FINDING
from lamplighter.domain.pool.pool import PoolState
from lamplighter.domain.slack import blocks
from lamplighter.domain.slack.blocks import bold, joined, plain
from lamplighter.domain.slack.message import Message, MessageExtras, buttons, called, page_link, receipt_lines
from lamplighter.domain.slack.post import Post, in_channel, key_of, pinging, plainly, short
from lamplighter.domain.slack.style import SlackStyle
from lamplighter.domain.views.lease_view import LeaseStanding, LeaseView
from lamplighter.domain.views.stages import StageState
from lamplighter.domain.views.told import Finding
from lamplighter.lab import notice_kinds
from lamplighter.reasons.document import one_line
from lamplighter.values.instant import written

SEEN_FRESH = timedelta(minutes=15)
"""What the guard saw of GPUs counts as now: three sweeps."""
BELONGS = frozenset({"announced", "warned", "breach"})
"""Entries of the trail that may be told; the others explain, or show in the message itself."""
IN_PLACE = frozenset({"open", "planned", "already-open"})
"""Notices that the message shows as they are."""


@dataclass(frozen=True, slots=True)
class ThreadFacts:
    """What the posts of a lease are made of, beside its view."""

    trail: Sequence[Entry] = ()
    """What happened to its pool since it was granted, oldest first."""
    pool: PoolState | None = None
    mentioned: Sequence[str] = ()
    """Slack ids of those who are pinged."""


def posts(view: LeaseView, told: ThreadFacts, beside: MessageExtras, look: SlackStyle) -> list[Post]:
    """Everything that is to have been said of a lease by now, oldest first."""
    found = [post for entry in told.trail if (post := _of_entry(entry, view, told, look)) is not None]
    found += _late(view, told, look)
    found += _refused(view, told, look)
    if beside.receipt is not None:
        figures = joined([bold(look.texts.say("slack.thread.receipt")), receipt_lines(beside.receipt, look)])
        shown = [blocks.section(figures), *page_link(beside, look)]
        found.append(Post("receipt", Message(figures, shown)))
    once: dict[str, Post] = {}
    for post in found:
        once.setdefault(post.key, post)
    return list(once.values())


def _of_entry(entry: Entry, view: LeaseView, told: ThreadFacts, look: SlackStyle) -> Post | None:
    if entry.kind == FINDING and entry.lease == view.id:
        return _finding(Finding.read(entry), look)
    if entry.kind not in BELONGS or not _is_about(entry, view):
        return None
    kind = entry.details.get("notice") or entry.kind
    if kind in IN_PLACE:
        return None
    said = joined([bold(look.drawn(entry.what)), look.told(entry.why)])
    in_use = _in_use(told.pool, look)
    row = blocks.actions(*buttons(view, look)[:1]) if kind == "warned" and view.in_force else []
    quiet = Post(key_of(entry), Message(said, [blocks.section(said), *row]), at=entry.at)
    # That a window is refused or a pool leaked is said of how things stand, not of what was announced.
    if kind in {"refused", "leaked"} or not notice_kinds.pings(kind, in_use=in_use):
        return quiet
    # One ping for one end, however often it is warned of; and one for each thing that is wrong.
    about = f"end-{written(view.closes)}" if kind in {"warned", "ends-early"} else f"ping-{quiet.key}"
    return replace(quiet, aloud=pinging(said, told.mentioned), aloud_key=about)


def _is_about(entry: Entry, view: LeaseView) -> bool:
    """Its own, or of everybody on the pool while it ran."""
    if entry.lease is None:
        return "notice" in entry.details and view.opens <= entry.at < (view.closed or view.closes)
    return entry.lease == view.id


def _finding(found: Finding, look: SlackStyle) -> Post:
    """A cause, once however often it is found."""
    said = look.say(
        "thread.finding",
        cause=plain(found.cause),
        summary=look.told(found.summary),
        advice=look.told(found.advice),
    )
    key = short(f"{found.cause} {one_line(found.summary)}")
    return Post(f"finding-{key}", plainly(said), at=found.at)


def _late(view: LeaseView, told: ThreadFacts, look: SlackStyle) -> list[Post]:
    """That GPUs are not there when they were promised, and which stage takes its time."""
    late = [stage for stage in view.stages if stage.state is StageState.LATE]
    promised = view.gpus_expected is None or view.gpus_expected <= look.now
    if view.standing is not LeaseStanding.OPENING or not late or not promised:
        return []
    stage = look.say(f"stage.{late[0].stage.value}")
    said = look.say(
        "ping.late", lease=plain(called(view, look)), stage=stage, why=plain(look.drawn(late[0].said))
    )
    return [in_channel("late", said, told.mentioned)]


def _refused(view: LeaseView, told: ThreadFacts, look: SlackStyle) -> list[Post]:
    """That a planned window does not open."""
    if view.window is None or view.standing is not LeaseStanding.REFUSED:
        return []
    said = look.say(
        "ping.refused",
        lease=plain(called(view, look)),
        opens=plain(look.clock(view.opens)),
        reason=look.told(view.refused_because or ""),
    )
    return [in_channel("refused", said, told.mentioned)]


def _in_use(pool: PoolState | None, look: SlackStyle) -> bool:
    """Whether pods held GPUs when the guard looked last."""
    seen = pool.seen_gpus if pool else None
    return seen is not None and seen.in_use > 0 and look.now - seen.at <= SEEN_FRESH
