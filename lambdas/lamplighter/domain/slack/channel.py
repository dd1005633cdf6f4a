"""What is told in the channel whether a lease has a message or not: of a pool, of the calendar, of a window to come.

Pings that a pool is leaked, that a window's time went by, and that a window will be refused. What people and the
lab change about the calendar is one plain message each: it is about another time than the lease that runs, so
nobody would look for it in that lease's thread.
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
from lamplighter.values.instant import written

OF_POOL = "*"
"""Beside the leases' messages: what is told of a whole pool."""
MISSED = "missed"
"""A planned window that went by without opening, whatever the reason: it has no lease to be shown with."""
NOTICES = {"skipped": "skip", "unskipped": "unskip", "paused": "pause", "resumed": "resume"}
"""Which notice says, by SNS and in the same words, what the trail says was changed about the calendar."""
LEFT_OUT = "not-opening"
"""What the lab itself leaves out."""
FORESEEN = "foreseen"
OUTLOOK = "outlook-"
TELLS_BACK = timedelta(minutes=15)
"""What happened longer ago is told nobody any more: as old as an event may get."""


def pool_posts(
    pool: PoolState, trail: Iterable[Entry], people: Sequence[str], style: SlackStyle
) -> list[Post]:
    """What is to have been said of a pool by now: that it is leaked, or that a window's time went by."""
    found = [
        in_channel(
            key_of(entry), joined([bold(style.drawn(entry.what)), style.told(entry.why)]), people, entry.at
        )
        for entry in trail
        if entry.kind == MISSED
    ]
    if pool.leaked_since is not None:
        said = style.say("ping.leaked", pool=plain(pool.name), reason=style.told(pool.leaked_because or ""))
        # No instant with it: it stands until it is over, however late somebody can be told.
        found.append(in_channel(f"leaked-{written(pool.leaked_since)}", said, people))
    return found


def calendar_posts(trail: Iterable[Entry], style: SlackStyle) -> list[Post]:
    """What was changed about the calendar: a pause stands in the trail of every pool, and is one thing all the same."""
    changed = [(notice, entry) for entry in trail if (notice := _notice(entry)) in notice_kinds.IN_CHANNEL]
    return [
        in_channel(
            key_of(entry), joined([bold(_subject(notice, entry, style)), style.told(entry.why)]), at=entry.at
        )
        for notice, entry in changed
    ]


def is_news(entry: Entry) -> bool:
    """Whether it is told in the channel, and not in a lease's message."""
    return entry.kind in {MISSED, FORESEEN} or _notice(entry) in notice_kinds.IN_CHANNEL


def outlook(lease: Lease, said: Iterable[str], people: Sequence[str], style: SlackStyle) -> Post | None:
    """That a planned window will be refused, or opens after all: each time that it turns.

    `said` are the keys of what was said of it so far: they alternate, so how many there are says what people
    believe now. It follows from how things stand, so it is told however late, but not once its time has come.
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
    # What a person skips says in its reason which window that is; what the lab leaves out names it beside.
    return LEFT_OUT if entry.kind == "skipped" and entry.details else NOTICES.get(entry.kind, "")


def _subject(notice: str, entry: Entry, style: SlackStyle) -> str:
    return style.texts.say(f"notice.{notice}.subject", **entry.details)
