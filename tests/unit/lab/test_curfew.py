"""The curfew: no lease runs across it, whatever the clocks do, and nobody opens while AWS's rails act."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.granting import extension, grant
from lamplighter.domain.leases.curfew import Curfew
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms, terms
from lamplighter.domain.money.budget import BudgetPeriod
from lamplighter.domain.money.money import Money
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse
from tests.drawn import drawn
from tests.unit.calendar.named_windows import unnamed

SEOUL = ZoneInfo("Asia/Seoul")
FOUR = Curfew(4 * 60, SEOUL)
# Four in the morning in Seoul.
CURFEW = datetime(2026, 11, 20, 19, 0, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
LAB = {"name": "lab", "guard": {"curfew": "04:00", "longest_lease": "12h"}}


def test_a_lease_ends_at_the_first_curfew_it_would_run_across() -> None:
    assert FOUR.ends(CURFEW - HOUR, CURFEW + HOUR) == CURFEW
    assert FOUR.ends(CURFEW - HOUR, CURFEW) == CURFEW
    assert FOUR.ends(CURFEW - 2 * HOUR, CURFEW - HOUR) == CURFEW - HOUR
    assert FOUR.ends(CURFEW + 10 * MINUTE, CURFEW + 23 * HOUR) == CURFEW + 23 * HOUR


def test_for_ten_minutes_from_the_curfew_on_nobody_has_a_lease() -> None:
    assert FOUR.at(CURFEW - timedelta(seconds=1)) is None
    assert FOUR.at(CURFEW) == FOUR.at(CURFEW + 10 * MINUTE - timedelta(seconds=1)) == CURFEW
    assert FOUR.at(CURFEW + 10 * MINUTE) is None


def test_a_curfew_that_autumn_repeats_is_kept_free_both_times() -> None:
    new_york = Curfew(90, ZoneInfo("America/New_York"))
    first = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    assert new_york.ends(first - HOUR, first + 3 * HOUR) == first
    assert new_york.ends(first + 10 * MINUTE, first + 3 * HOUR) == first + HOUR


def pool_terms(lab: dict[str, object] | None = None) -> Terms:
    return terms(Lab.model_validate(lab or LAB), "gpu")


def command(verb: Verb = Verb.OPEN, lasting: timedelta | None = None) -> Command:
    expires = CURFEW + 24 * HOUR
    return Command("1", verb, "gpu", "alice", "alice", "cli", CURFEW - HOUR, expires, lasting=lasting)


def opened(now: datetime, lasting: timedelta | None = None) -> grant.GrantDecision:
    money = BudgetPeriod("2026-11", Money.zero("USD"), Money.zero("USD"))
    answer = grant.decide(
        command(lasting=lasting), pool_terms(), [], {"2026-11": money}, now=now, generation=0
    )
    return drawn(answer, "Asia/Seoul")


def test_a_grant_ends_at_the_curfew_holds_no_more_money_and_says_so() -> None:
    answer = opened(CURFEW - HOUR, lasting=3 * HOUR)

    assert answer.lease is not None
    assert answer.lease.closes == CURFEW
    assert answer.lease.hold == pool_terms().hold(1, CURFEW - HOUR, CURFEW)
    assert "until 04:00 on 2026-11-21 (Asia/Seoul), the curfew, for alice" in str(answer.reason)


def test_nothing_opens_while_the_rails_of_the_curfew_act() -> None:
    answer = opened(CURFEW + 3 * MINUTE)

    assert (answer.outcome, answer.earliest) == ("refused", CURFEW + 10 * MINUTE)
    assert answer.reason == (
        "AWS brings pool gpu to zero at 04:00 on 2026-11-21 (Asia/Seoul), the curfew; "
        "nothing opens before 04:10 on 2026-11-21 (Asia/Seoul)"
    )
    assert opened(CURFEW + 10 * MINUTE).outcome == "granted"


def extended(lease: Lease, lasting: timedelta) -> extension.Extension:
    money = BudgetPeriod("2026-11", lease.hold, Money.zero("USD"))
    asking = command(Verb.EXTEND, lasting)
    answer = extension.decide(
        asking, pool_terms(), [lease], money, now=CURFEW - HOUR + 5 * MINUTE, generation=0
    )
    return drawn(answer, "Asia/Seoul")


def test_an_extension_ends_at_the_curfew_and_there_is_none_past_it() -> None:
    lease = opened(CURFEW - HOUR, lasting=30 * MINUTE).lease
    assert lease is not None

    longer = extended(lease, lasting=3 * HOUR)
    assert longer.after is not None
    assert longer.after.closes == CURFEW
    assert str(longer.reason).startswith(
        "alice's lease ends at 04:00 on 2026-11-21 (Asia/Seoul), the curfew, instead"
    )

    again = extended(longer.after, lasting=HOUR)
    assert (again.outcome, again.reason) == (
        "refused",
        "alice's lease ends at 04:00 on 2026-11-21 (Asia/Seoul), the curfew: no lease runs across it",
    )


def test_a_pool_may_have_a_curfew_of_its_own() -> None:
    lab = {**LAB, "pools": {"gpu": {"curfew": "05:30"}, "other": {}}}
    both = Lab.from_json(Lab.model_validate(lab).to_json())
    assert (both.curfew("gpu"), both.curfew("other")) == (330, 240)
    assert Lab.model_validate({"name": "x"}).curfew("gpu") is None


# --- what check says ---------------------------------------------------------------------------


def refusals(text: str) -> list[str]:
    found = parse("name: x\n" + text, "f")
    return [] if isinstance(found, Lab) else [f"{problem.key}: {unnamed(problem.text)}" for problem in found]


def window(times: str, lab: str = "guard: {curfew: 04:00}") -> list[str]:
    return refusals(f"{lab}\nwindows: [{{name: w, days: mon, {times}}}]\n")


@pytest.mark.parametrize("times", [
    "start: 22:00, end: 04:00",
    "start: 04:10, end: 06:00",
    "start: 20:00, end: 23:00",
    "start: 00:00, end: 04:00",
])  # fmt: skip
def test_a_window_may_touch_the_curfew(times: str) -> None:
    assert window(times) == []


@pytest.mark.parametrize("times", [
    "start: 22:00, end: 04:01",
    "start: 04:09, end: 06:00",
    "start: 04:00, end: 06:00",
    "start: 03:00, end: 05:00",
])  # fmt: skip
def test_a_window_across_the_curfew_is_refused(times: str) -> None:
    (found,) = window(times)
    assert found == (
        "windows.0.end: makes the window run across the curfew at 04:00 Asia/Seoul; "
        "end it by then, or start it at 04:10 or later"
    )


def test_a_window_in_another_zone_is_held_against_the_curfew_all_the_year() -> None:
    lab = "time_zone: Europe/Berlin\nguard: {curfew: 04:00}"
    # Seoul keeps one time: Berlin is 8 hours behind in winter and 7 in summer.
    assert window("start: 10:30, end: 11:30, time_zone: Asia/Seoul", lab)
    assert window("start: 11:30, end: 12:30, time_zone: Asia/Seoul", lab)
    assert window("start: 13:00, end: 14:00, time_zone: Asia/Seoul", lab) == []
    summer = "from: 2026-06-01, until: 2026-06-30"
    assert window(f"start: 11:30, end: 12:30, time_zone: Asia/Seoul, {summer}", lab) == []


def test_a_curfew_that_a_spring_night_does_not_have_is_refused() -> None:
    (gap,) = refusals("time_zone: America/New_York\nguard: {curfew: 02:30}")
    assert gap == (
        "guard.curfew: is 02:30, and on 2026-03-08 clocks in America/New_York jump over 02:30, so the "
        "schedules would not fire that night; write a time that every day has, an hour earlier or later"
    )
    (rail,) = refusals("time_zone: America/New_York\npools: {gpu: {curfew: 01:57}}")
    assert "jump over 02:02" in rail
    assert refusals("time_zone: America/New_York\nguard: {curfew: 01:30}") == []


def test_a_curfew_is_a_time_of_the_day() -> None:
    assert refusals('guard: {curfew: "24:00"}') == [
        'guard.curfew: is "24:00", write a time as HH:MM, from 00:00 to 23:59'
    ]


def test_prices_do_not_know_the_curfew() -> None:
    assert pool_terms({"name": "lab"}).curfew is None
    assert pool_terms().price_per_hour > Decimal(0)
