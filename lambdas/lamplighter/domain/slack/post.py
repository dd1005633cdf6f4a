"""One post beside a lease's message, made once: in its thread, or as a new message in the channel.

Every post has a key, by which the board remembers that it was made. thread.py and channel.py decide which posts there
are.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.people.person import id_in
from lamplighter.domain.slack import blocks
from lamplighter.domain.slack.blocks import Marked, joined, mention
from lamplighter.domain.slack.message import Message
from lamplighter.lab.channels import Slack
from lamplighter.reasons.document import one_line
from lamplighter.reasons.reason import Said
from lamplighter.values.instant import written

MOST_MENTIONED = 8


@dataclass(frozen=True, slots=True)
class Post:
    """One post, made once."""

    key: str
    message: Message
    """The message for the thread. It mentions nobody."""
    aloud: Message | None = None
    """A new message in the channel in place of the one in the thread. It mentions people, which notifies them."""
    aloud_key: str = ""
    """The topic of the post: only the first post of a topic is a message in the channel."""
    at: datetime | None = None
    """When it happened; None for a present state."""


def plainly(said: Marked) -> Message:
    """A message of one text."""
    return Message(said, [blocks.section(said)])


def pinging(said: Marked, people: Sequence[str]) -> Message:
    """The same with a mention of these."""
    return plainly(joined([joined([mention(each) for each in people], " "), said], " "))


def in_channel(key: str, said: Marked, people: Sequence[str] = (), at: datetime | None = None) -> Post:
    """A post that is a message in the channel; without people it mentions nobody."""
    return Post(key, plainly(said), pinging(said, people), f"ping-{key}", at)


def mentioned(owners: Iterable[str | None], slack: Slack | None, pool: str) -> list[str]:
    """Who is mentioned: the owners that are in Slack, else the members of roles that may open or close."""
    people = [known for owner in owners if (known := id_in(owner))]
    if not people and slack is not None:
        people = [
            member
            for role in slack.roles.values()
            if {"open", "close"} & {*role.may} and (role.pools is None or pool in role.pools)
            for member in role.members
        ]
    return list(dict.fromkeys(people))[:MOST_MENTIONED]


def key_of(entry: Entry) -> str:
    """A key from the instant and the reason: the same reason at another instant is another post."""
    return short(f"{written(entry.at)} {entry.kind} {line_of(entry.what)} {line_of(entry.why)}")


def line_of(said: Said) -> str:
    """A reason as text that does not change with the catalogue."""
    return said if isinstance(said, str) else one_line(said)


def short(text: str) -> str:
    """A short key made of any text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
