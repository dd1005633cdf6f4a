"""After the last window and lease of a class, one notice asks whether its namespace may go."""

from datetime import timedelta
from typing import Any

import pytest

from lamplighter.application.planner.plan import plan_all
from lamplighter.domain.classes.unused import unused
from tests.builders.leases import DAY, EIGHT, lease
from tests.unit.classes.labs import lab, window
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.planner.test_announcements import sent
from tests.unit.planner.test_planner import deployed

OVER: dict[str, Any] = {"from": "2026-11-01", "until": "2026-11-20"}
KEEP = timedelta(days=7)


class Calendar:
    def __init__(self, *events: int) -> None:
        self.given = events

    def events(self, _zone: str, start: int, end: int) -> Any:
        return [each for each in self.given if start <= each < end]


def over(
    *windows: dict[str, Any], at: Any = EIGHT + 10 * DAY, courses: Any = None, leases: Any = None
) -> list[str]:
    known = [lease("evening-1")] if leases is None else leases
    return [one.namespace for one in unused(lab(*windows), known, courses or {}, at)]


def test_it_is_asked_keep_after_the_last_lease_and_not_before() -> None:
    evening, ends = window("evening", **OVER), lease("evening-1").closes
    assert over(evening, at=ends + KEEP) == ["gpu-101"]
    assert over(evening, at=ends + KEEP - timedelta(seconds=1)) == []
    assert over(evening, leases=[]) == []
    assert over(window("evening", **OVER, terms={"keep": "30d"})) == []
    assert over(evening, leases=[lease("evening-1"), lease("evening-1", closes=9 * 24 * 60)]) == []


def test_a_class_that_goes_on_is_kept() -> None:
    assert over(window("evening")) == []
    assert over(window("evening", until="2026-12-01")) == []
    assert over(window("evening", until="2026-11-30")) == ["gpu-101"]
    dated = {key: value for key, value in window("evening").items() if key != "days"}
    assert over({**dated, "dates": ["2026-11-20", "2027-01-01"]}) == []
    assert over({**dated, "dates": ["2026-11-20"]}) == ["gpu-101"]
    assert over(window("evening", **OVER), window("night")) == []
    assert over(window("evening", **OVER), window("night", namespace="gpu-202")) == ["gpu-101"]


def test_a_calendar_says_itself_whether_the_class_goes_on() -> None:
    followed = {key: value for key, value in window("evening").items() if key not in {"days", "start", "end"}}
    followed["calendar"] = "https://school.example/course.ics"
    later = int((EIGHT + 20 * DAY).timestamp())
    assert over(followed, courses={"evening": Calendar(later)}) == []
    assert over(followed, courses={"evening": Calendar()}) == ["gpu-101"]
    assert over(followed) == []


@pytest.mark.parametrize("runs", [1, 3])
def test_the_planner_asks_once_and_deletes_nothing(lab: LabOnMoto, runs: int) -> None:
    planner = deployed(lab, window("evening", **OVER))
    lab.lease(name="evening-2026-11-20", window="evening")
    lab.at(60)
    plan_all(planner)
    before = sent()
    for hours in range(runs):
        lab.at(10 * 24 * 60 + hours * 60)
        plan_all(planner)
    [asked] = sorted(set(sent()) - set(before))
    assert sent().count(asked) == 1
    assert asked.startswith("lab: nobody has needed namespace gpu-101 since")
