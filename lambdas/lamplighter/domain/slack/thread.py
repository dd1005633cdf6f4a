"""What is told beside a lease's message: in its thread, or, for four things only, as a new message that pings.

The four: a planned window refused, a late or degraded opening, an end while GPUs are in use, a leaked pool.
Every post has a key, so that whoever posts can remember what was said; who is in a position to read is
mentioned, by id.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lamplighter.domain import notice_kinds
from lamplighter.domain.audit import Entry
from lamplighter.domain.findings_told import KIND as FINDING
from lamplighter.domain.instant import written
from lamplighter.domain.pool import PoolState
from lamplighter.domain.slack import blocks
from lamplighter.domain.slack.blocks import Marked, bold, joined, mention, plain
from lamplighter.domain.slack.look import Look
from lamplighter.domain.slack.message import Beside, Message, buttons, called, page_link, receipt_lines
from lamplighter.domain.slack.person import id_in
from lamplighter.domain.views.lease_view import LeaseView, Standing
from lamplighter.domain.views.stages import StageState
from lamplighter.domain.views.told import Finding
from lamplighter.lab_channels import Slack

SEEN_FRESH = timedelta(minutes=15)
"""What the guard saw of GPUs counts as now: three sweeps."""
MOST_MENTIONED = 8
BELONGS = frozenset({"announced", "warned", "breach"})
"""Entries of the trail that may be told; the others explain, or show in the message itself."""
MISSED = "missed"
"""A planned window that went by without opening, whatever the reason: it has no lease to be shown with."""
IN_PLACE = frozenset({"open", "planned", "already-open"})
"""Notices that the message shows as they are."""
OF_POOL = "*"
"""Beside the leases' messages: what is told of a whole pool."""


@dataclass(frozen=True, slots=True)
class Post:
    """One thing to say, once."""

    key: str
    message: Message
    """In the thread, where it pings nobody."""
    ping: Message | None = None
    """A new message in the channel that mentions people, in place of the one in the thread."""
    ping_key: str = ""
    """What it pings about: of several posts about one thing only the first pings."""
    at: datetime | None = None
    """When it happened; None for what follows from how things stand."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the posts of a lease are made of, beside its view."""

    trail: Sequence[Entry] = ()
    """What happened to its pool since it was granted, oldest first."""
    pool: PoolState | None = None
    mentioned: Sequence[str] = ()
    """Slack ids of those who are pinged."""


def posts(view: LeaseView, told: Told, beside: Beside, look: Look) -> list[Post]:
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


def pool_posts(pool: PoolState, told: Told, look: Look) -> list[Post]:
    """What is to have been said of a pool by now: that it is leaked, or that a window's time went by."""
    found = [
        _loud(_key(entry), joined([bold(entry.what), look.told(entry.why)]), told, at=entry.at)
        for entry in told.trail
        if entry.kind == MISSED
    ]
    if pool.leaked_since is not None:
        said = look.say("ping.leaked", pool=plain(pool.name), reason=look.told(pool.leaked_because or ""))
        # No instant with it: it stands until it is over, however late somebody can be told.
        found.append(_loud(f"leaked-{written(pool.leaked_since)}", said, told))
    return found


def mentioned(owners: Iterable[str | None], slack: Slack | None, pool: str) -> list[str]:
    """Who is pinged: the people themselves where they are in Slack, else the roles that may do something."""
    people = [known for owner in owners if (known := id_in(owner))]
    if not people and slack is not None:
        people = [
            member
            for role in slack.roles.values()
            if {"open", "close"} & {*role.may} and (role.pools is None or pool in role.pools)
            for member in role.members
        ]
    return list(dict.fromkeys(people))[:MOST_MENTIONED]


def _of_entry(entry: Entry, view: LeaseView, told: Told, look: Look) -> Post | None:
    if entry.kind == FINDING and entry.lease == view.id:
        return _finding(Finding.read(entry), look)
    if entry.kind not in BELONGS or not _is_about(entry, view):
        return None
    kind = entry.details.get("notice") or entry.kind
    if kind in IN_PLACE:
        return None
    said = joined([bold(entry.what), look.told(entry.why)])
    in_use = _in_use(told.pool, look)
    row = blocks.actions(*buttons(view, look)[:1]) if kind == "warned" and view.in_force else []
    quiet = Post(_key(entry), Message(said, [blocks.section(said), *row]), at=entry.at)
    # That a window is refused or a pool leaked is said of how things stand, not of what was announced.
    if kind in {"refused", "leaked"} or not notice_kinds.pings(kind, in_use=in_use):
        return quiet
    # One ping for one end, however often it is warned of; and one for each thing that is wrong.
    about = f"end-{written(view.closes)}" if kind in {"warned", "ends-early"} else f"ping-{quiet.key}"
    return replace(quiet, ping=_pinging(said, told.mentioned), ping_key=about)


def _is_about(entry: Entry, view: LeaseView) -> bool:
    """Its own, or of everybody on the pool while it ran."""
    if entry.lease is None:
        return "notice" in entry.details and view.opens <= entry.at < (view.closed or view.closes)
    return entry.lease == view.id


def _finding(found: Finding, look: Look) -> Post:
    """A cause, once however often it is found."""
    said = look.say(
        "thread.finding",
        cause=plain(found.cause),
        summary=look.told(found.summary),
        advice=look.told(found.advice),
    )
    return Post(f"finding-{_short(f'{found.cause} {found.summary}')}", _plain_message(said), at=found.at)


def _late(view: LeaseView, told: Told, look: Look) -> list[Post]:
    """That GPUs are not there when they were promised, and which stage takes its time."""
    late = [stage for stage in view.stages if stage.state is StageState.LATE]
    promised = view.gpus_expected is None or view.gpus_expected <= look.now
    if view.standing is not Standing.OPENING or not late or not promised:
        return []
    stage = look.say(f"stage.{late[0].stage.value}")
    said = look.say("ping.late", lease=plain(called(view, look)), stage=stage, why=plain(late[0].said))
    return [_loud("late", said, told)]


def _refused(view: LeaseView, told: Told, look: Look) -> list[Post]:
    """That a planned window does not open."""
    if view.window is None or view.standing is not Standing.REFUSED:
        return []
    said = look.say(
        "ping.refused",
        lease=plain(called(view, look)),
        opens=plain(look.clock(view.opens)),
        reason=look.told(view.refused_because or ""),
    )
    return [_loud("refused", said, told)]


def _in_use(pool: PoolState | None, look: Look) -> bool:
    """Whether pods held GPUs when the guard looked last."""
    seen = pool.seen_gpus if pool else None
    return seen is not None and seen.in_use > 0 and look.now - seen.at <= SEEN_FRESH


def _loud(key: str, said: Marked, told: Told, at: datetime | None = None) -> Post:
    return Post(key, _plain_message(said), _pinging(said, told.mentioned), f"ping-{key}", at)


def _pinging(said: Marked, people: Sequence[str]) -> Message:
    return _plain_message(joined([joined([mention(each) for each in people], " "), said], " "))


def _plain_message(said: Marked) -> Message:
    return Message(said, [blocks.section(said)])


def _key(entry: Entry) -> str:
    """The same thing said again at another instant is another thing; what it is follows from its words."""
    return _short(f"{written(entry.at)} {entry.kind} {entry.what} {entry.why}")


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
