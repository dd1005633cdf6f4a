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


def test_exceptions_mean_the_start_date_in_the_windows_zone() -> None:
    text = windows("days: daily, start: 01:00, end: 02:00, time_zone: Asia/Seoul, except: [2026-03-04]")
    played = play(text + "except: [2026-03-05]\n", "2026-03-02T16:00:00Z", "2026-03-05T16:00:00Z")
    assert opened(played) == ["w0 2026-03-03 02T16:00-02T17:00"]
    assert skipped(played) == ["w0 2026-03-04 excepted", "w0 2026-03-05 excepted"]
    assert play(text, "2026-03-03T17:00:00Z", "2026-03-04T16:00:00Z").skipped == []


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


def test_longest_lease_is_compared_with_the_wall() -> None:
    text = "time_zone: Europe/Berlin\nguard: {longest_lease: 4h}\n"
    played = play(
        text + windows("dates: 2026-10-24, start: 23:00, end: 03:00"),
        "2026-10-24T00:00:00Z",
        "2026-10-26T00:00:00Z",
    )
    assert opened(played) == ["w0 2026-10-24 24T21:00-25T02:00"]
    assert english(played.windows[0].notes[0]).startswith("it lasts 5h instead of 4h")


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


def test_holds_are_exact_to_the_last_place() -> None:
    third = "0.333333333333333333333333333333333333333"
    text = f"pools: {{gpu: {{price_per_hour: {third}}}}}\nguard: {{budget: {{amount: %s}}}}\n" + windows(
        "dates: 2026-03-03, start: 10:00, end: 13:00, nodes: 1"
    )
    exactly = "0." + "9" * 39
    assert len(play(text % exactly, "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z").windows) == 1
    assert not play(text % (exactly[:-1] + "8"), "2026-03-03T00:00:00Z", "2026-03-04T00:00:00Z").windows
