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
from lamplighter.domain.slack.post import Post, in_channel, key_of, line_of, pinging, plainly, short
from lamplighter.domain.slack.style import SlackStyle
from lamplighter.domain.views.lease_view import LeaseStanding, LeaseView
from lamplighter.domain.views.stages import StageState
from lamplighter.domain.views.told import FindingView
from lamplighter.lab import notice_kinds
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


def posts(view: LeaseView, told: ThreadFacts, beside: MessageExtras, style: SlackStyle) -> list[Post]:
    """Everything that is to have been said of a lease by now, oldest first."""
    found = [post for entry in told.trail if (post := _of_entry(entry, view, told, style)) is not None]
    found += _late(view, told, style)
    found += _refused(view, told, style)
    if beside.receipt is not None:
        figures = joined(
            [bold(style.texts.say("slack.thread.receipt")), receipt_lines(beside.receipt, style)]
        )
        shown = [blocks.section(figures), *page_link(beside, style)]
        found.append(Post("receipt", Message(figures, shown)))
    once: dict[str, Post] = {}
    for post in found:
        once.setdefault(post.key, post)
    return list(once.values())


def _of_entry(entry: Entry, view: LeaseView, told: ThreadFacts, style: SlackStyle) -> Post | None:
    if entry.kind == FINDING and entry.lease == view.id:
        return _finding(FindingView.read(entry), style)
    if entry.kind not in BELONGS or not _is_about(entry, view):
        return None
    kind = entry.details.get("notice") or entry.kind
    if kind in IN_PLACE:
        return None
    said = joined([bold(style.drawn(entry.what)), style.told(entry.why)])
    in_use = _in_use(told.pool, style)
    row = blocks.actions(*buttons(view, style)[:1]) if kind == "warned" and view.in_force else []
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


def _finding(found: FindingView, style: SlackStyle) -> Post:
    """A cause, once however often it is found."""
    said = style.say(
        "thread.finding",
        cause=plain(found.cause),
        summary=style.told(found.summary),
        advice=style.told(found.advice),
    )
    return Post(f"finding-{short(f'{found.cause} {line_of(found.summary)}')}", plainly(said), at=found.at)


def _late(view: LeaseView, told: ThreadFacts, style: SlackStyle) -> list[Post]:
    """That GPUs are not there when they were promised, and which stage takes its time."""
    late = [stage for stage in view.stages if stage.state is StageState.LATE]
    promised = view.gpus_expected is None or view.gpus_expected <= style.now
    if view.standing is not LeaseStanding.OPENING or not late or not promised:
        return []
    stage = style.say(f"stage.{late[0].stage.value}")
    said = style.say(
        "ping.late", lease=plain(called(view, style)), stage=stage, why=plain(style.drawn(late[0].said))
    )
    return [in_channel("late", said, told.mentioned)]


def _refused(view: LeaseView, told: ThreadFacts, style: SlackStyle) -> list[Post]:
    """That a planned window does not open."""
    if view.window is None or view.standing is not LeaseStanding.REFUSED:
        return []
    said = style.say(
        "ping.refused",
        lease=plain(called(view, style)),
        opens=plain(style.clock(view.opens)),
        reason=style.told(view.refused_because or ""),
    )
    return [in_channel("refused", said, told.mentioned)]


def _in_use(pool: PoolState | None, style: SlackStyle) -> bool:
    """Whether pods held GPUs when the guard looked last."""
    seen = pool.seen_gpus if pool else None
    return seen is not None and seen.in_use > 0 and style.now - seen.at <= SEEN_FRESH
