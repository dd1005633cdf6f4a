"""How the board speaks: one message of a thing, updated where it shows something else; each post beside it once.

A post is noted before it is made and after. Slack has no key that makes a post happen once, so a crash between
the two leaves nobody knowing; it is then made once more, and not a third time: a leak told twice is better than
one told never. An update may be repeated freely.
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
"""A function lives no longer: what was begun before that is over, one way or the other."""
MOST_TRIES = 2
MOST_REMEMBERED = 300
LOOKS = 5
FIRST = "message"
"""The key of a lease's message itself, among its posts."""


class MessageApi(Protocol):
    """Slack's Web API, as far as the board needs it."""

    def post(self, channel: str, message: Message, thread: str | None = None) -> str: ...

    def update(self, channel: str, ts: str, message: Message) -> None: ...

    def whisper(self, channel: str, user: str, message: Message) -> None: ...


class MessageMemory(Protocol):
    """What is remembered of a message; Conflict where somebody else wrote in between."""

    def shown(self, pool: str, lease: str) -> Shown | None: ...

    def show(self, shown: Shown, until: datetime | None = None) -> Shown: ...


@dataclass(slots=True)
class MessagePoster:
    """One thing's message and posts: a lease's, a pool's, an ask's."""

    api: MessageApi
    memory: MessageMemory
    shown: Shown
    now: datetime
    until: datetime
    """When nothing of it has to be remembered any more."""

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
        """What was shown of it so far; of what is new nothing yet, and little of what was before it."""
        fresh = Shown(pool, thing, channel, ts="", digest="", told=now - TELLS_BACK)
        return cls(api, memory, memory.shown(pool, thing) or fresh, now, until)

    def display(self, message: Message, *, anyway: bool = False, thread: str | None = None) -> None:
        """Show the message: a first time, in a thread or not, or in place where it differs from what is there.

        `anyway` after a conflict: whoever was faster may have shown what is older.
        """
        if self.shown.ts and self.shown.digest == message.digest and not anyway:
            return
        if self.shown.ts:
            try:
                self.api.update(self.shown.channel, self.shown.ts, message)
            except MessageGone:
                # Somebody deleted it; it is posted anew.
                said = tuple(key for key in self.shown.said if key != FIRST)
                self._keep(replace(self.shown, ts="", digest="", said=said))
            else:
                self._keep(replace(self.shown, digest=message.digest))
                return
        if FIRST in self.shown.said:
            return  # nobody knows where it is, or whether
        ts = self._post(FIRST, message, thread)
        if ts:
            self._keep(replace(self.shown, ts=ts, digest=message.digest))

    def says(self, post: Post) -> bool:
        """Make a post that was not made yet: in the channel where it is for everybody, else in the thread."""
        loud = post.aloud if post.aloud_key not in self.shown.said else None
        if post.key in self.shown.said or not (loud or self.shown.ts):
            return False
        if post.at is not None and self.shown.told is not None and post.at < self.shown.told:
            return False
        if loud is not None:
            return self._post(post.key, loud, None, post.aloud_key) is not None
        return self._post(post.key, post.message, self.shown.ts) is not None

    def tells(self, key: str, tell: Callable[[], None]) -> None:
        """Tell somebody elsewhere, once."""

        def told() -> str:
            tell()
            return ""

        if key not in self.shown.said:
            self._once(key, told)

    def _post(self, key: str, message: Message, thread: str | None, also: str = "") -> str | None:
        return self._once(key, lambda: self.api.post(self.shown.channel, message, thread or None), also)

    def _once(self, key: str, do: Callable[[], str], also: str = "") -> str | None:
        """Do it and remember that it was done; None where that was given up."""
        if not self._begin(key):
            return None
        try:
            ts = do()
        except Unanswered:
            # Nobody is at it any more, but whether it is there nobody knows: that try counts.
            self._keep(replace(self.shown, posting_since=None))
            raise
        except LamplighterError:
            self._keep(replace(self.shown, posting=None, posting_since=None, tries=0))
            raise
        self._made(key, ts, also)
        return ts

    def _made(self, key: str, ts: str, also: str) -> None:
        """Remember a post, whatever somebody else wrote meanwhile: an update in place waits for no post."""
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
        """Note that this run posts it now; False where that was tried enough, TryLater while another is at it."""
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
