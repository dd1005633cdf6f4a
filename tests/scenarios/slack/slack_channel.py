"""What a channel of the played Slack shows, and a wait for a message."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tests.scenarios.lab_day import LabDay
from tests.scenarios.slack.slack_talk import CHANNEL

SOON = timedelta(minutes=5)


@dataclass(frozen=True)
class Channel:
    """One channel at present; `name` is a person's id if only they read it."""

    day: LabDay
    name: str = CHANNEL

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        return self.day.cloud.slack.messages(self.name)

    def showing(self, words: str, thread: str | None = None) -> list[Mapping[str, Any]]:
        """The messages that hold these words, in the channel itself or in a thread."""
        there = [each for each in self.messages if each.get("thread_ts") == thread]
        return [each for each in there if words in shown(each)]

    def until(
        self,
        words: str,
        within: timedelta = SOON,
        *,
        thread: str | None = None,
        every: timedelta = timedelta(seconds=5),
    ) -> Mapping[str, Any]:
        """Waits until one message has these words: the board needs a second or two."""
        self.day.until(
            f"Slack shows {words!r}",
            lambda _: bool(self.showing(words, thread)),
            within,
            every,
        )
        [found] = self.showing(words, thread)
        return found


def shown(message: Mapping[str, Any]) -> str:
    """All text of a message."""
    return json.dumps([message["text"], message.get("blocks")], ensure_ascii=False)
