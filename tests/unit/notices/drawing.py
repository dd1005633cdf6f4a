"""An announcement as people read it: drawn in a language, by the clock of a zone, on the day of the tests."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.notices.announcement import Announcement, DrawnAnnouncement
from lamplighter.domain.notices.phrases import clock_of_day
from lamplighter.reasons.reason import Said, draw

EIGHT = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
GREENWICH = ZoneInfo("Etc/UTC")


def drawn(
    announcement: Announcement, zone: ZoneInfo = GREENWICH, texts: Texts = ENGLISH, now: datetime = EIGHT
) -> DrawnAnnouncement:
    """The announcement in a language, with a date only at instants of another day."""
    return announcement.drawn(texts, clock_of_day(texts, zone, now))


def text_of(said: Said, zone: ZoneInfo = GREENWICH, texts: Texts = ENGLISH, now: datetime = EIGHT) -> str:
    """A reason in a language, drawn by the same clock."""
    return draw(said, texts, clock_of_day(texts, zone, now))
