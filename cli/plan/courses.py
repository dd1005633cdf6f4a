"""The course calendars of a lab file: its calendar files, and addresses, which this machine reads now.

For the verbs that look ahead without AWS; the planner of a deployed lab reads addresses itself.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.lab.model import Lab

if TYPE_CHECKING:
    from lamplighter.domain.calendar.course import Course


def of(lab: Lab) -> "Mapping[str, Course]":
    """The calendars that windows follow, by window; OutsideFailed if an address cannot be read."""
    if all(window.timed for window in lab.windows):
        return {}
    from lamplighter.adapters.calendars.course import courses  # noqa: PLC0415 -- few labs follow a calendar

    read: dict[str, str] = {}
    at: dict[tuple[str, str | None], str] = {}
    for window in lab.windows:
        if window.online and window.calendar is not None:
            source = window.calendar, window.calendar_secret
            if source not in at:
                at[source] = _text(window.name, *source)
            read[window.name] = at[source]
    return courses(lab, read)


def _text(window: str, address: str, secret: str | None) -> str:
    from lamplighter.adapters.calendars import text, web  # noqa: PLC0415
    from lamplighter.application.planner.courses import fetch_calendar  # noqa: PLC0415

    try:
        return text.read(fetch_calendar(address, secret)).text
    except OutsideFailed as error:
        raise OutsideFailed(
            f"the calendar of window {window}: {error}; a deployed lab tries hourly"
        ) from error
    except BadInput as error:
        raise OutsideFailed(
            f"the calendar of window {window}: {web.host_of(address)} gives no usable calendar: {error}"
        ) from error
