"""The rules of windows, nodes and money, each by the smallest lab that tells."""

from datetime import datetime

import pytest

from lamplighter.domain.planner.simulation import Simulation, simulate
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse
from tests.drawn import english


def play(text: str, begin: str, end: str) -> Simulation:
    lab = parse(f"name: x\n{text}")
    assert isinstance(lab, Lab), lab
    return simulate(lab, datetime.fromisoformat(begin), datetime.fromisoformat(end))


def opened(played: Simulation) -> list[str]:
    return [f"{one.window} {one.date} {one.opens:%dT%H:%M}-{one.closes:%dT%H:%M}" for one in played.windows]


def skipped(played: Simulation) -> list[str]:
    return [f"{one.window} {one.date} {one.code.value}" for one in played.skipped]


def windows(*rests: str) -> str:
    return "windows:\n" + "".join(f"- {{name: w{number}, {rest}}}\n" for number, rest in enumerate(rests))


UTC_LAB = "time_zone: UTC\n"
BERLIN = "time_zone: Europe/Berlin\nguard: {longest_lease: 24h}\n"


# --- the range -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("begin", "end", "meets"),
    [
        ("2026-03-03T09:00:00Z", "2026-03-03T10:00:00Z", False),
        ("2026-03-03T09:00:00Z", "2026-03-03T10:00:01Z", True),
        ("2026-03-03T11:59:59Z", "2026-03-03T13:00:00Z", True),
        ("2026-03-03T12:00:00Z", "2026-03-03T13:00:00Z", False),
        ("2026-03-03T11:59:59.999999Z", "2026-03-03T13:00:00Z", True),
        ("2026-03-03T09:00:00Z", "2026-03-03T10:00:00.000001Z", True),
    ],
)
def test_windows_and_ranges_are_half_open(begin: str, end: str, meets: bool) -> None:
    played = play(UTC_LAB + windows("dates: 2026-03-03, start: 10:00, end: 12:00"), begin, end)
    assert bool(played.windows) is meets
    assert opened(played) == ["w0 2026-03-03 03T10:00-03T12:00"] * meets


def test_overnight_and_midnight() -> None:
    text = UTC_LAB + windows(
        "days: tue, start: 22:00, end: 02:00, nodes: 1", "days: tue, start: 10:00, end: 24:00, nodes: 1"
    )
    text = text.replace("time_zone", "guard: {longest_lease: 24h}\npools: {gpu: {max_nodes: 9}}\ntime_zone")
    assert opened(play(text, "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z")) == [
        "w1 2026-03-03 03T10:00-04T00:00",
        "w0 2026-03-03 03T22:00-04T02:00",
    ]


def test_leap_days_and_bounds() -> None:
    text = UTC_LAB + windows("days: sat, start: 10:00, end: 11:00, from: 2028-02-20, until: 2028-03-04")
    assert [
        one.date.isoformat() for one in play(text, "2028-01-01T00:00:00Z", "2029-01-01T00:00:00Z").windows
    ] == ["2028-02-26", "2028-03-04"]
    text = UTC_LAB + windows("dates: [2028-02-29, 2028-03-01], start: 10:00, end: 11:00, until: 2028-02-29")
    assert opened(play(text, "2028-01-01T00:00:00Z", "2029-01-01T00:00:00Z")) == [
        "w0 2028-02-29 29T10:00-29T11:00"
    ]


def test_exceptions_mean_the_start_date_in_the_windows_zone() -> None:
    text = windows("days: daily, start: 01:00, end: 02:00, time_zone: Asia/Seoul, except: [2026-03-04]")
    played = play(text + "except: [2026-03-05]\n", "2026-03-02T16:00:00Z", "2026-03-05T16:00:00Z")
    assert opened(played) == ["w0 2026-03-03 02T16:00-02T17:00"]
    assert skipped(played) == ["w0 2026-03-04 excepted", "w0 2026-03-05 excepted"]
    assert play(text, "2026-03-03T17:00:00Z", "2026-03-04T16:00:00Z").skipped == []


# --- clocks --------------------------------------------------------------------------------------


def test_in_spring_a_start_in_the_gap_waits_for_its_end() -> None:
    played = play(
        BERLIN + windows("dates: 2026-03-29, start: 02:30, end: 04:00"),
        "2026-03-28T00:00:00Z",
        "2026-03-30T00:00:00Z",
    )
    assert opened(played) == ["w0 2026-03-29 29T01:00-29T02:00"]
    assert tuple(map(english, played.windows[0].notes)) == (
        "it lasts 1h instead of 1h30m: clocks in Europe/Berlin go forward from 02:00 to 03:00 on 2026-03-29",
    )


def test_a_window_inside_the_gap_vanishes_aloud() -> None:
    text = BERLIN + windows("dates: 2026-03-29, start: 02:00, end: 03:00")
    played = play(text, "2026-03-29T01:00:00Z", "2026-03-29T01:00:01Z")
    assert skipped(played) == ["w0 2026-03-29 vanishes"]
    assert english(played.skipped[0].reason).startswith(
        "nothing is left of its 1h: clocks in Europe/Berlin go forward"
    )
    assert play(text, "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z").skipped == []
    assert play(text, "2026-03-29T01:00:00.000001Z", "2026-03-29T02:00:00Z").skipped == []
    excepted = play(text + "except: [2026-03-29]\n", "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z")
    assert skipped(excepted) == ["w0 2026-03-29 excepted"]


@pytest.mark.parametrize(
    ("times", "opens", "noted"),
    [
        ("start: 02:15, end: 02:45", "25T00:15-25T00:45", False),
        ("start: 02:30, end: 03:30", "25T01:30-25T02:30", False),
        ("start: 01:00, end: 02:30", "24T23:00-25T00:30", False),
        ("start: 01:00, end: 03:00", "24T23:00-25T02:00", True),
        ("start: 02:00, end: 01:00", "25T01:00-26T00:00", False),
    ],
)
def test_in_autumn_no_window_is_lengthened_that_need_not_be(times: str, opens: str, noted: bool) -> None:
    played = play(
        BERLIN + windows(f"dates: 2026-10-25, {times}"), "2026-10-24T00:00:00Z", "2026-10-27T00:00:00Z"
    )
    assert opened(played) == [f"w0 2026-10-25 {opens}"]
    assert bool(played.windows[0].notes) is noted


def test_longest_lease_is_compared_with_the_wall() -> None:
    text = "time_zone: Europe/Berlin\nguard: {longest_lease: 4h}\n"
    played = play(
        text + windows("dates: 2026-10-24, start: 23:00, end: 03:00"),
        "2026-10-24T00:00:00Z",
        "2026-10-26T00:00:00Z",
    )
    assert opened(played) == ["w0 2026-10-24 24T21:00-25T02:00"]
    assert english(played.windows[0].notes[0]).startswith("it lasts 5h instead of 4h")


# --- nodes ---------------------------------------------------------------------------------------


def test_leases_add_up_and_the_one_too_many_is_refused_whole() -> None:
    text = UTC_LAB + windows(
        "dates: 2026-03-03, start: 12:00, end: 14:00, nodes: 1",
        "dates: 2026-03-03, start: 10:00, end: 13:00, nodes: 1",
        "dates: 2026-03-03, start: 12:00, end: 13:00, nodes: 1",
        "dates: 2026-03-03, start: 13:00, end: 15:00, nodes: 1",
    )
    played = play(text, "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z")
    assert [one.window for one in played.windows] == ["w1", "w0", "w3"]
    assert skipped(played) == ["w2 2026-03-03 pool-full"]
    assert [(one.nodes, one.begins.hour, one.ends.hour) for one in played.capacity] == [
        (1, 10, 12),
        (2, 12, 14),
        (1, 14, 15),
    ]
    assert played.costs[0].node_seconds == 7 * 3600


def test_a_refused_window_holds_neither_nodes_nor_money() -> None:
    text = UTC_LAB + 'pools: {gpu: {price_per_hour: "1"}}\nguard: {budget: {amount: 3}}\n' + windows(
        "dates: 2026-03-03, start: 10:00, end: 12:00",  # 4 USD: too dear
        "dates: 2026-03-03, start: 11:00, end: 14:00, nodes: 1",  # 3 USD: equal is admitted
        "dates: 2026-03-03, start: 11:30, end: 12:00, nodes: 2",  # no room
        "dates: 2026-03-03, start: 13:00, end: 13:30, nodes: 1",  # nothing left
    )  # fmt: skip
    played = play(text, "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z")
    assert [one.window for one in played.windows] == ["w1"]
    assert skipped(played) == [
        "w0 2026-03-03 over-budget",
        "w2 2026-03-03 pool-full",
        "w3 2026-03-03 over-budget",
    ]
    assert str(played.skipped[0].reason) == (
        "it would cost 4.0000 USD, more than is left of the 3.0000 USD for the month (2026-03): 3.0000 USD is left"
    )


def test_one_pass_admits_all_pools_by_opening_then_by_the_file() -> None:
    lab = (
        UTC_LAB
        + 'pools: {a: {price_per_hour: "1"}, b: {price_per_hour: "1"}}\nguard: {budget: {amount: 2}}\n'
    )
    text = lab + windows(
        "pool: b, dates: 2026-03-03, start: 11:00, end: 12:00, nodes: 1",
        "pool: a, dates: 2026-03-03, start: 11:00, end: 12:00, nodes: 1",
        "pool: a, dates: 2026-03-03, start: 10:00, end: 11:00, nodes: 1",
    )  # fmt: skip
    played = play(text, "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z")
    assert [one.window for one in played.windows] == ["w2", "w0"]
    assert [one.pool for one in played.costs] == ["a", "b"]


# --- money ---------------------------------------------------------------------------------------


def test_a_window_is_charged_to_the_period_in_which_it_opens_in_the_labs_zone() -> None:
    lab = 'time_zone: Asia/Seoul\npools: {gpu: {max_nodes: 4, price_per_hour: "1"}}\n'
    text = lab + "guard: {budget: {amount: 4, period: day}}\n" + windows(
        "dates: 2026-03-03, start: 23:00, end: 01:00, nodes: 2",
        "dates: 2026-03-03, start: 15:00, end: 17:00, nodes: 2, time_zone: UTC",  # 4 March in Seoul
        "dates: 2026-03-04, start: 20:00, end: 20:30, nodes: 1",
    )  # fmt: skip
    played = play(text, "2026-03-03T00:00:00Z", "2026-03-05T00:00:00Z")
    assert [one.window for one in played.windows] == ["w0", "w1"]
    assert skipped(played) == ["w2 2026-03-04 over-budget"]


def test_a_budget_of_nothing_refuses_whatever_costs() -> None:
    text = "guard: {budget: {amount: 0}}\npools: {gpu: {price_per_hour: %s}}\n" + windows(
        "days: daily, start: 10:00, end: 11:00"
    )
    assert play(text % "0.0001", "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z").windows == []
    assert len(play(text % "0", "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z").windows) == 1


@pytest.mark.parametrize(
    ("price", "amount"), [("0.00015", "0.0002"), ("0.00014999", "0.0001"), ("0.00005", "0.0001")]
)
def test_cost_is_rounded_once_half_up(price: str, amount: str) -> None:
    text = f"pools: {{gpu: {{price_per_hour: {price}}}}}\n" + windows(
        "dates: 2026-03-03, start: 10:00, end: 11:00, nodes: 1"
    )
    document = play(text, "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z").to_json()
    assert document["cost"] == [{"pool": "gpu", "node_seconds": 3600, "amount": amount, "currency": "USD"}]


def test_holds_are_exact_to_the_last_place() -> None:
    third = "0.333333333333333333333333333333333333333"
    text = f"pools: {{gpu: {{price_per_hour: {third}}}}}\nguard: {{budget: {{amount: %s}}}}\n" + windows(
        "dates: 2026-03-03, start: 10:00, end: 13:00, nodes: 1"
    )
    exactly = "0." + "9" * 39
    assert len(play(text % exactly, "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z").windows) == 1
    assert not play(text % (exactly[:-1] + "8"), "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z").windows


def test_an_owner_has_a_part_of_the_budget_and_the_refusal_names_it() -> None:
    text = (
        UTC_LAB
        + 'pools: {gpu: {price_per_hour: "1"}}\n'
        + "guard: {budget: {amount: 9, owners: {class: 2}}}\n"
        + windows(
            "dates: 2026-03-03, start: 10:00, end: 12:00, nodes: 1, owner: class",
            "dates: 2026-03-03, start: 13:00, end: 13:01, nodes: 1, owner: class",
            "dates: 2026-03-03, start: 14:00, end: 16:00, nodes: 1",
        )
    )
    played = play(text, "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z")

    assert skipped(played) == ["w1 2026-03-03 over-budget"]
    assert str(played.skipped[0].reason) == (
        "it would cost 0.0167 USD, more than is left of the 2.0000 USD that class has for the month (2026-03): "
        "0.0000 USD is left"
    )
    assert [one.window for one in played.windows] == ["w0", "w2"]
