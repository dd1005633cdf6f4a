"""Opening early to be ready by the start: it pushes nobody out and never passes what a pool may have."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.planner.simulation import Simulation, simulate
from lamplighter.lab.model import Lab

DAY = datetime(2026, 3, 2, tzinfo=UTC)
FIVES = st.integers(12 * 2, 12 * 22).map(lambda fives: f"{fives // 12:02}:{fives % 12 * 5:02}")


@st.composite
def windows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A few windows of one pool on a few days, some ready by their start."""
    made = []
    for number in range(draw(st.integers(1, 7))):
        start, end = sorted(draw(st.lists(FIVES, min_size=2, max_size=2, unique=True)))
        made.append(
            {
                "name": f"w{number}",
                "days": draw(st.sampled_from(["daily", "mon", "tue"])),
                "start": start,
                "end": end,
                "nodes": draw(st.integers(1, 3)),
                "ready": draw(st.sampled_from(["by", "from"])),
            }
        )
    return made


def played(asked: list[dict[str, Any]], curfew: str | None = None) -> tuple[Lab, Simulation]:
    guard = {"budget": {"amount": 100_000}, "longest_lease": "24h", "curfew": curfew}
    pools = {"gpu": {"max_nodes": 3}}
    lab = Lab.model_validate(
        {"name": "lab", "time_zone": "UTC", "pools": pools, "guard": guard, "windows": asked}
    )
    return lab, simulate(lab, DAY, DAY + timedelta(days=3))


@given(windows())
def test_the_same_windows_open_as_though_nobody_asked_to_be_ready(asked: list[dict[str, Any]]) -> None:
    _, early = played(asked)
    _, plain = played([{**window, "ready": "from"} for window in asked])
    assert {(one.window, one.date) for one in early.windows} == {
        (one.window, one.date) for one in plain.windows
    }
    assert all(stretch.nodes <= 3 for stretch in early.capacity)
    begun = {(one.window, one.date): one.opening for one in plain.windows}
    for one in early.windows:
        start = begun[one.window, one.date]
        assert one.begins == start
        assert start - 600 <= one.opening <= start


@given(windows(), FIVES)
def test_nobody_opens_early_in_the_ten_minutes_of_a_curfew(asked: list[dict[str, Any]], curfew: str) -> None:
    _, found = played(asked, curfew)
    hours, minutes = map(int, curfew.split(":"))
    for one in found.windows:
        if one.ready_by is None:
            continue
        for day in range(-1, 4):
            free = DAY + timedelta(days=day, hours=hours, minutes=minutes)
            first, last = int(free.timestamp()), int(free.timestamp()) + 600
            assert max(one.opening, first) >= min(one.ready_by, last)
