"""Posts in the channel that belong to no lease's message: about a pool, the calendar, and windows to come.

Three of them mention people: a leaked pool, a window that did not open, and a window that will be refused. A change of
the calendar is a message of its own without a mention: it is about another time than the running lease.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.notices.phrases import called
from lamplighter.domain.pool.pool import PoolState
from lamplighter.domain.slack.blocks import Marked, bold, joined, plain
from lamplighter.domain.slack.post import Post, in_channel, key_of
from lamplighter.domain.slack.style import SlackStyle
from lamplighter.lab import notice_kinds
from lamplighter.lab.notice_kinds import READINESS
from lamplighter.values.instant import written

OF_POOL = "*"
"""Stands for a lease in posts about a whole pool."""
MISSED = "missed"
"""A planned window that did not open. It has no lease whose message could show it."""
BUDGET = "budget"
NOTICES = {"skipped": "skip", "unskipped": "unskip", "paused": "pause", "resumed": "resume"}
NOTICES |= {kind: kind for kind in (BUDGET, READINESS)}
"""The kind of notice for each kind of change in the audit trail that no lease's message shows."""
LEFT_OUT = "not-opening"
"""A window that the lab itself leaves out."""
FORESEEN = "foreseen"
OUTLOOK = "outlook-"
TELLS_BACK = timedelta(minutes=15)
"""Older entries are not posted. An event may be as old as this."""


def pool_posts(
    pool: PoolState, trail: Iterable[Entry], people: Sequence[str], style: SlackStyle
) -> list[Post]:
    """The posts about a pool until now: that it is leaked, or that a window did not open."""
    found = [
        in_channel(
            key_of(entry), joined([bold(style.drawn(entry.what)), style.told(entry.why)]), people, entry.at
        )
        for entry in trail
        if entry.kind == MISSED
    ]
    if pool.leaked_since is not None:
        said = style.say("ping.leaked", pool=plain(pool.name), reason=style.told(pool.leaked_because or ""))
        # It has no instant: it holds until the pool is at zero, so it is posted however late.
        found.append(in_channel(f"leaked-{written(pool.leaked_since)}", said, people))
    return found


def calendar_posts(trail: Iterable[Entry], style: SlackStyle) -> list[Post]:
    """The changes of the calendar. A pause is in the trail of every pool, but it is one post."""
    changed = [(notice, entry) for entry in trail if (notice := _notice(entry)) in notice_kinds.IN_CHANNEL]
    return [
        in_channel(
            key_of(entry), joined([bold(_subject(notice, entry, style)), style.told(entry.why)]), at=entry.at
        )
        for notice, entry in changed
    ]


def is_news(entry: Entry) -> bool:
    """Whether an entry is posted in the channel and not with a lease's message."""
    return entry.kind in {MISSED, FORESEEN} or _notice(entry) in notice_kinds.IN_CHANNEL


def outlook(lease: Lease, said: Iterable[str], people: Sequence[str], style: SlackStyle) -> Post | None:
    """A planned window will be refused, or opens after all: a post each time that this changes.

    `said` are the keys of its posts so far. They alternate, so their number tells what people believe now. The post is
    made however late, but not after the window's start.
    """
    if lease.window is None or lease.state is not LeaseState.PLANNED or lease.opens <= style.now:
        return None
    turns = sum(key.startswith(OUTLOOK) for key in said)
    believed_refused = turns % 2 == 1
    if believed_refused == (lease.refusal is not None):
        return None
    said_now = style.say(
        "channel.opens-after-all" if lease.refusal is None else "ping.foreseen",
        lease=plain(called(style.texts, lease)),
        opens=plain(style.clock(lease.begins)),
        reason=style.told(lease.refusal or ""),
    )
    loud = notice_kinds.pings(FORESEEN, not_opening=lease.refusal is not None)
    begun = Marked(f"{said_now[:1].upper()}{said_now[1:]}")
    return in_channel(f"{OUTLOOK}{turns}", begun, people if loud else ())


def _notice(entry: Entry) -> str:
    # A person's skip names the window in its reason. Where the lab leaves one out, the details name it.
    return LEFT_OUT if entry.kind == "skipped" and entry.details else NOTICES.get(entry.kind, "")


def _subject(notice: str, entry: Entry, style: SlackStyle) -> str:
    if notice in {BUDGET, READINESS}:
        return style.drawn(entry.what)
    return style.texts.say(f"notice.{notice}.subject", **entry.details)
