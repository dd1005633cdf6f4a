"""The month calendar of `simulate`: the letters of each day."""

from datetime import datetime
from typing import Any

from cli.plan.simulation_month import MOST_MONTHS, months
from lamplighter.domain.planner.simulation import simulate
from lamplighter.lab.model import Lab


def drawn(start: str, end: str, *windows: dict[str, Any], **more: Any) -> list[str]:
    lab = Lab.model_validate({"name": "lab", "time_zone": "Asia/Seoul", "windows": list(windows), **more})
    begins, ends = (datetime.fromisoformat(f"{day}T00:00:00+09:00") for day in (start, end))
    return [line.plain for line in months(lab, simulate(lab, begins, ends))]


EVENING = {"name": "evening", "days": ["tue", "thu"], "start": "20:00", "end": "23:00", "nodes": 1}
NIGHT = {"name": "night", "days": "tue", "start": "22:00", "end": "02:00", "nodes": 2}


def test_a_letter_stands_on_the_day_a_window_opens() -> None:
    assert drawn("2026-09-01", "2026-09-12", EVENING) == [
        "September 2026",
        "Mon     Tue     Wed     Thu     Fri     Sat     Sun",
        "         1 a     2       3 a     4       5       6",
        " 7       8 a     9      10 a    11      12      13",
        "14      15      16      17      18      19      20",
        "21      22      23      24      25      26      27",
        "28      29      30",
        "",
        "a evening",
        "",
    ]


def test_what_is_refused_and_what_is_taken_out_have_signs_of_their_own() -> None:
    lines = drawn(
        "2026-09-01", "2026-09-05", EVENING, {**NIGHT, "except": "2026-09-08"}, **{"except": "2026-09-03"}
    )
    assert lines[2].split() == ["1", "a!b", "2", "3", "-a", "4", "5", "6"]
    assert lines[-3:] == [
        "a evening, b night",
        "! does not open, see Skipped, - taken out of the calendar",
        "",
    ]


def test_a_window_that_opens_early_stands_on_the_day_of_its_start() -> None:
    early = {"name": "early", "dates": "2026-09-02", "start": "00:05", "end": "02:00", "ready": "by"}
    assert drawn("2026-09-01", "2026-09-05", early)[2].split() == ["1", "2", "a", "3", "4", "5", "6"]


def test_nothing_is_drawn_where_nothing_happens_and_months_without_anything_are_left_out() -> None:
    assert drawn("2026-09-01", "2026-09-05") == []
    yearly = {**EVENING, "days": None, "dates": ["2026-01-06", "2026-09-01"]}
    heads = [line for line in drawn("2026-01-01", "2027-01-01", yearly) if line.endswith("2026")]
    assert heads == ["January 2026", "September 2026"]


def test_many_windows_are_counted_and_many_months_cut() -> None:
    crowd = [{**EVENING, "name": f"w{number}"} for number in range(60)]
    pools = {"gpu": {"max_nodes": 100}}
    lines = drawn("2026-09-01", "2026-09-02", *crowd, pools=pools, guard={"budget": {"amount": 10_000}})
    assert lines[2].split()[:2] == ["1", "60"]
    assert lines[-2] == "Numbers are windows that open on the day"
    long = drawn("2026-01-01", "2029-01-01", EVENING)
    assert sum(line[:3].isalpha() and line[-4:].isdigit() for line in long) == MOST_MONTHS
    assert f"Further months are left out here: {MOST_MONTHS} are drawn." in long


def test_a_lease_of_a_person_has_a_letter_too_behind_the_windows() -> None:
    lab = Lab.model_validate({"name": "lab", "time_zone": "Asia/Seoul", "windows": [EVENING]})
    begins, ends = (datetime.fromisoformat(f"2026-09-{day}T00:00:00+09:00") for day in ("01", "05"))
    played = simulate(lab, begins, ends)
    lease = played.windows[0]._replace(window="cli-1a2b3c4d", pool="gpu")

    lines = [line.plain for line in months(lab, played._replace(windows=[*played.windows, lease]))]

    assert lines[2].split()[:3] == ["1", "ab", "2"]
    assert lines[-2] == "a evening, b cli-1a2b3c4d"
