"""Windows that must be ready by their start: how early they open, beside whom, and what is measured."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.calendar.early_opening import NodeInterval, fitted
from lamplighter.domain.calendar.occurrences import expand
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.leases.terms import terms
from lamplighter.domain.leases.warm_up import (
    BEFORE_ANY,
    LONGEST,
    LOOKED_AT,
    READ,
    SHORTEST,
    gpus_expected,
    lead,
    measured,
)
from lamplighter.domain.money.money import Money
from lamplighter.domain.planner.planner import CalendarInputs, calendar
from lamplighter.domain.planner.simulation import simulate
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import draw
from tests.drawn import english

DAY = datetime(2026, 3, 2, tzinfo=UTC)


def lab(*windows: dict[str, Any], **more: Any) -> Lab:
    document = {"name": "lab", "time_zone": "UTC", "windows": [{"days": "mon", **each} for each in windows]}
    return Lab.model_validate({**document, **more})


def by(start: str = "20:00", end: str = "22:00", **more: Any) -> dict[str, Any]:
    return {"name": "class", "ready": "by", "start": start, "end": end, "nodes": 2, **more}


def plain(start: str, end: str, **more: Any) -> dict[str, Any]:
    return {"name": "other", "start": start, "end": end, "nodes": 2, **more}


def played(found: Lab) -> list[str]:
    document: Any = simulate(found, DAY, DAY + timedelta(days=2)).to_json()
    return [
        f"{each['window']} {each['opens'][11:16]}-{each['closes'][11:16]}" for each in document["windows"]
    ]


def notes(found: Lab) -> list[str]:
    document: Any = simulate(found, DAY, DAY + timedelta(days=2)).to_json(
        lambda said: draw(said, ENGLISH, lambda at: f"{at:%H:%M}")
    )
    return [note for each in document["windows"] for note in each["notes"]]


def test_it_opens_early_by_the_stated_figure_before_anything_was_measured() -> None:
    found = lab(by())
    assert played(found) == ["class 19:50-22:00"]
    assert notes(found) == ["it opens 10m early, so that its GPUs are ready by 20:00"]


def test_it_opens_early_by_what_its_pool_was_measured_to_take() -> None:
    (window,) = expand(
        lab(by()), DAY, DAY + timedelta(days=1), warm_ups={"gpu": timedelta(minutes=17)}
    ).windows
    assert (window.opens, window.ready_by) == (
        DAY + timedelta(hours=19, minutes=43),
        int((DAY + timedelta(hours=20)).timestamp()),
    )


def test_the_early_minutes_are_paid_for() -> None:
    document: Any = simulate(lab(by()), DAY, DAY + timedelta(days=1)).to_json()
    assert document["cost"][0]["node_seconds"] == 2 * (2 * 3600 + 600)


def test_opening_early_pushes_nobody_out() -> None:
    # By its start the other comes first, whatever the file's order; by the early opening it would not.
    found = lab(by(), plain("19:55", "20:30"))
    assert played(found) == ["other 19:55-20:30"]
    assert [one.code.value for one in simulate(found, DAY, DAY + timedelta(days=1)).skipped] == ["pool-full"]


def test_it_never_opens_across_a_curfew() -> None:
    found = lab(by("04:15", "06:00"), guard={"curfew": "04:00"})
    assert played(found) == ["class 04:10-06:00"]
    assert notes(found) == ["it opens 5m instead of 10m early: the curfew has the nodes until 04:10"]


def test_an_opening_whose_early_minutes_alone_lie_in_the_range_is_in_it() -> None:
    begins = DAY + timedelta(hours=19, minutes=45)
    found = simulate(lab(by()), begins, begins + timedelta(minutes=10))
    assert [one.opens for one in found.windows] == [DAY + timedelta(hours=19, minutes=50)]
    assert simulate(lab(by(), plain("18:00", "20:00")), begins, begins + timedelta(minutes=10)).skipped == []


@given(
    stays=st.lists(st.tuples(st.integers(0, 90), st.integers(1, 60), st.integers(1, 3)), max_size=6),
    nodes=st.integers(1, 3),
)
def test_the_early_opening_is_the_first_from_which_there_is_room(
    stays: list[tuple[int, int, int]], nodes: int
) -> None:
    found = lab(by())
    (window,) = expand(found, DAY, DAY + timedelta(days=1)).windows
    window = window._replace(nodes=nodes)
    base = window.opening - 60 * 60
    others = [
        NodeInterval(base + start * 60, base + (start + length) * 60, taken, "x")
        for start, length, taken in stays
    ]

    opening = fitted(window, found, 4, others).opening

    def room(at: int) -> bool:
        return sum(stay.nodes for stay in others if stay.opening <= at < stay.closing) + nodes <= 4

    assert window.ready_by is not None
    minutes = range(window.opening, window.ready_by, 60)
    full = [minute for minute in minutes if not room(minute)]
    assert opening == (max(full) + 60 if full else window.opening)


@pytest.mark.parametrize(("minutes", "expected"), [
    ([], BEFORE_ANY),
    ([None, None], BEFORE_ANY),
    ([4.2], BEFORE_ANY),  # one measurement proves little; slower than stated counts at once
    ([14.2], timedelta(minutes=15)),
    ([6.1, 6.4, 7.9], timedelta(minutes=8)),
    ([0.1, 6.1, 6.4, 0.0, 7.9], timedelta(minutes=8)),  # handed-over nodes were warm already
    ([2.5] * 5, SHORTEST),
    ([45.0] * 5, LONGEST),
    ([7.0, 7.2, 45.0, 7.1, 7.3], timedelta(minutes=15)),  # an hour without capacity is no warm-up
    ([6.0] * 18 + [9.0, 11.0], timedelta(minutes=6)),
    ([9.0] * 2, timedelta(minutes=10)),  # too few: the stated figure holds
    ([9.0] * 3, timedelta(minutes=9)),
    ([1.9, 1.9, *[9.0] * 2], timedelta(minutes=10)),  # under two minutes nodes were there already
    ([2.0, 9.0, 9.0], timedelta(minutes=9)),
    ([6.0, 7.0, 20.0, 20.0], timedelta(minutes=14)),  # of four the second is the middle one
    ([6.0, 7.0, 8.0, 20.0, 20.0], timedelta(minutes=16)),
    ([*[6.0] * 17, 9.0, 9.0, 9.0], timedelta(minutes=9)),
    ([*[6.0] * 17, 9.0, 9.0, 6.0, 9.0], timedelta(minutes=6)),
    ([*[6.0] * 17, 9.0, 11.0, 11.0, *[25.0] * 30], timedelta(minutes=9)),  # only the last twenty count
])  # fmt: skip
def test_a_pools_warm_up_is_a_robust_upper_figure_of_its_last_windows(
    minutes: list[float | None], expected: timedelta
) -> None:
    assert measured(minutes) == expected


def test_a_warm_up_is_of_5_to_30_minutes_and_10_are_stated_before_any_was_measured() -> None:
    assert [bound // timedelta(minutes=1) for bound in (SHORTEST, BEFORE_ANY, LONGEST)] == [5, 10, 30]
    assert (lead("gpu", None), lead("gpu", {"gpu": timedelta(minutes=7)})) == (600, 420)
    # Every other lease may have taken over warm nodes.
    assert READ == 2 * LOOKED_AT


def lease(opens: int, closes: int, **more: Any) -> Lease:
    """A planned lease of the pool, in minutes after eight."""
    eight = DAY + timedelta(hours=20)
    return Lease(
        id=more.pop("id", f"x-{opens}"),
        pool="gpu",
        nodes=more.pop("nodes", 2),
        owner="o",
        source="window",
        state=more.pop("state", LeaseState.PLANNED),
        opens=eight + timedelta(minutes=opens),
        closes=eight + timedelta(minutes=closes),
        hold=Money.zero("USD"),
        window="x",
        **more,
    )


def expected_minute(asked: Lease, *others: Lease) -> int | None:
    at = gpus_expected(asked, [asked, *others], timedelta(minutes=8))
    return None if at is None else (at - DAY) // timedelta(minutes=1) - 20 * 60


def test_gpus_are_expected_a_warm_up_after_the_opening_and_never_before_the_start() -> None:
    eight = DAY + timedelta(hours=20)
    assert expected_minute(lease(0, 60)) == 8
    assert expected_minute(lease(-10, 60, ready_by=eight)) == 0
    assert expected_minute(lease(-5, 60, ready_by=eight)) == 3
    assert expected_minute(lease(0, 60, ready=eight + timedelta(minutes=4), state=LeaseState.OPEN)) == 4


def test_nodes_that_are_handed_over_are_ready_at_once() -> None:
    assert expected_minute(lease(0, 60), lease(-60, 0)) == 0
    assert expected_minute(lease(0, 60), lease(-60, 0, nodes=1)) == 8
    assert expected_minute(lease(0, 60), lease(-60, -1)) == 8
    assert expected_minute(lease(0, 60), lease(-60, 0, refusal="full")) == 8
    assert expected_minute(lease(0, 60), lease(-60, 0, state=LeaseState.REFUSED)) == 8
    assert expected_minute(lease(0, 60), lease(-60, 0, nodes=1), lease(-30, 0, nodes=1)) == 0
    # One that was closed before it opened had none.
    assert expected_minute(lease(0, 60), lease(0, 0, id="never")) == 8


def test_nothing_is_expected_of_what_will_not_open() -> None:
    assert expected_minute(lease(0, 60, refusal="no money")) is None
    assert expected_minute(lease(0, 60, state=LeaseState.CLOSED)) is None


def test_the_planner_opens_early_beside_the_leases_there_are() -> None:
    found = lab(by())
    running = replace(lease(-120, -4, id="cli-1", state=LeaseState.OPEN), window=None)
    around = CalendarInputs(warm_ups={"gpu": timedelta(minutes=12)}, known={"gpu": [running]})

    planned = calendar(found, {"gpu": terms(found, "gpu")}, (), DAY, DAY + timedelta(days=1), beside=around)

    (early,) = planned.leases
    eight = DAY + timedelta(hours=20)
    assert (early.opens, early.ready_by, early.begins) == (eight - timedelta(minutes=4), eight, eight)
    assert early.hold == terms(found, "gpu").hold(2, early.opens, early.closes)
    assert english(planned.notes[early.id]) == (
        "it opens 4m instead of 12m early: o's lease has the nodes until 19:56 on 2026-03-02 (Etc/UTC)"
    )
    assert Lease.from_json(early.to_json()) == early
