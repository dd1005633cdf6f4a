"""Windows: planned periods in which a pool is open, as lab.yaml writes them.

Which instants a window means is for domain.calendar; whether it can be admitted, for domain.admission.
"""

from datetime import date, timedelta
from typing import Annotated, Literal

from pydantic import Field

from lamplighter.lab_names import WINDOW_NAME
from lamplighter.lab_types import MINUTES_A_DAY, Day, End, OneOrMore, Part, Start, unit

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_WORDS = {
    **{word: (number,) for number, word in enumerate(WEEKDAYS)},
    "daily": tuple(range(7)),
    "weekdays": tuple(range(5)),
    "weekends": (5, 6),
}
DayWord = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun", "daily", "weekdays", "weekends"]


class Window(Part):
    """A planned period in which a pool is open with so many nodes, in its own time zone."""

    name: str = Field(
        pattern=WINDOW_NAME, description="What people call it; unique in the lab.", examples=["evening"]
    )
    pool: str | None = Field(
        None, description="The pool it opens; may be left out where there is one.", examples=["gpu"]
    )
    nodes: int | None = Field(
        None,
        ge=1,
        description="Nodes it opens with; left out: the pool's max_nodes.",
        examples=[2],
        json_schema_extra=unit("nodes"),
    )
    days: Annotated[list[DayWord], Field(min_length=1), OneOrMore()] | None = Field(
        None,
        description="The days of the week on which it starts: mon to sun, daily, weekdays, weekends.",
        examples=[["tue", "thu"]],
    )
    dates: Annotated[list[Day], Field(min_length=1), OneOrMore()] | None = Field(
        None,
        description="The dates on which it starts, in place of days.",
        examples=[["2026-12-01"]],
        json_schema_extra=unit("YYYY-MM-DD"),
    )
    start: Start = Field(
        description="When it opens, by the clock on the wall of its zone.",
        examples=["20:00"],
        json_schema_extra=unit("HH:MM, 00:00 to 23:59"),
    )
    end: End = Field(
        description="When it closes; before start it is the next day's, equal to start it is refused.",
        examples=["23:00"],
        json_schema_extra=unit("HH:MM, 00:00 to 24:00"),
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
    except_: Annotated[list[Day], OneOrMore()] = Field(
        default_factory=list,
        alias="except",
        description="Start dates on which it does not open.",
        examples=[["2026-05-05"]],
        json_schema_extra=unit("YYYY-MM-DD"),
    )
    owner: str | None = Field(
        None,
        min_length=1,
        max_length=80,
        description="Who answers for it; left out: the lab's owner.",
        examples=["evening-class"],
    )

    @property
    def weekdays(self) -> frozenset[int]:
        """The days of the week on which it starts, Monday 0 to Sunday 6; empty for a dated window."""
        return frozenset(number for word in self.days or () for number in DAY_WORDS[word])

    @property
    def start_dates(self) -> list[date]:
        """The dates of a dated window, each once, in order; empty for a recurring one."""
        return sorted(set(self.dates or ()))

    @property
    def length(self) -> timedelta:
        """Its length by the clock on the wall, whatever a clock change makes of it."""
        return timedelta(minutes=self.end - self.start + (MINUTES_A_DAY if self.end < self.start else 0))
