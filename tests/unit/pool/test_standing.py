"""How many nodes a pool's leases justify, and which open windows have no lease."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.calendar.changes import Skip
from lamplighter.domain.calendar.course import CourseEvent
from lamplighter.domain.calendar.timetable import Timetable
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
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
LEASE = Lease(
    id="evening-2026-12-01",
    pool="gpu",
    nodes=2,
    owner="evening-class",
    source="window",
    state=LeaseState.OPEN,
    opens=OPENS,
    closes=OPENS + timedelta(hours=3),
    hold=Money.of(7, "USD"),
    window="evening",
    date="2026-12-01",
)


@dataclass(frozen=True)
class Lectures:
    """A course calendar with these events."""

    known: tuple[CourseEvent, ...]
    zone: str = "Asia/Seoul"

    def events(self, zone: str, start: int, end: int) -> Sequence[CourseEvent]:
        assert zone == self.zone
        return [event for event in self.known if event.opening < end and event.closing > start]


def stands(*leases: Lease, at: datetime = IN_IT) -> PoolExplanation:
    most = {name: pool.max_nodes for name, pool in LAB.pools.items()}
    return standings(Timetable(LAB), {"gpu": leases}, most, at)["gpu"]


def test_a_window_with_its_lease_is_a_target_and_nothing_else() -> None:
    found = stands(LEASE)

    assert found.target.nodes == 2
    assert found.target.leases == ("evening-2026-12-01",)
    assert found.unmet == ()


def test_every_pool_is_told_of_the_one_without_windows_and_leases_too() -> None:
    found = standings(Timetable(LAB), {}, {"gpu": 2, "other": 1}, IN_IT)
    assert found["other"] == PoolExplanation(found["other"].target, ())
    assert str(found["other"].target.reason) == "no lease is in force, so no node is justified"


@pytest.mark.parametrize(
    ("lease", "why"),
    [
        (None, "it has no lease yet: the planner has not planned it"),
        (
            replace(LEASE, state=LeaseState.REFUSED, because="only 1 USD are left"),
            "its lease was refused: only 1 USD are left",
        ),
        (replace(LEASE, state=LeaseState.PLANNED), "its lease is planned and not decided yet"),
        (replace(LEASE, opens=OPENS + timedelta(minutes=45)), "its lease opens at 11:45 UTC on 2026-12-01"),
        (
            replace(LEASE, state=LeaseState.CLOSED, because="the exam is over"),
            "its lease was closed before its end: the exam is over",
        ),
        (replace(LEASE, state=LeaseState.CLOSING), "its lease was closed before its end"),
        (replace(LEASE, closes=IN_IT), "its lease was closed before its end"),
    ],
)
def test_a_window_without_a_lease_says_why(lease: Lease | None, why: str) -> None:
    found = stands(*([lease] if lease else []))

    assert found.target.nodes == 0
    assert [str(unmet.reason) for unmet in found.unmet] == [
        f"window evening asks for 2 nodes until 14:00 UTC on 2026-12-01; {why}"
    ]


def test_a_window_that_somebody_skipped_names_them() -> None:
    skip = Skip("evening", "2026-12-01", "alice", OPENS - timedelta(days=1), "of a holiday")
    (unmet,) = standings(Timetable(LAB), {}, {"gpu": 2}, IN_IT, [skip])["gpu"].unmet
    assert str(unmet.reason).endswith("; alice skipped it because of a holiday")


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


def test_outside_its_hours_a_window_asks_for_nothing() -> None:
    assert stands(at=OPENS - timedelta(seconds=1)).unmet == ()
    assert stands(at=OPENS + timedelta(hours=3)).unmet == ()
