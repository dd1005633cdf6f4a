"""Every kind of notice: when it is sent, on which topic, and when it mentions people in Slack.

This is the only table of kinds. The routes of lab.yaml, the attribute `kind` of every message, the reference page and
Slack use it. domain/notices/ chooses the text of a notice.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never


class Ping(StrEnum):
    """When a notice is a new message that mentions people."""

    NEVER = "never"
    ALWAYS = "always"
    PLANNED = "if it was a planned window"
    NOT_OPENING = "if the window will not open"
    LATE = "if it came late"
    IN_USE = "if GPUs are in use"


@dataclass(frozen=True, slots=True)
class NoticeKind:
    """One kind. Routes and messages use its name."""

    name: str
    when: str
    ping: Ping = Ping.NEVER
    routed: bool = True
    """Whether a route of lab.yaml without a list of kinds gets it."""
    page: bool = False
    """Whether it needs a person. It then goes to the topic of the pages, not of the notices."""
    in_channel: bool = False
    """Whether it is a new message in Slack when it mentions nobody; else the lease's message or thread has it."""


SHORT, UNFILLED, READINESS, CLASS = "short", "unfilled", "readiness", "class"
KINDS: tuple[NoticeKind, ...] = (
    NoticeKind("open", "A pool is open and its GPUs are proven.", Ping.LATE),
    NoticeKind("degraded", "A pool is open with less than was asked for, or not proven.", Ping.ALWAYS),
    NoticeKind(
        SHORT,
        "AWS refuses nodes of an opening: the cause and what AWS has instead, at once, while the other nodes come.",
        Ping.ALWAYS,
    ),
    NoticeKind("failed", "GPUs failed their checks and the pool is being closed for it.", Ping.ALWAYS),
    NoticeKind("replacing", "Nodes whose GPUs failed are about to be replaced."),
    NoticeKind("taken", "AWS takes a Spot node of a lease: when, and what the lab does then.", Ping.ALWAYS),
    NoticeKind("refused", "A window, an open or an extension was refused.", Ping.PLANNED),
    NoticeKind("already-open", "Somebody asked for a pool that is already open.", routed=False),
    NoticeKind("planned", "Somebody was granted a lease that begins later."),
    NoticeKind("extended", "A lease now ends later."),
    NoticeKind("shortened", "A lease now ends sooner."),
    NoticeKind("warned", "A lease ends soon; the notice says whose work ends with it.", Ping.IN_USE),
    NoticeKind("ends-early", "The guard will end a lease early, and why.", Ping.IN_USE),
    NoticeKind("closing", "A pool is closing, and why."),
    NoticeKind(
        UNFILLED,
        "A lease ends without all its nodes, for a shortage outside: what was tried, AWS's words, the cost, and the"
        " next free times. It comes in place of `closing`.",
        Ping.ALWAYS,
    ),
    NoticeKind(
        "not-opening", "A window does not open on a date: an exception, or a clock change.", in_channel=True
    ),
    NoticeKind(
        "foreseen",
        "A window will be refused if nothing changes, or will open after all.",
        Ping.NOT_OPENING,
        in_channel=True,
    ),
    NoticeKind(
        READINESS,
        "A check before a window (`guard.look_again`) found that it got worse or better; with what to do.",
        in_channel=True,
    ),
    NoticeKind("missed", "A planned window passed without opening.", Ping.PLANNED),
    NoticeKind(
        "budget", "So much of the budget is used, or what is planned does not fit into it.", in_channel=True
    ),
    NoticeKind("calendar", "A course calendar changed what is planned, or cannot be read."),
    NoticeKind(
        CLASS,
        "The namespace of a class was not written, and why; or nobody has needed it for so long as the lab keeps it.",
    ),
    NoticeKind("experiment", "An experiment is about to start a fault on purpose, and whom it affects."),
    NoticeKind("experiment-over", "An experiment is over, and its change is undone."),
    NoticeKind("skip", "Somebody skips a window.", in_channel=True),
    NoticeKind("unskip", "Somebody lets a skipped window open after all.", in_channel=True),
    NoticeKind("pause", "Somebody paused the lab, or a pool.", in_channel=True),
    NoticeKind("resume", "Somebody resumed it.", in_channel=True),
    NoticeKind("arm", "Somebody switched the guard to enforce mode.", routed=False),
    NoticeKind("watch", "Somebody switched the guard to watch mode.", routed=False),
    NoticeKind("ack", "Somebody silenced the pages of a pool for a while.", routed=False),
    NoticeKind("keep", "Somebody keeps an idle lease.", routed=False),
    NoticeKind("doctor", "The result of the doctor's monthly run.", routed=False),
    NoticeKind("leaked", "A pool should be at zero and is not.", Ping.ALWAYS, page=True),
    NoticeKind("guard", "The guard found a breach, or could not read the state.", page=True),
)

_BY_NAME = {kind.name: kind for kind in KINDS}
NAMES = tuple(_BY_NAME)
NOTICES = tuple(kind.name for kind in KINDS if not kind.page)
PAGES = tuple(kind.name for kind in KINDS if kind.page)
ROUTED = tuple(kind.name for kind in KINDS if kind.routed and not kind.page)
"""The kinds for a route without a list of kinds."""
IN_CHANNEL = frozenset(kind.name for kind in KINDS if kind.in_channel)
"""The kinds that get a message in Slack's channel, because no lease's message shows them."""


def pings(
    kind: str,
    *,
    planned: bool = False,
    not_opening: bool = False,
    late: bool = False,
    in_use: bool = False,
) -> bool:
    """Whether this notice is a new message in Slack that mentions people.

    `planned`: the notice is about a window of the calendar. `not_opening`: that window will not open. `late`: the pool
    opened later than its lease planned. `in_use`: pods hold GPUs on the nodes that will be removed. An unknown kind
    mentions nobody.
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
