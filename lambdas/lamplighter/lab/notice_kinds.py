"""Every kind of notice there is: when it is said, on which topic, and when it pings people in Slack.

The one table: lab.yaml's routes, the attribute `kind` of every message, the reference page and Slack read it.
What a notice says is announcement.py's.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never


class Ping(StrEnum):
    """When a new message that mentions people is worth it."""

    NEVER = "never"
    ALWAYS = "always"
    PLANNED = "where it was a planned window"
    NOT_OPENING = "where the window will not open"
    LATE = "where it came late"
    IN_USE = "where GPUs are in use"


@dataclass(frozen=True, slots=True)
class NoticeKind:
    """One kind, by the name that routes and messages give it."""

    name: str
    when: str
    ping: Ping = Ping.NEVER
    routed: bool = True
    """Whether a route of lab.yaml that names no kinds gets it."""
    page: bool = False
    """Whether it needs a person: it goes to the pages' own place, not to the notices'."""
    in_channel: bool = False
    """Whether Slack has a plain message of it where it does not ping; else it shows in a lease's message or thread."""


KINDS: tuple[NoticeKind, ...] = (
    NoticeKind("open", "A pool is open and its GPUs are proven.", Ping.LATE),
    NoticeKind("degraded", "A pool is open with less than was asked for, or not proven.", Ping.ALWAYS),
    NoticeKind("failed", "GPUs failed their checks and the pool is being closed for it.", Ping.ALWAYS),
    NoticeKind("replacing", "Nodes whose GPUs failed are about to be replaced."),
    NoticeKind("refused", "A window, an open or an extension was refused.", Ping.PLANNED),
    NoticeKind("already-open", "Somebody asked for what is open already.", routed=False),
    NoticeKind("planned", "Somebody was granted a lease that begins later."),
    NoticeKind("extended", "A lease ends later than it did."),
    NoticeKind("shortened", "A lease ends sooner than it did."),
    NoticeKind("warned", "A lease ends soon; whose work goes with it.", Ping.IN_USE),
    NoticeKind("ends-early", "The guard will end a lease before its time, and why.", Ping.IN_USE),
    NoticeKind("closing", "A pool is closing, and why."),
    NoticeKind(
        "not-opening", "A window does not open on a date: an exception, or a clock change.", in_channel=True
    ),
    NoticeKind(
        "foreseen",
        "A window will be refused as things stand, or opens after all.",
        Ping.NOT_OPENING,
        in_channel=True,
    ),
    NoticeKind("missed", "A planned window went by without opening.", Ping.PLANNED),
    NoticeKind("calendar", "A course calendar changed what is planned, or cannot be read."),
    NoticeKind("experiment", "A fault is about to be put in on purpose, and who feels it."),
    NoticeKind("experiment-over", "An experiment is over and undone."),
    NoticeKind("skip", "Somebody skips a window.", in_channel=True),
    NoticeKind("unskip", "Somebody lets a skipped window open after all.", in_channel=True),
    NoticeKind("pause", "Somebody paused the lab, or a pool.", in_channel=True),
    NoticeKind("resume", "Somebody resumed it.", in_channel=True),
    NoticeKind("arm", "Somebody let the guard enforce.", routed=False),
    NoticeKind("watch", "Somebody let the guard only watch.", routed=False),
    NoticeKind("ack", "Somebody silenced the pages of a pool for a while.", routed=False),
    NoticeKind("keep", "Somebody keeps an idle lease.", routed=False),
    NoticeKind("doctor", "What the doctor's monthly run found, or that all is well.", routed=False),
    NoticeKind("leaked", "A pool should be at zero and is not.", Ping.ALWAYS, page=True),
    NoticeKind("guard", "The guard found a breach, or could not look.", page=True),
)

_BY_NAME = {kind.name: kind for kind in KINDS}
NAMES = tuple(_BY_NAME)
NOTICES = tuple(kind.name for kind in KINDS if not kind.page)
PAGES = tuple(kind.name for kind in KINDS if kind.page)
ROUTED = tuple(kind.name for kind in KINDS if kind.routed and not kind.page)
"""What a route gets that names no kinds."""
IN_CHANNEL = frozenset(kind.name for kind in KINDS if kind.in_channel)
"""What Slack's channel is told though no lease's message shows it."""


def pings(
    kind: str,
    *,
    planned: bool = False,
    not_opening: bool = False,
    late: bool = False,
    in_use: bool = False,
) -> bool:
    """Whether this notice is a new message in Slack that mentions people.

    `planned`: it is about a window of the calendar; `not_opening`: which will not open; `late`: the pool was not
    open when its lease said; `in_use`: pods hold GPUs on the nodes that go. A kind that nobody knows pings nobody.
    """
    known = _BY_NAME.get(kind)
    match known.ping if known else Ping.NEVER:
        case Ping.NEVER:
            return False
        case Ping.ALWAYS:
            return True
        case Ping.PLANNED:
            return planned
        case Ping.NOT_OPENING:
            return not_opening
        case Ping.LATE:
            return late
        case Ping.IN_USE:
            return in_use
        case never:
            assert_never(never)
