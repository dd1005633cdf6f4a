"""`simulate` over labs of every kind, against a second reading of the contract (contract_reading)."""

import json
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import available_timezones

from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.planner.simulation import simulate
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse
from tests.lengths import examples
from tests.properties.calendar.contract_reading import Document, length, simulated

EVERY_ZONE = sorted(available_timezones())
KNOWN = [
    "UTC", "Europe/Berlin", "Europe/Lisbon", "America/New_York", "America/Havana", "America/Asuncion",
    "America/St_Johns", "Africa/Cairo", "Africa/Casablanca", "Asia/Beirut", "Asia/Seoul", "Asia/Kathmandu",
    "Australia/Lord_Howe", "Pacific/Chatham", "Pacific/Kiritimati", "Antarctica/Troll", "Pacific/Apia",
    "America/Sao_Paulo", "Asia/Gaza", "Asia/Tehran", "Europe/Dublin", "America/Scoresbysund", "Asia/Pyongyang",
    "Europe/Volgograd", "America/Juneau", "Pacific/Kwajalein", "Asia/Manila", "Africa/Monrovia",
]  # fmt: skip
# Days around changes of the clocks, leap days, the ends of weeks, months and years, and a day that an island left out.
DAYS = [
    "2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01", "2026-04-05", "2026-10-04", "2024-02-29",
    "2026-12-31", "2027-01-03", "2011-12-30", "2015-08-15", "2018-11-04", "2024-03-31", "2026-02-15",
    "2026-03-22", "1993-08-21", "1844-12-31", "1972-01-07", "1883-11-18", "1945-08-15", "9998-12-20",
]  # fmt: skip
zones = st.sampled_from(KNOWN) | st.sampled_from(EVERY_ZONE)
minutes = st.sampled_from([0, 30, 60, 90, 120, 150, 180, 1320, 1380, 1410, 1439]) | st.integers(0, 1439)

PEOPLE = ["evening-class", "x"]
owner = st.sampled_from([{}, {}, *({"owner": name} for name in PEOPLE)])
owners = st.dictionaries(st.sampled_from(PEOPLE), st.sampled_from(["0", "2.474", "7.5", "20"]))


def clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


@st.composite
def labs(draw: st.DrawFn) -> tuple[Document, datetime, datetime]:
    centre = date.fromisoformat(draw(st.sampled_from(DAYS)))
    near = st.integers(-4, 4).map(lambda away: (centre + timedelta(days=away)).isoformat())
    home = draw(zones)
    prices = st.sampled_from(["0", "0.1", "1.237", "1", "3", "0.0001", "1.2345", "1e-7", "7.5"])
    pools = {
        name: {"max_nodes": draw(st.integers(1, 4)), "price_per_hour": draw(prices)}
        for name in draw(st.sampled_from([["gpu"], ["b", "a"], ["z", "m", "a"]]))
    }
    windows: list[Document] = []
    for number in range(draw(st.integers(0, 6))):
        start, end = draw(minutes), draw(minutes | st.just(1440))
        if start == end:
            continue
        window: dict[str, Any] = {"name": f"{draw(st.sampled_from('zab'))}{number}", "start": clock(start)}
        window["end"] = clock(end)
        if len(pools) > 1 or draw(st.booleans()):
            window["pool"] = draw(st.sampled_from(list(pools)))
        if draw(st.booleans()):
            most = pools[window.get("pool", next(iter(pools)))]["max_nodes"]
            window["nodes"] = draw(st.integers(1, int(str(most))))
        if draw(st.booleans()):
            window["dates"] = draw(st.lists(near, min_size=1, max_size=4))
        else:
            words = st.sampled_from(
                ["daily", "weekdays", "weekends", "mon", "tue", "wed", "thu", "fri", "sat", "sun"]
            )
            window["days"] = draw(st.just(["daily"]) | st.lists(words, min_size=1, max_size=3))
        bounds = zip(("from", "until"), sorted([draw(near), draw(near)]), strict=True)
        window |= {key: day for key, day in bounds if draw(st.integers(0, 3)) == 0}
        if draw(st.integers(0, 2)) == 0:
            window["except"] = draw(st.lists(near, max_size=2))
        if draw(st.booleans()):
            window["time_zone"] = draw(zones)
        window |= draw(owner)
        windows.append(window)
    # A budget that is met exactly is the interesting one: some windows' own holds.
    budget = draw(st.sampled_from(["0", "0.3", "5", "20.5", "1000000000", "12", "2.474", "24", "7.5"]))
    lab = {
        "name": "x",
        "time_zone": home,
        "pools": pools,
        "guard": {
            "budget": {
                "amount": budget,
                "period": draw(st.sampled_from(["day", "week", "month"])),
                "owners": draw(owners),
            },
            "longest_lease": "24h",
        },
        "windows": windows,
        "except": draw(st.lists(near, max_size=1)),
    }
    ahead = timezone(timedelta(minutes=draw(st.sampled_from([0, 540, -300, 765]))))
    begin = datetime(centre.year, centre.month, centre.day, tzinfo=UTC) + timedelta(
        minutes=draw(st.integers(-4000, 2000)), microseconds=draw(st.sampled_from([0, 0, 0, 1, 500_000]))
    )
    lasts = timedelta(seconds=draw(st.sampled_from([1, 60, 1800, 86400]) | st.integers(1, 700_000)))
    return lab, begin.astimezone(ahead), (begin + lasts).astimezone(ahead)


def compared(told: Document) -> Document:
    """The document without the words of its notes and reasons."""
    told = json.loads(json.dumps(told))
    for window in told["windows"]:
        window["notes"] = bool(window["notes"])
    for skipped in told["skipped"]:
        assert skipped.pop("reason")
    return told


@settings(max_examples=examples(50, 600))
@given(labs())
def test_a_second_reading_of_the_contract_says_the_same(drawn: tuple[Document, datetime, datetime]) -> None:
    document, begin, end = drawn
    lab = parse(json.dumps(document))
    assert isinstance(lab, Lab), lab
    assert all(
        length(one) == window.length for one, window in zip(document["windows"], lab.windows, strict=True)
    )
    assert compared(simulate(lab, begin, end).to_json()) == simulated(document, begin, end)
