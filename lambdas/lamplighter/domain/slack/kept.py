"""What the lab keeps of its conversation in Slack: open answers, requests for approval, and the waiting list.

Values only: the ledger keeps them (adapters/aws/ledger/slack/slack.py), the Slack function and the board write them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

REPLY_GOOD_FOR = timedelta(minutes=30)
"""How long Slack takes answers at a response_url, five at most."""
SENDING_TAKES = timedelta(minutes=1)
"""After that whoever was giving an answer has died with it: the board's time-out (stacks/constructs/slack.py)."""
ASK_GOOD_FOR = timedelta(hours=12)
WISH_GOOD_FOR = timedelta(hours=24)
OFFER_GOOD_FOR = timedelta(minutes=10)
SEEN_KEPT = timedelta(minutes=90)
"""Longer than a signature is valid and a request waits in its queue."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that has yet to be sent: to which address, for which command, and how the request was understood."""

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
    """The asker's time zone; None for the lab's, where Slack did not say it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A request that was handled."""

    ordered: Mapping[str, object] | None = None
    """`Command.to_json` of what it ordered; None where it ordered nothing."""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A person asks for what their role does not allow: the command, and the decision of an approver."""

    id: str
    pool: str
    user: str
    """The asker's Slack id."""
    owner: str
    """The asker as an owner is written."""
    channel: str
    understood: str
    """The request in words, by the asker's clock."""
    command: Mapping[str, object]
    """`Command.to_json`. The approval sets its id and `by`."""
    at: datetime
    until: datetime
    zone: str
    state: str = "asked"
    """asked, approved or declined."""
    by: str | None = None
    """The member who approved or declined it, as an owner is written."""
    request: str | None = None
    """The key of the request with that decision."""
    url: str | None = None
    """The response_url of the asker, for as long as it is valid."""
    channel_ts: str | None = None
    """The board's message with [Approve] and [Decline]."""


@dataclass(frozen=True, slots=True)
class WaitingPlace:
    """A place in the waiting list of a full pool. It holds no nodes and no money."""

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
    """When it would be granted, as known at the time of the request."""
    offered: datetime | None = None
    """When the board offered a place."""
    heard: datetime | None = None
    """When the lab got the request. Slack's own time has whole seconds only."""

    @property
    def turn(self) -> tuple[datetime, datetime, str]:
        """Sorts places by the time of the request, and within one second by its arrival."""
        return self.at, self.heard or self.at, self.user

    @property
    def id(self) -> str:
        """Names the place, and the one command that takes its offer."""
        return f"{self.user}-{int(self.at.timestamp())}"

    @property
    def offered_until(self) -> datetime | None:
        """The end of the offer; None while there is none."""
        return None if self.offered is None else self.offered + OFFER_GOOD_FOR

    def on_offer(self, at: datetime) -> bool:
        """Whether the offer is valid at an instant."""
        return self.offered_until is not None and at < self.offered_until


@dataclass(frozen=True, slots=True)
class Shown:
    """The one message of a lease: its address in Slack, what it shows, and which posts were made beside it."""

    pool: str
    lease: str
    channel: str
    ts: str
    digest: str
    told: datetime | None = None
    """Earlier events are not posted: the message is younger."""
    version: int = 0
    said: tuple[str, ...] = ()
    """The keys of the posts that were made."""
    posting: str | None = None
    """The key of the post that is being made, written before it is made."""
    posting_since: datetime | None = None
    tries: int = 0
    """How many attempts of that post have an unknown outcome."""
