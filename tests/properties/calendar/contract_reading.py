"""A second reading of the contract's `simulate`, from its sentences alone: plain dictionaries in and out.

It knows nothing of the product but the document's shape, and takes the slow way everywhere: offsets are
found by looking at every hour, times on the wall by trying every offset, nodes by looking at every lease.
"""

import itertools
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SECOND = timedelta(seconds=1)
WORDS = {
    "daily": {0, 1, 2, 3, 4, 5, 6},
    "weekdays": {0, 1, 2, 3, 4},
    "weekends": {5, 6},
    **{word: {number} for number, word in enumerate(["mon", "tue", "wed", "thu", "fri", "sat", "sun"])},
}
Document = dict[str, Any]


def offset(at: datetime, zone: str) -> timedelta:
    ahead = at.astimezone(ZoneInfo(zone)).utcoffset()
    assert ahead is not None
    return ahead


@cache
def changes(zone: str, day: date) -> tuple[tuple[datetime, timedelta, timedelta], ...]:
    """The instants around a date at which the zone's offset changes: instant, before, after."""
    first = datetime(day.year, day.month, day.day, tzinfo=UTC) - 3 * DAY
    found = []
    for hour in range(7 * 24):
        low, high = first + hour * HOUR, first + (hour + 1) * HOUR
        before, after = offset(low, zone), offset(high, zone)
        if before != after:
            while high - low > SECOND:
                middle = low + (high - low) // 2
                middle -= timedelta(microseconds=middle.microsecond)
                low, high = (middle, high) if offset(middle, zone) == before else (low, middle)
            found.append((high, before, after))
    return tuple(found)


def instants(wall: datetime, zone: str) -> list[datetime]:
    """When the clock on the wall shows a time: once, twice, or, in a gap, at the gap's end instead."""
    around = changes(zone, wall.date())
    offsets = {offset(wall.replace(tzinfo=UTC) - 2 * DAY, zone)} | {after for _, _, after in around}
    shown = sorted(
        at
        for at in {wall.replace(tzinfo=UTC) - ahead for ahead in offsets}
        if at.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == wall
    )
    if shown:
        return shown
    naive = wall.replace(tzinfo=UTC)
    (end,) = [at for at, before, after in around if at + before <= naive < at + after]
    return [end]


def length(window: Document) -> timedelta:
    start, end = (int(text[:2]) * 60 + int(text[3:]) for text in (window["start"], window["end"]))
    return timedelta(minutes=end - start + (24 * 60 if end < start else 0))


def opening(window: Document, day: date, zone: str) -> tuple[datetime, datetime]:
    begins = datetime.combine(day, datetime.min.time()) + timedelta(
        hours=int(window["start"][:2]), minutes=int(window["start"][3:])
    )
    opens, closes = instants(begins, zone), instants(begins + length(window), zone)[0]
    if len(opens) > 1 and closes - opens[0] > length(window):
        return opens[1], closes
    return opens[0], closes


def period(at: datetime, lab: Document) -> object:
    local = at.astimezone(ZoneInfo(lab["time_zone"])).date()
    return {
        "day": local,
        "week": local - timedelta(days=local.weekday()),
        "month": (local.year, local.month),
    }[lab["guard"]["budget"]["period"]]


def written(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def simulated(lab: Document, begin: datetime, end: datetime) -> Document:
    """What `simulate --json` says, but for the words of notes and reasons: a note is True or False."""
    begin, end = begin.astimezone(UTC), end.astimezone(UTC)
    asked, skipped = [], []
    for order, window in enumerate(lab["windows"]):
        zone = window.get("time_zone", lab["time_zone"])
        pool = window.get("pool", next(iter(lab["pools"])))
        nodes = window.get("nodes", lab["pools"][pool]["max_nodes"])
        day = begin.date() - 5 * DAY
        while day <= end.date() + 5 * DAY:
            text, here = day.isoformat(), day
            day += DAY
            named = "dates" not in window or text in window["dates"]
            if "days" in window:
                named = here.weekday() in set().union(*(WORDS[word] for word in window["days"]))
            if not named or not window.get("from", text) <= text <= window.get("until", text):
                continue
            opens, closes = opening(window, here, zone)
            meets = opens < end and closes > begin if closes > opens else begin <= opens < end
            if not meets:
                continue
            one = {"window": window["name"], "pool": pool, "date": text}
            if text in window.get("except", []) or text in lab.get("except", []):
                skipped.append((text, order, one | {"code": "excepted"}))
            elif closes <= opens:
                skipped.append((text, order, one | {"code": "vanishes"}))
            else:
                noted = closes - opens != length(window)
                asked.append((opens, order, closes, nodes, noted, one))
    return _admitted(lab, begin, end, asked, skipped)


def _admitted(
    lab: Document, begin: datetime, end: datetime, asked: list[Any], skipped: list[Any]
) -> Document:
    leases: list[Any] = []
    spent: dict[object, Fraction] = {}
    budget = Fraction(lab["guard"]["budget"]["amount"])
    owners = lab["guard"]["budget"].get("owners", {})
    for one in sorted(asked, key=lambda one: (one[0], one[1])):
        opens, order, closes, nodes, _, row = one
        pool = lab["pools"][row["pool"]]
        # Every instant at which somebody's nodes come, within the window.
        instants_ = [opens, *(other[0] for other in leases if opens <= other[0] < closes)]
        most = max(
            sum(other[3] for other in leases if other[5]["pool"] == row["pool"] and other[0] <= at < other[2])
            for at in instants_
        )
        hold = nodes * Fraction((closes - opens) // SECOND) * Fraction(pool["price_per_hour"]) / 3600
        when = period(opens, lab)
        owner = lab["windows"][order].get("owner", lab.get("owner", lab["name"]))
        own = Fraction(owners[owner]) if owner in owners else budget
        if most + nodes > pool["max_nodes"]:
            skipped.append((row["date"], order, row | {"code": "pool-full"}))
        elif (
            spent.get(when, Fraction(0)) + hold > budget or spent.get((when, owner), Fraction(0)) + hold > own
        ):
            skipped.append((row["date"], order, row | {"code": "over-budget"}))
        else:
            for purse in (when, (when, owner)):
                spent[purse] = spent.get(purse, Fraction(0)) + hold
            leases.append(one)
    capacity, costs = [], []
    for name, pool in lab["pools"].items():
        rows, seconds = _capacity(name, leases, begin, end)
        capacity += rows
        cost = seconds * Fraction(pool["price_per_hour"]) / 3600
        cents = int(cost * 10000 + Fraction(1, 2))
        costs.append(
            {
                "pool": name,
                "node_seconds": seconds.numerator if seconds.denominator == 1 else float(seconds),
                "amount": f"{cents // 10000}.{cents % 10000:04}",
                "currency": lab["guard"]["budget"].get("currency", "USD"),
            }
        )
    return {
        "from": written(begin),
        "to": written(end),
        "windows": [
            {**row, "nodes": nodes, "opens": written(opens), "closes": written(closes), "notes": noted}
            for opens, _, closes, nodes, noted, row in sorted(
                leases, key=lambda one: (one[0], one[5]["window"], one[5]["date"])
            )
        ],
        "skipped": [row for _, _, row in sorted(skipped, key=lambda one: one[:2])],
        "capacity": capacity,
        "cost": costs,
    }


def _capacity(
    name: str, leases: list[Any], begin: datetime, end: datetime
) -> tuple[list[Document], Fraction]:
    mine = [(max(one[0], begin), min(one[2], end), one[3]) for one in leases if one[5]["pool"] == name]
    edges = sorted({at for opens, closes, _ in mine for at in (opens, closes)})
    rows: list[Document] = []
    seconds = Fraction(0)
    for low, high in itertools.pairwise(edges):
        nodes = sum(count for opens, closes, count in mine if opens <= low < closes)
        seconds += nodes * Fraction((high - low) // timedelta(microseconds=1), 10**6)
        if nodes and rows and rows[-1]["nodes"] == nodes and rows[-1]["to"] == written(low):
            rows[-1]["to"] = written(high)
        elif nodes:
            rows.append({"pool": name, "nodes": nodes, "from": written(low), "to": written(high)})
    return rows, seconds
