"""Copies of course calendars that have an address: one item for each window, with the text compressed.

domain.calendar.course_copy decides what is kept and when it is read again.
"""

import base64
import zlib

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.domain.calendar.course_copy import CourseCopy
from lamplighter.reasons.fields import from_document, to_document

COURSE = "COURSE#"


class LedgerCourses(LedgerReads):
    """The course calendars' part of the ledger of one lab."""

    def course_copies(self) -> "dict[str, CourseCopy]":
        """By window, the last good copy of each calendar that has an address."""
        copies = self._table.query(items.LAB, COURSE, COURSE + "\U0010ffff")
        return {str(attributes["window"]): _copy(attributes) for attributes in map(items.values, copies)}

    def keep_course_copy(self, window: str, copy: "CourseCopy") -> None:
        """Keeps the text of a window's calendar, or the problem if it could not be read."""
        packed = (
            None if copy.text is None else base64.b64encode(zlib.compress(copy.text.encode(), 9)).decode()
        )
        attributes = to_document(copy) | {"window": window, "text": packed}
        self._table.put(items.item(items.LAB, COURSE + window, attributes))

    def forget_course_copy(self, window: str) -> None:
        """Deletes the copy of a window that no longer follows a calendar."""
        self._table.delete(items.LAB, COURSE + window)


def _copy(attributes: dict[str, items.Value]) -> "CourseCopy":
    text = attributes.get("text")
    unpacked = None if text is None else zlib.decompress(base64.b64decode(str(text))).decode()
    return from_document(CourseCopy, {**attributes, "text": unpacked})
