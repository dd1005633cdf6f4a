"""The demo's judgement of the ten laws: each is broken by what would break it, and says so."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from local.demo.laws import Day, LawVerdict, judge
from local.demo.observations import Sample

OPENS = datetime(2026, 12, 1, 11, 0, tzinfo=UTC)
CLOSES = OPENS + timedelta(hours=1)
LEASE = Lease(
    id="evening-2026-12-01",
    pool="gpu",
    nodes=2,
    owner="evening-class",
    source="window",
    state=LeaseState.OPEN,
    opens=OPENS,
    closes=CLOSES,
    hold=Money.of("2.474", "USD"),
)
FAILSAFE = (CLOSES + timedelta(minutes=10),)


def sample(minute: int, instances: Sequence[str] = (), *, desired: int | None = None) -> Sample:
    return Sample(
        at=OPENS + timedelta(minutes=minute),
        instances=tuple(instances),
        desired=len(instances) if desired is None else desired,
        kubernetes_nodes=tuple(instances),
        failsafe=FAILSAFE if minute < 70 else (),
        leases=(LEASE,),
        committed="2.4740",
    )


GOOD = Day(
    samples=[
        sample(0),
        sample(1, ["a", "b"]),
        sample(30, ["a", "b"]),
        sample(61, ["a", "b"], desired=0),
        sample(65),
        sample(90, ["c"]),
        sample(94, ["c"], desired=0),
        sample(99),
    ],
    interval=timedelta(seconds=30),
    entries=[Entry(OPENS, "gpu", "lease-granted", "window evening", "2 nodes", "the window opened")],
    receipts=[
        {
            "lease": LEASE.id,
            "proof_of_zero": {
                "at": "2026-12-01T12:05:00Z",
                "desired": 0,
                "instances": [],
                "kubernetes_nodes": [],
            },
        }
    ],
    budget=Decimal(6),
    over_budget_answer="7.42 asked, 2.29 left",
    stale_answer="the command was good until 10:00",
)


def law(number: int, day: Day) -> LawVerdict:
    return judge(day)[number - 1]


def test_a_good_day_holds_what_it_tried_and_says_what_it_did_not_try() -> None:
    verdicts = judge(GOOD)
    assert [verdict.law for verdict in verdicts] == list(range(1, 11))
    assert {verdict.law: verdict.held for verdict in verdicts} == {
        **dict.fromkeys((1, 2, 3, 4, 5, 7, 8), True),
        **dict.fromkeys((6, 9, 10)),
    }
    assert all(verdict.evidence for verdict in verdicts)


def test_law_1_is_broken_by_a_node_that_runs_on_without_a_lease() -> None:
    assert not law(1, replace(GOOD, samples=[*GOOD.samples[:6], sample(106, ["c"])])).held
    late = [*GOOD.samples[:6], sample(105, ["c"], desired=0), sample(110)]
    assert not law(1, replace(GOOD, samples=late)).held


def test_law_1_is_not_held_by_a_day_without_a_breach() -> None:
    assert not law(1, replace(GOOD, samples=[sample(0), sample(30, ["a"]), sample(70)])).held


def test_law_2_holds_while_an_extension_has_moved_the_failsafe_and_not_yet_the_lease() -> None:
    longer = replace(LEASE, closes=CLOSES + timedelta(minutes=15))
    moved = (longer.closes + timedelta(minutes=10),)
    between = replace(sample(30, ["a"]), failsafe=moved)
    after = replace(sample(31, ["a"]), failsafe=moved, leases=(longer,))

    assert law(2, replace(GOOD, samples=[between, after])).held
    assert not law(2, replace(GOOD, samples=[between, replace(after, leases=(LEASE,))])).held


def test_law_2_holds_while_the_first_of_its_schedules_is_moved_and_the_second_not_yet() -> None:
    longer = replace(LEASE, closes=CLOSES + timedelta(minutes=15))
    first, second = longer.closes + timedelta(minutes=10), CLOSES + timedelta(minutes=20)
    between = replace(sample(30, ["a"]), failsafe=(first, second))
    after = replace(sample(31, ["a"]), failsafe=(first,), leases=(longer,))

    assert law(2, replace(GOOD, samples=[between, after])).held
    assert not law(2, replace(GOOD, samples=[between, replace(after, leases=(LEASE,))])).held


def test_law_2_holds_while_a_shortening_has_moved_the_lease_and_not_yet_the_failsafe_but_not_for_long() -> (
    None
):
    shorter = replace(LEASE, closes=CLOSES - timedelta(minutes=20))
    between = replace(sample(30, ["a"]), leases=(shorter,))
    late = replace(sample(31, ["a"]), leases=(shorter,))
    after = replace(late, failsafe=(shorter.closes + timedelta(minutes=10),))

    assert law(2, replace(GOOD, samples=[sample(1, ["a"]), between, after])).held
    assert not law(2, replace(GOOD, samples=[sample(1, ["a"]), between, late])).held


def test_law_2_is_broken_by_a_missing_or_misplaced_failsafe() -> None:
    bare = replace(sample(30, ["a", "b"]), failsafe=())
    early = replace(sample(30, ["a", "b"]), failsafe=(CLOSES,))
    assert not law(2, replace(GOOD, samples=[bare])).held
    assert not law(2, replace(GOOD, samples=[early])).held


def test_law_3_is_broken_by_a_stale_command_that_was_not_refused() -> None:
    assert not law(3, replace(GOOD, stale_answer=None)).held


def test_law_4_is_broken_by_money_beyond_the_budget_or_an_ask_that_was_granted() -> None:
    assert not law(4, replace(GOOD, over_budget_answer=None)).held
    assert not law(4, replace(GOOD, samples=[replace(GOOD.samples[0], committed="6.0001")])).held


def test_law_5_is_broken_by_a_leased_node_that_went_away() -> None:
    assert not law(5, replace(GOOD, samples=[sample(1, ["a", "b"]), sample(2, ["a"])])).held


def test_law_5_is_not_broken_by_a_lease_that_ended_between_two_looks() -> None:
    mine = replace(LEASE, id="mine", nodes=1, closes=CLOSES + timedelta(hours=1))
    theirs = replace(LEASE, id="theirs", nodes=1)
    both = (mine, theirs)
    samples = [replace(sample(59, ["a", "b"]), leases=both), replace(sample(62, ["a"]), leases=both)]
    after = [*samples, replace(sample(63, ["a"]), leases=both)]
    assert law(5, replace(GOOD, samples=after)).held is True


def test_law_7_is_broken_by_a_receipt_that_the_cloud_does_not_bear_out() -> None:
    still_there = [*GOOD.samples[:4], sample(65, ["b"])]
    assert not law(7, replace(GOOD, samples=still_there)).held
    assert not law(7, replace(GOOD, receipts=[])).held


def test_law_7_asks_for_what_was_seen_after_the_proof_had_looked_at_everything() -> None:
    while_proving = [*GOOD.samples[:4], sample(65, ["b"]), sample(66)]
    looked = OPENS + timedelta(minutes=65, seconds=20)
    proven = Entry(looked, "gpu", "zero-proven", "guard", "at zero", "none")
    assert law(7, replace(GOOD, samples=while_proving, entries=[*GOOD.entries, proven])).held
    still_there = [*while_proving[:5], sample(66, ["b"])]
    assert not law(7, replace(GOOD, samples=still_there, entries=[*GOOD.entries, proven])).held


def test_law_8_is_broken_by_a_decision_without_a_reason() -> None:
    silent = replace(GOOD.entries[0], why=" ")
    assert not law(8, replace(GOOD, entries=[silent])).held


def test_a_failed_node_that_the_lab_changed_for_a_fresh_one_was_not_taken() -> None:
    samples = [sample(0), sample(1, ["i-bad", "i-well"]), sample(30, ["i-well", "i-new"]), sample(65)]
    told = Entry(OPENS, "gpu", "replaced", "nodegroups", "changes i-bad of the lease, once", "it failed")

    (held,) = (each for each in judge(replace(GOOD, samples=samples, entries=[told])) if each.law == 5)
    (broken,) = (each for each in judge(replace(GOOD, samples=samples)) if each.law == 5)

    assert held.held is True
    assert "i-bad" in broken.evidence
