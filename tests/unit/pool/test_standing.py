"""How many nodes a pool's leases justify, and which open windows have no lease."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lamplighter.domain.calendar.course import CourseEvent
from lamplighter.domain.calendar.timetable import Timetable
from lamplighter.domain.pool.explanation import PoolExplanation, standings
from lamplighter.lab.model import Lab

OPENS = datetime(2026, 12, 1, 11, tzinfo=UTC)
IN_IT = OPENS + timedelta(minutes=30)
LAB = Lab.model_validate(
    {
        "name": "x",
        "pools": {"gpu": {"max_nodes": 2}, "other": {"max_nodes": 1}},
        "windows": [
            {"name": "evening", "pool": "gpu", "nodes": 2, "days": "tue", "start": "20:00", "end": "23:00"}
        ],
    }
)


@dataclass(frozen=True)
class Lectures:
    """A course calendar with these events."""

    known: tuple[CourseEvent, ...]
    zone: str = "Asia/Seoul"

    def events(self, zone: str, start: int, end: int) -> Sequence[CourseEvent]:
        assert zone == self.zone
        return [event for event in self.known if event.opening < end and event.closing > start]


def test_every_pool_is_told_of_the_one_without_windows_and_leases_too() -> None:
    found = standings(Timetable(LAB), {}, {"gpu": 2, "other": 1}, IN_IT)
    assert found["other"] == PoolExplanation(found["other"].target, ())
    assert str(found["other"].target.reason) == "no lease is in force, so no node is justified"


def test_an_event_of_a_course_calendar_is_a_window_too() -> None:
    lab = Lab.model_validate(
        {"name": "x", "windows": [{"name": "course", "calendar": "https://example.org/c.ics"}]}
    )
    event = CourseEvent(
        "ab12", "Lecture", OPENS.date(), int(OPENS.timestamp()), int(OPENS.timestamp()) + 3600, 3600
    )

    timetable = Timetable(lab, {"course": Lectures((event,))})

    assert [window.lease for window in timetable.open_at(IN_IT)["gpu"]] == ["course-2026-12-01-ab12"]
    assert timetable.open_at(OPENS - timedelta(seconds=1)) == {}
    assert Timetable(lab).open_at(IN_IT) == {}


def test_a_window_asks_for_its_nodes_in_its_hours_alone() -> None:
    found = [
        len(standings(Timetable(LAB), {}, {"gpu": 2}, at)["gpu"].unmet)
        for at in (OPENS - timedelta(seconds=1), OPENS, OPENS + timedelta(hours=3))
    ]

    assert found == [0, 1, 0]
