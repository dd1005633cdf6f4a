"""The copies of course calendars at an address, in the ledger: one item a window, packed.

What is kept and when it is read again is domain.course_copy's.
"""

import base64
import zlib

from lamplighter.adapters.aws.ledger import items
from lamplighter.adapters.aws.ledger.reads import LedgerReads
from lamplighter.domain.calendar.course_copy import CourseCopy
from lamplighter.reasons.document import read as read_reason
from lamplighter.values import instant

COURSE = "COURSE#"


class LedgerCourses(LedgerReads):
    """The course calendars' part of the ledger of one lab."""

    def course_copies(self) -> "dict[str, CourseCopy]":
        """The last good copy of every calendar at an address, by window."""
        found = self._table.query(items.LAB, COURSE, COURSE + "\U0010ffff")
        return {str(said["window"]): _copy(said) for said in map(items.values, found)}

    def keep_course_copy(self, window: str, copy: "CourseCopy") -> None:
        """Keep what was read of a window's calendar, or that it could not be read."""
        packed = (
            None if copy.text is None else base64.b64encode(zlib.compress(copy.text.encode(), 9)).decode()
        )
        said: dict[str, items.Value] = {
            "window": window,
            "address": copy.address,
            "tried": instant.written(copy.tried),
            "text": packed,
            "read": None if copy.read is None else instant.written(copy.read),
            "problem": None if copy.problem is None else items.written(copy.problem),
        }
        self._table.put(items.item(items.LAB, COURSE + window, said))

    def forget_course_copy(self, window: str) -> None:
        """Drop the copy of a window that follows no calendar any more."""
        self._table.delete(items.LAB, COURSE + window)


def _copy(said: dict[str, items.Value]) -> "CourseCopy":

    text, read, problem = said.get("text"), said.get("read"), said.get("problem")
    return CourseCopy(
        address=str(said["address"]),
        tried=instant.read(str(said["tried"])),
        text=None if text is None else zlib.decompress(base64.b64decode(str(text))).decode(),
        read=None if read is None else instant.read(str(read)),
        problem=None if problem is None else read_reason(problem),
    )
