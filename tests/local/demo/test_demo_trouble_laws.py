"""The judgement of the act of trouble: laws 6, 9 and 10 are broken by what would break them, and say so."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from local.demo.experiment_state import ExperimentState
from local.demo.laws import LawVerdict
from local.demo.trouble_laws import Trouble, judge
from tests.local.demo.test_demo_laws import GOOD, sample

AT = datetime(2027, 3, 27, 11, 30, tzinfo=UTC)
CLOSES = datetime(2027, 3, 27, 12, 15, tzinfo=UTC)
BEFORE = ExperimentState(
    AT, ("cluster-policy {'devicePlugin': {'enabled': True}}",), ("sg-1 from sg-1 tcp 1025 65535",)
)
DURING = replace(BEFORE, policies=("cluster-policy {'devicePlugin': {'enabled': False}}",))
REPORT: dict[str, Any] = {
    "seen": {"verdicts": [{"check": "allocatable", "node": "n", "verdict": "failed", "reason": "0 of 1"}]},
    "restored": {"undone": True},
    "conclusion": "as expected",
}
DAWN = Lease(
    id="until-dawn-2027-03-28",
    pool="gpu",
    nodes=1,
    owner="platform-team",
    source="window",
    window="until-dawn",
    state=LeaseState.PLANNED,
    opens=datetime(2027, 3, 28, 0, 30, tzinfo=UTC),
    closes=datetime(2027, 3, 28, 2, 30, tzinfo=UTC),
    hold=Money.of("2.474", "USD"),
)
SKIPPED = Entry(AT, "gpu", "skipped", "planner", "window night-owls does not open", "clocks go forward")
PLANNED = Entry(
    AT, "gpu", "planned", "planner", "planned the until-dawn lease", "lasts 2 h: clocks go forward"
)


def look(minute: int, how: ExperimentState) -> ExperimentState:
    return replace(how, at=AT + timedelta(minutes=minute))


GOOD_DAY = replace(
    GOOD,
    samples=[replace(one, leases=(*one.leases, DAWN)) for one in GOOD.samples],
    entries=[*GOOD.entries, SKIPPED, PLANNED],
    receipts=[
        {**receipt, "verdicts": [{"verdict": "passed", "reason": "1 of 1"}]} for receipt in GOOD.receipts
    ],
)
GOOD_TROUBLE = Trouble(
    day=GOOD_DAY,
    experiment="device-plugin-off",
    report=REPORT,
    standing=[look(0, BEFORE), look(1, DURING), look(3, DURING), look(4, BEFORE)],
    closes=CLOSES,
)


def law(number: int, trouble: Trouble) -> LawVerdict:
    return judge(trouble)[number - 1]


def test_a_good_act_tries_and_holds_all_ten() -> None:
    verdicts = judge(GOOD_TROUBLE)
    assert [verdict.law for verdict in verdicts] == list(range(1, 11))
    assert all(verdict.held for verdict in verdicts), verdicts
    assert all(verdict.evidence for verdict in verdicts)


def test_a_check_that_passes_while_the_fault_is_in_breaks_law_6() -> None:
    passed = {"check": "nvidia-smi", "node": "n", "verdict": "passed", "reason": "1 of 1"}
    broken = law(6, replace(GOOD_TROUBLE, report={**REPORT, "seen": {"verdicts": [passed]}}))
    assert broken.held is False
    assert "nvidia-smi on n" in broken.evidence


def test_a_verdict_that_says_nothing_breaks_law_6() -> None:
    receipts = [{**GOOD_DAY.receipts[0], "verdicts": [{"verdict": "passed", "reason": ""}]}]
    assert law(6, replace(GOOD_TROUBLE, day=replace(GOOD_DAY, receipts=receipts))).held is False


def test_an_experiment_without_checks_breaks_law_6() -> None:
    assert law(6, replace(GOOD_TROUBLE, report=None)).held is False


def test_a_window_that_vanishes_in_silence_breaks_law_9() -> None:
    silent = replace(GOOD_DAY, entries=[*GOOD.entries, PLANNED])
    assert law(9, replace(GOOD_TROUBLE, day=silent)).held is False


def test_a_window_that_is_shorter_in_silence_breaks_law_9() -> None:
    silent = replace(GOOD_DAY, entries=[*GOOD.entries, SKIPPED, replace(PLANNED, why="the lab names it")])
    assert law(9, replace(GOOD_TROUBLE, day=silent)).held is False


def test_a_window_at_another_instant_than_on_the_wall_breaks_law_9() -> None:
    moved = replace(DAWN, closes=DAWN.closes + timedelta(hours=1))
    samples = [replace(sample(0), leases=(moved,)), *GOOD.samples]
    assert law(9, replace(GOOD_TROUBLE, day=replace(GOOD_DAY, samples=samples))).held is False


def test_what_stays_changed_until_the_leases_end_breaks_law_10() -> None:
    never = [look(0, BEFORE), look(1, DURING), look(90, DURING)]
    assert law(10, replace(GOOD_TROUBLE, standing=never)).held is False
    late = [*never, look(91, BEFORE)]
    assert law(10, replace(GOOD_TROUBLE, standing=late)).held is False


def test_rules_that_are_not_all_back_break_law_10() -> None:
    other = replace(BEFORE, rules=())
    assert (
        law(10, replace(GOOD_TROUBLE, standing=[look(0, BEFORE), look(1, DURING), look(4, other)])).held
        is False
    )


def test_an_experiment_that_changed_nothing_breaks_law_10() -> None:
    assert law(10, replace(GOOD_TROUBLE, standing=[look(0, BEFORE), look(9, BEFORE)])).held is False


def test_a_report_that_does_not_say_it_is_undone_breaks_law_10() -> None:
    open_ended = {**REPORT, "restored": {"undone": False}}
    assert law(10, replace(GOOD_TROUBLE, report=open_ended)).held is False
