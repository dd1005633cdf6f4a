"""What is open at an instant, against every opening of the days around it."""

import json
from datetime import UTC, date, datetime, timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lamplighter.domain.calendar.occurrences import expand
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.calendar.timetable import Timetable
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse
from tests.lengths import examples
from tests.properties.calendar.contract_reading import Document
from tests.properties.calendar.test_contract import DAYS, labs

SECOND = timedelta(seconds=1)


@settings(max_examples=examples(50, 400))
@given(drawn=labs(), seconds=st.integers(-200_000, 400_000))
def test_what_is_open_at_an_instant(drawn: tuple[Document, datetime, datetime], seconds: int) -> None:
    lab = parse(json.dumps(drawn[0]))
    assert isinstance(lab, Lab)
    for at in (drawn[1], drawn[1] + seconds * SECOND, *edges(lab, drawn[1])):
        assert told(lab, at) == expected(lab, at), at


@settings(max_examples=examples(20, 200))
@given(day=st.sampled_from(DAYS), minute=st.integers(-3000, 3000))
@example("2011-12-30", 0)
def test_a_window_without_end_is_open_on_every_day_that_there_was(day: str, minute: int) -> None:
    window = {"name": "w", "days": "daily", "start": "00:00", "end": "24:00", "time_zone": "Pacific/Apia"}
    lab = Lab.model_validate({"name": "x", "guard": {"longest_lease": "24h"}, "windows": [window]})
    noon = datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC) + timedelta(hours=12)
    at = noon + minute * timedelta(minutes=1)
    assert told(lab, at) == expected(lab, at)


def edges(lab: Lab, near: datetime) -> set[datetime]:
    """The instants at which something opens or closes, and the ones before, where mistakes are made."""
    windows = expand(lab, near - timedelta(days=1), near + timedelta(days=2)).windows[:12]
    at = {instant for window in windows for instant in (window.opens, window.closes)}
    return at | {instant - SECOND for instant in at}


def told(lab: Lab, at: datetime) -> list[PlannedWindow]:
    found = Timetable(lab).open_at(at)
    assert all(window.pool == pool for pool, windows in found.items() for window in windows)
    return sorted(window for windows in found.values() for window in windows)


def expected(lab: Lab, at: datetime) -> list[PlannedWindow]:
    whole = at.replace(microsecond=0)
    return sorted(expand(lab, whole, whole + SECOND).windows)
