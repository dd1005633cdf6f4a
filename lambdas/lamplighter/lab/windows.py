"""Windows: planned periods in which a pool is open, as lab.yaml writes them.

domain/calendar turns windows into instants and decides which get nodes and money.
"""

from calendar import monthrange
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field

from lamplighter.lab.checks import WindowChecks
from lamplighter.lab.classes import WindowClass
from lamplighter.lab.exceptions import ExceptionDates
from lamplighter.lab.gpu_settings import GpuSettings
from lamplighter.lab.guard import IdleAfter
from lamplighter.lab.names import COURSE_CALENDAR, SECRET_ARN, WINDOW_NAME
from lamplighter.lab.types import MINUTES_A_DAY, Day, End, OneOrMore, Part, Start, unit

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_WORDS = {
    **{word: (number,) for number, word in enumerate(WEEKDAYS)},
    "daily": tuple(range(7)),
    "weekdays": tuple(range(5)),
    "weekends": (5, 6),
}
PLACES = ("first", "second", "third", "fourth", "last")
"""Which of the same weekdays of a month; the fifth is the last or is none."""
OF_MONTH = {
    f"{place} {day}": (order, number)
    for order, place in enumerate(PLACES)
    for number, day in enumerate(WEEKDAYS)
}
if TYPE_CHECKING:
    DayWord = str
else:
    DayWord = Literal[(*DAY_WORDS, *OF_MONTH)]


Ready = Literal["by", "from"]
TIMES = ("start", "end")


def is_of_month(day: date, wanted: frozenset[tuple[int, int]]) -> bool:
    """Whether a date is, say, the second Tuesday of its month; `wanted` has places among PLACES and weekdays."""
    weekday, order = day.weekday(), (day.day - 1) // len(WEEKDAYS)
    is_last = day.day + len(WEEKDAYS) > monthrange(day.year, day.month)[1]
    return (order, weekday) in wanted or (is_last and (len(PLACES) - 1, weekday) in wanted)


class Window(Part):
    """A planned period in which a pool is open with so many nodes, in its own time zone."""

    # The part of labfile/rules that a JSON Schema can express, for editors.
    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["calendar"]}, {"required": list(TIMES)}]}
    )

    name: str = Field(
        pattern=WINDOW_NAME, description="The name of the window; unique in the lab.", examples=["evening"]
    )
    pool: str | None = Field(
        None, description="The pool it opens; may be left out if the lab has one pool.", examples=["gpu"]
    )
    nodes: int | None = Field(
        None,
        ge=1,
        description="The number of nodes; left out: the pool's max_nodes.",
        examples=[2],
        json_schema_extra=unit("nodes"),
    )
    seats: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="In place of nodes, how many people work at once. The nodes follow from the GPUs of a node and the"
        " seats of a GPU.",
        examples=[24],
        json_schema_extra=unit("seats"),
    )
    days: Annotated[list[DayWord], Field(min_length=1), OneOrMore()] | None = Field(
        None,
        description="The days of the week on which it starts: mon to sun, daily, weekdays, weekends, or those of a"
        " month such as second tue or last fri (first, second, third, fourth, last).",
        examples=[["tue", "thu"]],
    )
    dates: Annotated[list[Day], Field(min_length=1), OneOrMore()] | None = Field(
        None,
        description="The dates on which it starts; replaces days.",
        examples=[["2026-12-01"]],
        json_schema_extra=unit("YYYY-MM-DD"),
    )
    calendar: str | None = Field(
        None,
        pattern=COURSE_CALENDAR,
        description="A course calendar (iCalendar): each event is a window. It replaces days, dates, start and end."
        " A file beside the lab, or an https address that is read every hour.",
        examples=["course.ics"],
    )
    calendar_secret: str | None = Field(
        None,
        pattern=SECRET_ARN,
        description="The secret with which the address of its calendar is read: user:password or a token.",
        examples=["arn:aws:secretsmanager:ap-northeast-2:123456789012:secret:course-calendar-AbCdEf"],
        json_schema_extra=unit("ARN in Secrets Manager"),
    )
    start: Start | None = Field(
        None,
        description="When it opens, by the wall clock of its zone.",
        examples=["20:00"],
        json_schema_extra=unit("HH:MM, 00:00 to 23:59"),
    )
    end: End | None = Field(
        None,
        description="When it closes; a time before start is on the next day, a time equal to start is refused.",
        examples=["23:00"],
        json_schema_extra=unit("HH:MM, 00:00 to 24:00"),
    )
    ready: Ready = Field(
        "from",
        description="from: it opens at its start, and GPUs are ready some minutes later. by: it opens earlier, by the"
        " pool's measured warm-up, so that GPUs are ready at its start.",
        examples=["by"],
    )
    time_zone: str | None = Field(
        None,
        description="The zone of start, end and all its dates; left out: the lab's.",
        examples=["Asia/Seoul"],
        json_schema_extra=unit("IANA name"),
    )
    from_: Day | None = Field(
        None,
        alias="from",
        description="The first date on which it may start, inclusive.",
        examples=["2026-03-02"],
        json_schema_extra=unit("YYYY-MM-DD"),
    )
    until: Day | None = Field(
        None,
        description="The last date on which it may start, inclusive.",
        examples=["2026-06-19"],
        json_schema_extra=unit("YYYY-MM-DD"),
    )
    except_: Annotated[list[ExceptionDates], OneOrMore()] = Field(
        default_factory=list,
        alias="except",
        description="Start dates on which it does not open: a date, a range {from, to}, or a calendar file (.ics)"
        " beside the lab, whose whole days count.",
        examples=[["2026-05-05", "holidays.ics"]],
        json_schema_extra=unit("YYYY-MM-DD"),
    )
    owner: str | None = Field(
        None,
        min_length=1,
        max_length=80,
        description="Who is responsible for it; left out: the lab's owner.",
        examples=["evening-class"],
    )

    idle_after: IdleAfter | None = Field(
        None,
        description="The guard closes it when no pod has held a GPU of its pool for so long; it says so 15 minutes"
        " before. Left out: never.",
        examples=["45m"],
        json_schema_extra=unit("duration such as 45m or 2h, or off"),
    )
    gpu: GpuSettings | None = Field(
        None,
        description="How its GPUs are offered; replaces the lab's gpu. Left out: as in the lab.",
    )
    checks: WindowChecks | None = Field(None, description="The checks of its GPUs; left out: as in the lab.")
    class_: WindowClass | None = Field(
        None,
        alias="class",
        description="The class that it is for: a namespace with the quota of its seats. Left out: none.",
    )

    @property
    def weekdays(self) -> frozenset[int]:
        """The days of every week on which it starts, Monday 0 to Sunday 6; none for a dated window."""
        return frozenset(number for word in self.days or () for number in DAY_WORDS.get(word, ()))

    @property
    def of_month(self) -> frozenset[tuple[int, int]]:
        """The days of each month on which it starts: the place among PLACES, and the weekday."""
        return frozenset(OF_MONTH[word] for word in self.days or () if word in OF_MONTH)

    def starts_on(self, day: date) -> bool:
        """Whether its `days` or `dates` name a date; not for a window that follows a calendar."""
        return day.weekday() in self.weekdays or day in (self.dates or ()) or is_of_month(day, self.of_month)

    @property
    def start_dates(self) -> list[date]:
        """The dates of a dated window, each once, in order; empty for a recurring one."""
        return sorted(set(self.dates or ()))

    @property
    def timed(self) -> bool:
        """Whether it names its times itself and follows no calendar."""
        return self.start is not None and self.end is not None

    @property
    def begins(self) -> int:
        """Its start as the minute of the day; ValueError for one that is not `timed`."""
        return _stated(self.start)

    @property
    def length(self) -> timedelta:
        """Its length by the wall clock, without changes of the clocks.

        ValueError for one that is not `timed`.
        """
        start, end = _stated(self.start), _stated(self.end)
        return timedelta(minutes=end - start + (MINUTES_A_DAY if end < start else 0))

    @property
    def online(self) -> bool:
        """Whether its calendar is at an address, not in a file."""
        return self.calendar is not None and self.calendar.startswith("https://")


def _stated(minute: int | None) -> int:
    if minute is None:
        raise ValueError("a window that follows a calendar has no times of its own")
    return minute
