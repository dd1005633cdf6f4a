"""One message as SNS carries it: the drawn text, and by what subscriptions choose it (kind and pool).

An announcement is drawn here and nowhere before. Sending is the notices adapter's.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Self

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.notices.announcement import Announcement
from lamplighter.reasons.reason import Clock
from lamplighter.values.clock_time import clock_time


@dataclass(frozen=True, slots=True)
class Notification:
    """A notice that is being sent."""

    kind: str
    """One of notice_kinds.py."""
    pool: str
    """The pool that it is about; `*` for the whole lab."""
    subject: str
    """One line. SNS loses what is not ASCII."""
    text: str

    def to_json(self) -> dict[str, object]:
        """For an event that sends it again."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Self:
        """Reads what to_json wrote."""
        return cls(**{field.name: str(document.get(field.name) or "") for field in fields(cls)})


def of(
    lab: str, pool: str, announcement: Announcement, texts: Texts = ENGLISH, clock: Clock = clock_time
) -> Notification:
    """An announcement of a lab about a pool, in a language, with instants by a clock."""
    drawn = announcement.drawn(texts, clock)
    return Notification(drawn.kind, pool, f"{lab}: {drawn.plain}", drawn.message)
