"""The plan as an iCalendar that calendar programs can read, also ours."""

from datetime import UTC, datetime
from typing import Any

import icalendar

from cli.plan.windows_ics import document
from lamplighter.domain.planner.simulation import simulate
from lamplighter.lab.model import Lab

NOW = datetime(2026, 3, 1, 9, 30, 15, 999, tzinfo=UTC)


def written(*windows: dict[str, Any]) -> list[Any]:
    lab = Lab.model_validate({"name": "lab", "time_zone": "Asia/Seoul", "windows": list(windows)})
    played = simulate(lab, NOW, datetime(2026, 3, 10, tzinfo=UTC))
    text = document(lab, played.windows, NOW)
    assert text.endswith("END:VCALENDAR\r\n")
    assert max(len(line.encode()) for line in text.split("\r\n")) <= 75
    return list(icalendar.Calendar.from_ical(text).walk("VEVENT"))


def test_each_window_is_an_event_with_a_name_that_stays() -> None:
    (event,) = written(
        {"name": "evening", "dates": "2026-03-03", "start": "20:00", "end": "23:00", "nodes": 1}
    )
    assert str(event["UID"]) == "evening-2026-03-03@lab.lamplighter"
    assert event["DTSTART"].dt == datetime(2026, 3, 3, 11, tzinfo=UTC)
    assert event["DTEND"].dt == datetime(2026, 3, 3, 14, tzinfo=UTC)
    assert event["DTSTAMP"].dt == NOW.replace(microsecond=0)
    assert (str(event["SUMMARY"]), str(event["DESCRIPTION"])) == ("evening: 1 node of gpu", "for lab")


def test_an_event_begins_when_people_come_and_says_when_the_window_opens() -> None:
    early = {"name": "class", "dates": "2026-03-03", "start": "20:00", "end": "23:00", "ready": "by"}
    (event,) = written({**early, "owner": "a; b, c\\d"})
    assert event["DTSTART"].dt == datetime(2026, 3, 3, 11, tzinfo=UTC)
    assert str(event["DESCRIPTION"]) == (
        "for a; b, c\\d\nit opens 10m early, so that its GPUs are ready by 20:00 on 2026-03-03 (Asia/Seoul)"
    )


def test_what_does_not_open_is_not_in_it() -> None:
    both = {"dates": "2026-03-03", "start": "20:00", "end": "23:00"}
    assert [str(event["SUMMARY"]) for event in written({"name": "a", **both}, {"name": "b", **both})] == [
        "a: 2 nodes of gpu"
    ]
