"""Whatever a stranger's calendar holds, it is read within the limits or refused in one line; nothing else happens."""

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from lamplighter.adapters.calendars.course import CourseCalendar
from lamplighter.adapters.calendars.text import CourseText, read
from lamplighter.domain.calendar.course import CourseEvent
from lamplighter.errors import BadInput
from tests.unit.calendar.courses.test_calendar import AUTUMN, CUSTOM, SEOUL, calendar

BEGINS, ENDS = (int(datetime(2026, month, 1, tzinfo=UTC).timestamp()) for month in (2, 5))
WHOLE = calendar(
    f"UID:a|DTSTART;TZID={SEOUL}:20260302T200000|DTEND;TZID={SEOUL}:20260302T230000"
    f"|RRULE:FREQ=WEEKLY;COUNT=4;BYDAY=MO,WE|EXDATE;TZID={SEOUL}:20260309T200000|RDATE:20260401T100000Z",
    f"UID:a|RECURRENCE-ID;RANGE=THISANDFUTURE;TZID={SEOUL}:20260316T200000"
    f"|DTSTART;TZID={SEOUL}:20260317T180000|DURATION:PT3H|STATUS:CONFIRMED|SEQUENCE:2",
    "DTSTART;TZID=Campus:20260307T200000|DURATION:PT1H|RRULE:FREQ=MONTHLY;BYDAY=-1FR;UNTIL=20270101T000000Z",
    "DTSTART;VALUE=DATE:20260302",
    head="X-WR-TIMEZONE:Asia/Seoul\n" + CUSTOM.format(rule=AUTUMN),
)
LINES = WHOLE.split(b"\r\n")
WORDS = b"""\
;
:
=
-1
0
99999999999
20260302
T250000
Z
,,
\x00
\xff
DTSTART:99991231T235959Z
RRULE:FREQ=DAILY
DURATION:-P9999999D
END:VEVENT
BEGIN:VEVENT
UTC
TZID=Europe/Berlin
FREQ=YEARLY
DTEND:00010101T000000
RECURRENCE-ID:20260316
RDATE;VALUE=TIME:100000
RDATE;VALUE=PERIOD:20260304T110000Z/-PT1H
EXDATE;VALUE=DATE:20260303
DTSTART;TZID=Asia/Seoul;VALUE=DATE:20260302
SEQUENCE:x
UID:a
X-WR-TIMEZONE:Nowhere
BEGIN:VTIMEZONE
END:VTIMEZONE
TZID:Campus
""".split(b"\n")


@st.composite
def spoilt(draw: st.DrawFn) -> bytes:
    """The whole calendar with lines dropped, doubled, swapped, and words put into them."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.integers(0, 4)):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, draw(st.sampled_from(LINES)))
            case 2:
                lines[at] = draw(st.sampled_from(LINES))
            case 3:
                lines.insert(at, draw(st.sampled_from(WORDS)))
            case _:
                where = draw(st.integers(0, len(lines[at])))
                until = min(len(lines[at]), where + draw(st.integers(0, 4)))
                lines[at] = lines[at][:where] + draw(st.sampled_from(WORDS)) + lines[at][until:]
    return b"\r\n".join(lines)


@given(spoilt())
def test_a_spoilt_calendar_is_read_or_refused_in_one_line(content: bytes) -> None:
    try:
        found = read(content)
        events = CourseCalendar(found.text).events(SEOUL, BEGINS, ENDS)
    except BadInput as error:
        said = str(error)
    else:
        said = ""
        _sound(found, events)
    assert len(said.splitlines()) <= 1
    assert "cannot be worked out" not in said


def _sound(found: CourseText, events: Sequence[CourseEvent]) -> None:
    assert all("\n" not in str(fault) for fault in found.faults)
    assert len({(event.date, event.id) for event in events}) == len(events)
    assert all(event.closing >= BEGINS and event.opening < ENDS for event in events)
