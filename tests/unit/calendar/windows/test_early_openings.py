"""How early a window opens beside others: who counts as there, at which edge it may open, and what is said."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.calendar.early_opening import NodeInterval, all_fitted, fitted, note, planned, stay_of
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import draw, reason
from tests.builders.leases import EIGHT, MINUTE, lease

LAB = Lab.model_validate(
    {
        "name": "lab",
        "time_zone": "Etc/UTC",
        "pools": {"gpu": {"instance_type": "g4dn.xlarge", "max_nodes": 4, "price_per_hour": "1"}},
        "windows": [
            {"name": name, "days": "fri", "start": "20:00", "end": "22:00", "ready": "by"}
            for name in ("evening", "course")
        ],
    }
)


def seconds(minutes: float) -> int:
    return int((EIGHT + minutes * MINUTE).timestamp())


def window(name: str = "evening", nodes: int = 2, early: int = 10, begins: int = 0) -> PlannedWindow:
    """Ready by eight, so many minutes early; nothing is in the way yet."""
    order = 0 if name == "evening" else 1
    plain = PlannedWindow(name, "gpu", EIGHT.date(), nodes, seconds(begins), seconds(120), (), "class", order)
    return planned(plain, early * 60)


def stay(opens: float, closes: float, nodes: int = 3, whose: str = "alice") -> NodeInterval:
    return NodeInterval(seconds(opens), seconds(closes), nodes, whose)


def opens(one: PlannedWindow) -> tuple[float, str]:
    """Minutes after eight, and what it says."""
    return (one.opens - EIGHT) / MINUTE, draw(one.notes[-1], ENGLISH, lambda at: f"{at:%H:%M}")


AS_WISHED = (-10, "it opens 10m early, so that its GPUs are ready by 20:00")


def until(minute: float, said: str, whose: str = "alice") -> tuple[float, str]:
    at = f"{EIGHT + minute * MINUTE:%H:%M}"
    return minute, f"it opens {said} instead of 10m early: {whose} has the nodes until {at}"


@pytest.mark.parametrize(("stays", "found"), [
    ([], AS_WISHED),
    ([stay(-60, -10)], AS_WISHED),
    ([stay(0, 60)], AS_WISHED),
    ([stay(-60, -5, nodes=2)], AS_WISHED),
    ([stay(-60, -9)], until(-9, "9m")),
    ([stay(-10, -9)], until(-9, "9m")),
    ([stay(-5, -4)], until(-4, "4m")),
    ([stay(-60, 0)], until(0, "at its start")),
    ([stay(-60, 30)], until(0, "at its start", "another lease")),
    ([stay(-60, -8, 2), stay(-60, -6, 1, "bob")], until(-8, "8m")),
    ([stay(-60, -6), stay(-60, -8, whose="bob")], until(-6, "6m")),
    ([stay(-60, -8), stay(-8, -5, whose="bob")], until(-5, "5m", "bob")),
    ([stay(-60, -5), stay(-7, -5, whose="bob"), stay(-6, -5)], until(-5, "5m", "alice and bob")),
])  # fmt: skip
def test_a_window_opens_as_early_as_others_leave_it_room_until_its_start(
    stays: list[NodeInterval], found: tuple[float, str]
) -> None:
    assert opens(fitted(window(), LAB, 4, stays)) == found


def test_a_window_that_opens_at_its_start_is_given_back_as_it_is() -> None:
    plain = window()._replace(ready_by=None)
    assert fitted(plain, LAB, 4, [stay(-60, 60)]) is plain


def test_what_a_window_says_of_its_early_opening() -> None:
    assert note(seconds(-1), seconds(0)) == reason("calendar.early", early=MINUTE, ready_by=EIGHT)
    assert note(seconds(0), seconds(0)) == reason("calendar.early.not", ready_by=EIGHT)
    assert window()._replace(notes=()).notes == ()
    assert planned(window()._replace(notes=("first",)), 60).notes[0] == "first"


def test_a_lease_is_seen_by_others_as_its_window_s_or_its_owner_s() -> None:
    assert stay_of(lease(opens=-60, closes=60)) == stay(-60, 60, 2, "evening")
    assert stay_of(lease(window=None)).whose == reason("lease.of-owner", owner="class")


# --- beside leases and other windows -------------------------------------------------------------


def beside(*leases: Lease, windows: tuple[PlannedWindow, ...] | None = None) -> list[tuple[str, float]]:
    asked = windows or (window(),)
    found = all_fitted(asked, LAB, {"gpu": 4}, {"gpu": leases})
    return [(each.window, (each.opens - EIGHT) / MINUTE) for each in found]


MINE = lease("mine", opens=-60, closes=-4, nodes=3, window=None)


@pytest.mark.parametrize(("more", "minute"), [
    ({}, -4),
    ({"state": LeaseState.ADMITTED}, -4),
    ({"state": LeaseState.PLANNED}, -4),
    ({"state": LeaseState.CLOSED}, -10),
    ({"state": LeaseState.OPEN, "window": "course"}, -4),
    # A window's planned lease is among the windows, as it will be.
    ({"state": LeaseState.PLANNED, "window": "course"}, -10),
    # Its own lease is nobody else's.
    ({"id": "evening-2026-11-20", "window": "evening"}, -10),
])  # fmt: skip
def test_who_is_granted_nodes_or_was_promised_them_comes_first(more: dict[str, Any], minute: int) -> None:
    assert beside(replace(MINE, **more)) == [("evening", minute)]


def test_windows_take_their_turn_by_their_start_and_then_by_the_file() -> None:
    both = (window("course", nodes=3), window())
    earlier = (window("course", nodes=3, begins=-5), window())
    assert beside(windows=both) == [("evening", -10), ("course", 0)]
    assert beside(windows=earlier) == [("course", -15), ("evening", 0)]


def test_what_is_granted_already_is_seen_as_it_was_granted() -> None:
    """The evening has all four nodes until 20:02, whatever its window says by now."""
    granted = lease("evening-2026-11-20", opens=-5, closes=2, nodes=4)
    both = (window(), window("course", nodes=1, begins=5))
    assert beside(granted, windows=both) == [("evening", -10), ("course", 2)]
    assert beside(windows=both) == [("evening", -10), ("course", -5)]


def test_windows_without_an_hour_to_be_ready_by_stay_as_they_are() -> None:
    first, second = (window(name)._replace(ready_by=None) for name in ("course", "evening"))
    assert all_fitted([first, second], LAB, {"gpu": 4}, {}) == [first, second]
    assert datetime.fromtimestamp(first.opening, UTC) == EIGHT - timedelta(minutes=10)
