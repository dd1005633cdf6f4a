"""What the lab remembers of its conversation in Slack: what awaits an answer, what was asked, who waits.

Values only; the ledger keeps them (adapters/aws/ledger/slack/slack.py), the Slack function and the board write them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

REPLY_GOOD_FOR = timedelta(minutes=30)
"""How long Slack takes answers at a response_url, five at most."""
ASK_GOOD_FOR = timedelta(hours=12)
WISH_GOOD_FOR = timedelta(hours=24)
OFFER_GOOD_FOR = timedelta(minutes=10)
SEEN_KEPT = timedelta(minutes=15)
"""Longer than a signature is good for."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is still owed: where to, for which command, and how the request was understood."""

    command: str
    pool: str
    user: str
    url: str | None
    channel: str
    understood: str
    until: datetime
    thread: str | None = None
    ordered: Mapping[str, object] | None = None
    """`Command.to_json` of what was ordered, so that the answer can say what else could be done."""
    zone: str | None = None
    """Where the asker is; None: the lab's."""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """Somebody asks for what they may not do: the command as it would be given, and what became of it."""

    id: str
    pool: str
    user: str
    """The asker's Slack id."""
    owner: str
    """The asker as an owner is written."""
    channel: str
    understood: str
    """What is asked for, in words, in the asker's zone."""
    command: Mapping[str, object]
    """`Command.to_json`; its id and `by` are the approver's to say."""
    at: datetime
    until: datetime
    zone: str
    state: str = "asked"
    """asked, approved or declined."""
    by: str | None = None
    """Who approved or declined it, as an owner is written."""
    request: str | None = None
    """The key of the request that did."""
    url: str | None = None
    """Where the asker hears of it, while that is good."""
    channel_ts: str | None = None
    """The board's message with [Approve] and [Decline]."""


@dataclass(frozen=True, slots=True)
class WaitingPlace:
    """A place in the waiting list of a full pool; it holds nothing."""

    pool: str
    at: datetime
    user: str
    owner: str
    channel: str
    nodes: int
    lasting: timedelta | None
    until: datetime
    zone: str
    because: str | None = None
    earliest: datetime | None = None
    """When it would be granted, as it looked when the wish was made."""
    offered: datetime | None = None
    """When the board offered a place."""
    heard: datetime | None = None
    """When the lab heard of it: Slack dates what people ask by whole seconds."""

    @property
    def turn(self) -> tuple[datetime, datetime, str]:
        """Places are in this order: of asking, and within one second of being heard."""
        return self.at, self.heard or self.at, self.user

    @property
    def id(self) -> str:
        """Names it, and the one command that takes what it is offered."""
        return f"{self.user}-{int(self.at.timestamp())}"

    @property
    def offered_until(self) -> datetime | None:
        """Until when they may take the place that was offered; None while none was."""
        return None if self.offered is None else self.offered + OFFER_GOOD_FOR

    def on_offer(self, at: datetime) -> bool:
        """Whether a place is theirs to take at that instant."""
        return self.offered_until is not None and at < self.offered_until


@dataclass(frozen=True, slots=True)
class Shown:
    """The one message of a lease: where it is, what it shows, and how far its thread has been told."""

    pool: str
    lease: str
    channel: str
    ts: str
    digest: str
    told: datetime | None = None
    """What happened before that is told nobody any more: the message is younger."""
    version: int = 0
    said: tuple[str, ...] = ()
    """The keys of what was posted beside it."""
    posting: str | None = None
    """The key of what is being posted, written before it is."""
    posting_since: datetime | None = None
    tries: int = 0
    """How often that was begun without anybody knowing what came of it."""
