"""Which events of a course calendar become windows, within the window's own bounds, and what changed in one."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.calendar.course import Change, CourseEvent, change
from lamplighter.domain.calendar.occurrences import Code, Expansion, SkippedWindow, expand
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import Said, reason

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
NINE = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


def event(name: str = "ab12", day: int = 20, hours: float = 2, **more: Any) -> CourseEvent:
    """From nine on, so many hours."""
    opens = NINE + (day - 20) * DAY
    opening, closing = int(opens.timestamp()), int((opens + hours * HOUR).timestamp())
    wall = more.pop("wall", closing - opening)
    return CourseEvent(name, '"Physics"', opens.date(), opening, closing, wall, **more)


class Physics:
    """A calendar that gives all it has, whatever is asked for."""

    def __init__(self, *events: CourseEvent) -> None:
        self.all = events

    def events(self, zone: str, start: int, end: int) -> Sequence[CourseEvent]:
        assert zone == "Etc/UTC"
        assert start < end
        return self.all


def found(
    *events: CourseEvent, start: datetime = NINE - DAY, end: datetime = NINE + 9 * DAY, **more: Any
) -> Expansion:
    lab = Lab.model_validate(
        {
            "name": "lab",
            "time_zone": "Etc/UTC",
            "pools": {"gpu": {"instance_type": "g4dn.xlarge", "max_nodes": 2, "price_per_hour": "1"}},
            "guard": {"longest_lease": "3h"},
            "windows": [{"name": "course", "calendar": "course.ics", **more}],
        }
    )
    return expand(lab, start, end, {"course": Physics(*events)})


def skipped(one: CourseEvent, code: Code, why: Said) -> SkippedWindow:
    return SkippedWindow("course", "gpu", one.date, code, why, 0, one.id)


def days(expansion: Expansion) -> list[int]:
    return [each.date.day for each in expansion.windows]


def test_an_event_becomes_a_window_with_its_notes_and_its_name() -> None:
    one = event(notes=("clocks change",))

    assert found(one) == Expansion(
        [
            PlannedWindow(
                "course", "gpu", one.date, 2, one.opening, one.closing, one.notes, "lab", 0, None, "ab12"
            )
        ],
        [],
    )
    assert found(one).windows[0].lease == "course-2026-11-20-ab12"


def test_only_events_that_meet_the_range_become_windows() -> None:
    assert days(found(event(), start=NINE + 2 * HOUR)) == []
    assert days(found(event(), start=NINE + HOUR)) == [20]
    assert days(found(event(), end=NINE)) == []
    assert days(found(event(), event("cd34", 21), end=NINE + HOUR)) == [20]


@pytest.mark.parametrize(("bounds", "kept"), [
    ({}, [20, 21, 22]),
    ({"from": "2026-11-21"}, [21, 22]),
    ({"until": "2026-11-21"}, [20, 21]),
    ({"from": "2026-11-21", "until": "2026-11-21"}, [21]),
])  # fmt: skip
def test_events_outside_the_window_s_own_dates_are_left_out_without_a_word(
    bounds: dict[str, Any], kept: list[int]
) -> None:
    made = found(event(), event("cd34", 21), event("ef56", 22), **bounds)
    assert days(made) == kept
    assert made.skipped == []


def test_an_event_on_an_exception_is_skipped_and_the_others_are_not() -> None:
    first, second = event(), event("cd34", 21)
    holiday: dict[str, Any] = {"except": ["2026-11-20"]}
    made = found(first, second, **holiday)

    excepted = reason("calendar.excepted.window", date=first.date, window="course")
    assert made.skipped == [skipped(first, Code.EXCEPTED, excepted)]
    assert days(made) == [21]


def test_an_event_of_which_nothing_is_left_says_why() -> None:
    bare, noted = event(hours=0), event("cd34", hours=-1, notes=("clocks go forward", "and back"))

    assert found(bare, noted).skipped == [
        skipped(bare, Code.VANISHES, reason("calendar.event.empty", event='"Physics"')),
        skipped(noted, Code.VANISHES, "clocks go forward"),
    ]


def test_an_event_is_as_long_by_the_wall_as_the_longest_lease_and_no_longer() -> None:
    longest, longer = event(hours=3), event("cd34", hours=3, wall=3 * 3600 + 1)

    made = found(longest, longer)

    assert [each.event for each in made.windows] == ["ab12"]
    assert made.skipped == [
        skipped(
            longer,
            Code.TOO_LONG,
            reason("calendar.event.too-long", event='"Physics"', longest=timedelta(hours=3)),
        )
    ]


# --- what changed --------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "after", "changed"), [
    ([event()], [event()], Change((), (), ())),
    ([], [event()], Change((event(),), (), ())),
    ([event()], [], Change((), (), (event(),))),
    ([event()], [event(hours=3)], Change((), ((event(), event(hours=3)),), ())),
    # Another date of the same series is another event.
    ([event()], [event(day=21)], Change((event(day=21),), (), (event(),))),
])  # fmt: skip
def test_what_is_new_moved_or_gone_is_told_apart(
    before: list[CourseEvent], after: list[CourseEvent], changed: Change
) -> None:
    assert change(before, after) == changed
    assert changed.nothing is (before == after)


def test_an_event_that_begins_later_and_ends_as_before_has_moved() -> None:
    late = event()._replace(opening=event().opening + 60)
    assert change([event()], [late]).moved == ((event(), late),)
    assert change([event()], [event()._replace(date=date(2026, 11, 20), wall=1)]).nothing
