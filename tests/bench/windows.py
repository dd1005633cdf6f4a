"""How long the calendar takes for a year of a thousand windows."""

from collections.abc import Mapping
from datetime import UTC, datetime

from lamplighter.domain.calendar.occurrences import expand
from lamplighter.lab.model import Lab
from tests.bench.figure import Measurement, best_of

WINDOWS = 1000
ZONES = ("Asia/Seoul", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
DAYS = ("weekdays", "weekends", "daily", "tue")
YEAR = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)


def _take() -> Mapping[str, float]:
    windows = [
        {
            "name": f"w{number}",
            "nodes": 1,
            "days": DAYS[number % len(DAYS)],
            "time_zone": ZONES[number // len(DAYS) % len(ZONES)],
            "start": f"{number % 22:02}:00",
            "end": f"{number % 22 + 1:02}:30",
        }
        for number in range(WINDOWS)
    ]
    lab = Lab.model_validate({"name": "calendar", "windows": windows})
    return {"year-of-windows": best_of(lambda: expand(lab, *YEAR), times=3) * 1000}


MEASUREMENTS = (Measurement({"year-of-windows": "ms"}, _take),)
