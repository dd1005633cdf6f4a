"""The posts beside a lease's message: in its thread, or, in four cases only, as a new message that mentions people.

The four cases: a planned window or a lease granted ahead is refused, an opening is late or degraded, a lease ends while
GPUs are in use, and a lease ends without its nodes.
channel.py has the fifth, a leaked pool, and the posts that belong to no lease's message.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.audit.findings import KIND as FINDING
from lamplighter.domain.granting import free_times
from lamplighter.domain.pool.pool import PoolState
from lamplighter.domain.slack import blocks
from lamplighter.domain.slack.asked.buttons import ButtonAction, Carried
from lamplighter.domain.slack.blocks import Button, bold, joined, plain
from lamplighter.domain.slack.booking import Offer, book
from lamplighter.domain.slack.message import Message, MessageExtras, buttons, called, page_link, receipt_lines
from lamplighter.domain.slack.post import Post, in_channel, key_of, line_of, pinging, plainly, short
from lamplighter.domain.slack.style import SlackStyle
from lamplighter.domain.slack.times import Times
from lamplighter.domain.views.lease_view import LeaseStanding, LeaseView
from lamplighter.domain.views.stages import StageState
from lamplighter.domain.views.told import FindingView
from lamplighter.lab import notice_kinds
from lamplighter.values.instant import written

SEEN_FRESH = timedelta(minutes=15)
"""The guard's reading of the GPUs counts as present for three sweeps."""
BELONGS = frozenset({"announced", "warned", "breach"})
"""The kinds of trail entries that are posted. The message itself shows the others, or they only explain."""
IN_PLACE = frozenset({"open", "planned", "already-open"})
"""Notices that the message itself shows."""


@dataclass(frozen=True, slots=True)
class ThreadFacts:
    """What the posts of a lease are made from, beside its view."""

    trail: Sequence[Entry] = ()
    """The audit trail of its pool since the grant, oldest first."""
    pool: PoolState | None = None
    mentioned: Sequence[str] = ()
    """The Slack ids of the people to mention."""


def posts(view: LeaseView, told: ThreadFacts, beside: MessageExtras, style: SlackStyle) -> list[Post]:
    """All posts of a lease until now, oldest first."""
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
    if free := free_times.read(view.pool, entry.details.get("free", "")):
        times = Times(style.zone, style.now)
        row = blocks.actions(*book(free, Offer(view.id, view.nodes), times, style.texts))
    if to := entry.details.get("move"):
        carried = Carried(pool=to, lease=view.id).written()
        row = blocks.actions(Button(ButtonAction.MOVE, style.say("button.move", pool=plain(to)), carried))
    quiet = Post(key_of(entry), Message(said, [blocks.section(said), *row]), at=entry.at)
    # A refused window and a leaked pool have posts of their own, made from the present state.
    if kind in {"refused", "leaked"} or not notice_kinds.pings(kind, in_use=in_use):
        return quiet
    # One mention for one end, however many warnings there are, and one for each thing that is wrong.
    about = f"end-{written(view.closes)}" if kind in {"warned", "ends-early"} else f"ping-{quiet.key}"
    aloud = pinging(said, told.mentioned)
    return replace(quiet, aloud=replace(aloud, blocks=[*aloud.blocks, *row]), aloud_key=about)


def _is_about(entry: Entry, view: LeaseView) -> bool:
    """Whether an entry is about the lease, or about the whole pool while the lease ran."""
    if entry.lease is None:
        return "notice" in entry.details and view.opens <= entry.at < (view.closed or view.closes)
    return entry.lease == view.id


def _finding(found: FindingView, style: SlackStyle) -> Post:
    """A cause: one post, however often a diagnosis finds it."""
    said = style.say(
        "thread.finding",
        cause=plain(found.cause),
        summary=style.told(found.summary),
        advice=style.told(found.advice),
    )
    return Post(f"finding-{short(f'{found.cause} {line_of(found.summary)}')}", plainly(said), at=found.at)


def _late(view: LeaseView, told: ThreadFacts, style: SlackStyle) -> list[Post]:
    """The GPUs are not ready at the expected time: which stage is late, and why."""
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
    """A planned window, or a lease that was granted ahead, does not open."""
    if view.standing is not LeaseStanding.REFUSED:
        return []
    said = style.say(
        "ping.refused",
        lease=plain(called(view, style)),
        opens=plain(style.clock(view.opens)),
        reason=style.told(view.refused_because or ""),
    )
    return [in_channel("refused", said, told.mentioned)]


def _in_use(pool: PoolState | None, style: SlackStyle) -> bool:
    """Whether pods held GPUs at the guard's last reading."""
    seen = pool.seen_gpus if pool else None
    return seen is not None and seen.in_use > 0 and style.now - seen.at <= SEEN_FRESH
