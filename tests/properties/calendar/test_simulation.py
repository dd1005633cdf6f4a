"""A simulation against a model that walks through time minute by minute and reckons in fractions."""

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.planner.simulation import simulate
from lamplighter.lab.model import Lab
from tests.lengths import examples

DAY = date(2026, 3, 28)
BEGIN = datetime(2026, 3, 27, tzinfo=UTC)
NEW_YORK = ZoneInfo("America/New_York")
times = st.integers(0, 47).map(lambda half: f"{half // 2:02}:{half % 2 * 30:02}")
windows = st.fixed_dictionaries(
    {
        "pool": st.sampled_from(["a", "b"]),
        "nodes": st.integers(1, 3),
        "days": st.sampled_from([["daily"], ["fri", "sun"], ["weekends"], ["sat"]]),
        "start": times,
        "end": times,
        "time_zone": st.sampled_from(["Europe/Berlin", "Asia/Seoul", "America/New_York"]),
        "except": st.sampled_from([[], ["2026-03-28"]]),
    }
).filter(lambda window: window["start"] != window["end"])


@settings(max_examples=examples(50, 400))
@given(
    asked=st.lists(windows, max_size=7),
    budget=st.sampled_from(["0", "5", "20.5", "1000"]),
    period=st.sampled_from(["day", "week", "month"]),
    begin=st.integers(0, 96),
    half_hours=st.integers(1, 240),
)
def test_it_admits_what_a_minute_by_minute_model_admits(
    asked: list[dict[str, object]], budget: str, period: str, begin: int, half_hours: int
) -> None:
    lab = Lab.model_validate(
        {
            "name": "x",
            "time_zone": "America/New_York",
            "pools": {
                "a": {"max_nodes": 3, "price_per_hour": "1.1"},
                "b": {"max_nodes": 4, "price_per_hour": "0.37"},
            },
            "guard": {"budget": {"amount": budget, "period": period}, "longest_lease": "24h"},
            "windows": [{**window, "name": f"w{number}"} for number, window in enumerate(asked)],
        }
    )
    start = BEGIN + begin * timedelta(minutes=30)
    end = start + half_hours * timedelta(minutes=30)
    played = simulate(lab, start, end)

    # What meets the range, admitted by walking through the openings; calendar has its own test.
    everything = simulate(_rich(lab), start, end)
    spent: dict[object, Fraction] = {}
    admitted: list[tuple[str, date]] = []
    running: list[tuple[str, int, datetime, datetime]] = []
    codes: dict[tuple[str, date], str] = {}
    by_name = {window.name: (order, window) for order, window in enumerate(lab.windows)}
    for one in sorted(everything.windows, key=lambda one: (one.opens, by_name[one.window][0])):
        pool = lab.pools[one.pool]
        minutes = int((one.closes - one.opens).total_seconds()) // 60
        busiest = max(
            sum(n for name, n, opens, closes in running if name == one.pool and opens <= at < closes)
            for at in (one.opens + minute * timedelta(minutes=1) for minute in range(0, minutes, 30))
        )
        hold = one.nodes * Fraction(minutes, 60) * Fraction(lab.price(one.pool))
        local = one.opens.astimezone(NEW_YORK).date()
        key = {"day": local, "week": local.isocalendar()[:2], "month": (local.year, local.month)}[period]
        if busiest + one.nodes > pool.max_nodes:
            codes[one.window, one.date] = "pool-full"
        elif spent.get(key, Fraction(0)) + hold > Fraction(budget):
            codes[one.window, one.date] = "over-budget"
        else:
            spent[key] = spent.get(key, Fraction(0)) + hold
            running.append((one.pool, one.nodes, one.opens, one.closes))
            admitted.append((one.window, one.date))
    assert sorted((one.window, one.date) for one in played.windows) == sorted(admitted)
    told = {(one.window, one.date): one.code.value for one in played.skipped}
    assert {key: code for key, code in told.items() if code in ("pool-full", "over-budget")} == codes

    # Capacity and cost are what the admitted windows are, clipped to the range.
    for name, cost in zip(lab.pools, played.costs, strict=True):
        node_minutes, at = 0, start
        while at < end:
            nodes = sum(n for pool, n, opens, closes in running if pool == name and opens <= at < closes)
            stretch = [one for one in played.capacity if one.pool == name and one.begins <= at < one.ends]
            assert [one.nodes for one in stretch] == ([nodes] if nodes else [])
            node_minutes += 30 * nodes
            at += timedelta(minutes=30)
        assert cost.node_seconds == 60 * node_minutes
        assert cost.cost.amount == Fraction(node_minutes, 60) * Fraction(lab.price(name))
    for before, after in pairwise(played.capacity):
        assert before.pool != after.pool or before.ends < after.begins or before.nodes != after.nodes


def _rich(lab: Lab) -> Lab:
    """The same windows where nothing is refused."""
    document = lab.model_dump(mode="json", by_alias=True, exclude_none=True)
    document["guard"]["budget"]["amount"] = "1000000000"
    for pool in document["pools"].values():
        pool["max_nodes"] = 100
    return Lab.model_validate(document)
