"""How the board posts: one message for each topic, updated when it changes, and each post beside it once.

The board notes a post before it makes it, and after. Slack has no key that makes a post happen once, so after a crash
between the two the outcome is unknown. The post is then made once more, and not a third time: a leak that is posted
twice is better than one that is never posted. An update may be repeated freely.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from lamplighter.adapters.aws.ledger.table import Conflict
from lamplighter.adapters.slack.web_api import MessageGone, Unanswered
from lamplighter.domain.slack.channel import TELLS_BACK
from lamplighter.domain.slack.kept import Shown
from lamplighter.domain.slack.message import Message
from lamplighter.domain.slack.post import Post
from lamplighter.errors import LamplighterError, TryLater
from lamplighter.reasons.reason import reason

POSTING_LASTS = timedelta(seconds=60)
"""A function runs no longer: a post that began earlier has ended."""
MOST_TRIES = 2
MOST_REMEMBERED = 300
LOOKS = 5
FIRST = "message"
"""The key of a lease's message itself, among its posts."""


class MessageApi(Protocol):
    """The calls of Slack's Web API that the board needs."""

    def post(self, channel: str, message: Message, thread: str | None = None) -> str: ...

    def update(self, channel: str, ts: str, message: Message) -> None: ...

    def whisper(self, channel: str, user: str, message: Message) -> None: ...


class MessageMemory(Protocol):
    """What the ledger keeps of a message; Conflict where another run wrote in between."""

    def shown(self, pool: str, lease: str) -> Shown | None: ...

    def show(self, shown: Shown, until: datetime | None = None) -> Shown: ...


@dataclass(slots=True)
class MessagePoster:
    """The message and the posts of one topic: a lease, a pool, or a request."""

    api: MessageApi
    memory: MessageMemory
    shown: Shown
    now: datetime
    until: datetime
    """When the ledger may forget it."""

    @classmethod
    def of(  # noqa: PLR0917
        cls,
        api: MessageApi,
        memory: MessageMemory,
        pool: str,
        thing: str,
        channel: str,
        now: datetime,
        until: datetime,
    ) -> "MessagePoster":
        """The topic as the ledger has it; a new topic skips entries that are older than TELLS_BACK."""
        fresh = Shown(pool, thing, channel, ts="", digest="", told=now - TELLS_BACK)
        return cls(api, memory, memory.shown(pool, thing) or fresh, now, until)

    def display(self, message: Message, *, anyway: bool = False, thread: str | None = None) -> None:
        """Show the message: post it the first time, in a thread or not, then update it where it changed.

        `anyway` after a conflict: the faster run may have shown an older state.
        """
        if self.shown.ts and self.shown.digest == message.digest and not anyway:
            return
        if self.shown.ts:
            try:
                self.api.update(self.shown.channel, self.shown.ts, message)
            except MessageGone:
                # A person deleted the message: post it again.
                said = tuple(key for key in self.shown.said if key != FIRST)
                self._keep(replace(self.shown, ts="", digest="", said=said))
            else:
                self._keep(replace(self.shown, digest=message.digest))
                return
        if FIRST in self.shown.said:
            return  # whether it exists is unknown
        ts = self._post(FIRST, message, thread)
        if ts:
            self._keep(replace(self.shown, ts=ts, digest=message.digest))

    def says(self, post: Post) -> bool:
        """Make a post that is not made yet: in the channel if it is for everybody, else in the thread."""
        loud = post.aloud if post.aloud_key not in self.shown.said else None
        if post.key in self.shown.said or not (loud or self.shown.ts):
            return False
        if post.at is not None and self.shown.told is not None and post.at < self.shown.told:
            return False
        if loud is not None:
            return self._post(post.key, loud, None, post.aloud_key) is not None
        return self._post(post.key, post.message, self.shown.ts) is not None

    def tells(self, key: str, tell: Callable[[], None]) -> None:
        """Tell a person elsewhere, once."""

        def told() -> str:
            tell()
            return ""

        if key not in self.shown.said:
            self._once(key, told)

    def _post(self, key: str, message: Message, thread: str | None, also: str = "") -> str | None:
        return self._once(key, lambda: self.api.post(self.shown.channel, message, thread or None), also)

    def _once(self, key: str, do: Callable[[], str], also: str = "") -> str | None:
        """Do it and remember that; None where the attempts are used up."""
        if not self._begin(key):
            return None
        try:
            ts = do()
        except Unanswered:
            # The attempt is over and its outcome is unknown, so it counts.
            self._keep(replace(self.shown, posting_since=None))
            raise
        except LamplighterError:
            self._keep(replace(self.shown, posting=None, posting_since=None, tries=0))
            raise
        self._made(key, ts, also)
        return ts

    def _made(self, key: str, ts: str, also: str) -> None:
        """Remember a post, even if another run wrote meanwhile: an update waits for no post."""
        for _ in range(LOOKS):
            said = (*self.shown.said, *filter(None, (also, key)))[-MOST_REMEMBERED:]
            after = replace(self.shown, said=said, posting=None, posting_since=None, tries=0)
            try:
                self._keep(replace(after, ts=ts) if key == FIRST else after)
            except Conflict:
                self.shown = self.memory.shown(self.shown.pool, self.shown.lease) or self.shown
            else:
                return
        raise TryLater(reason("slack.not-noted", lease=self.shown.lease))

    def _begin(self, key: str) -> bool:
        """Note that this run posts it now; False after too many attempts, TryLater while another run posts it."""
        at_it = self.shown.posting_since
        if self.shown.posting is not None and at_it is not None and self.now - at_it < POSTING_LASTS:
            raise TryLater(reason("slack.being-posted", post=self.shown.posting, lease=self.shown.lease))
        tries = self.shown.tries if self.shown.posting == key else 0
        if tries >= MOST_TRIES:
            said = (*self.shown.said, key)[-MOST_REMEMBERED:]
            self._keep(replace(self.shown, said=said, posting=None, posting_since=None, tries=0))
            return False
        self._keep(replace(self.shown, posting=key, posting_since=self.now, tries=tries + 1))
        return True

    def _keep(self, shown: Shown) -> None:
        self.shown = self.memory.show(shown, self.until)
