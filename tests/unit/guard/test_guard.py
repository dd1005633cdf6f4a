"""What a sweep finds wrong, and what the guard does about it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.capacity.calls import Call, timed
from lamplighter.domain.capacity.evidence import Change, Changing, Controller, Instance, Member, Seen
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.guard.breach import GuardAction, Rule
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.guard.incident import Incident, next_page, retry_after
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.schedules.failsafe import failsafe_schedules
from lamplighter.domain.schedules.schedule import Schedule
from lamplighter.reasons.reason import Reason, Sentences, Value, reason

EIGHT = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
FAILSAFE: dict[str, Value] = {"pool": "gpu", "name": "failsafe-gpu-10", "due": EIGHT + 130 * MINUTE}


def lease(
    name: str = "evening",
    nodes: int = 2,
    opens: int = -60,
    closes: int = 120,
    state: LeaseState = LeaseState.OPEN,
) -> Lease:
    return Lease(
        id=name,
        pool="gpu",
        nodes=nodes,
        owner="alice",
        source="window",
        state=state,
        opens=EIGHT + opens * MINUTE,
        closes=EIGHT + closes * MINUTE,
        hold=Money.of(1, "USD"),
        window=name,
    )


def shots(first: datetime) -> tuple[Schedule, ...]:
    """A failsafe whose first schedule runs at this instant."""
    calls = Call("zero", {}), Call("zero", {}), Call("past", {}), Call("zero", {})
    return failsafe_schedules("gpu", timed(first, calls))


def instance(name: str, minutes: int = -30, group: str | None = "eks-gpu") -> Instance:
    return Instance(
        name, "g5.xlarge", "a", "running", EIGHT + minutes * MINUTE, None, group, f"{name}.internal"
    )


def pool(
    *leases: Lease,
    running: Sequence[str] = (),
    leaving: Sequence[str] = (),
    strays: Sequence[Instance] = (),
    desired: int | None = None,
) -> PoolFacts:
    """A healthy pool with these leases and nodes: the lab's own sizes, and the failsafe armed correctly."""
    members = tuple(Member(name, "a") for name in running)
    members += tuple(Member(name, "a", leaving=True, waits_for_drain=True) for name in leaving)
    wanted = desired if desired is not None else len(running)
    ends = [one.closes for one in leases if one.granted and one.opens <= EIGHT]
    failsafe = shots(max(ends) + 10 * MINUTE) if ends else ()
    return PoolFacts(
        pool="gpu",
        now=EIGHT,
        enforcing=True,
        ours=True,
        max_nodes=2,
        leases=leases,
        closing_since=None,
        seen=Seen(
            NODE_GROUP,
            exists=True,
            ordered=wanted,
            maximum=2,
            controller=Controller("eks-gpu", 0, 2, wanted, members),
            instances=(*(instance(name) for name in (*running, *leaving)), *strays),
        ),
        kubernetes_nodes=tuple(f"{name}.internal" for name in (*running, *leaving)),
        failsafe_wanted=failsafe,
        failsafe_found=failsafe,
    )


def test_a_pool_with_as_many_nodes_as_leases_has_no_breach() -> None:
    assert sweep(pool(lease(), running=["i-1", "i-2"])) == ()


def test_a_pool_at_zero_without_a_lease_has_no_breach() -> None:
    assert sweep(pool()) == ()


def test_a_node_without_a_lease_is_closed_whoever_started_it() -> None:
    [breach] = sweep(pool(running=["i-1"]))

    assert (breach.rule, breach.action, breach.target) == (Rule.NODE_WITHOUT_LEASE, GuardAction.CLOSE, 0)
    assert breach.reason == reason("guard.no-lease", pool="gpu", nodes=1)


def test_a_node_that_is_only_ordered_counts_already() -> None:
    [breach] = sweep(pool(desired=2))

    assert breach.reason == reason("guard.no-lease", pool="gpu", nodes=2)


def test_the_reason_names_the_lease_that_ended_last() -> None:
    ended = lease(closes=-5, state=LeaseState.CLOSED)

    [breach] = sweep(pool(ended, running=["i-1"]))

    assert breach.reason == Sentences(
        (
            reason("guard.no-lease", pool="gpu", nodes=1),
            reason("lease.ended-at", lease=ended.called(), at=ended.closes),
        )
    )


def test_more_nodes_than_leases_are_shrunk_to_the_target_and_no_further() -> None:
    facts = pool(lease(nodes=1), running=["i-1", "i-2"])

    [breach] = sweep(facts)

    assert (breach.rule, breach.action, breach.target) == (Rule.MORE_NODES_THAN_LEASES, GuardAction.CLOSE, 1)
    assert breach.reason == reason(
        "guard.more-nodes", pool="gpu", nodes=2, more=1, target=facts.target.reason
    )


def test_fewer_nodes_than_leases_are_no_business_of_the_guard() -> None:
    assert sweep(pool(lease(), running=["i-1"])) == ()


def test_what_is_leaving_already_is_not_closed_again() -> None:
    assert sweep(pool(leaving=["i-1"], desired=0)) == ()


def test_a_lease_past_its_end_that_nothing_closes_is_closed_as_that_lease() -> None:
    [breach] = sweep(pool(lease(closes=-3), running=["i-1", "i-2"]))

    assert (breach.rule, breach.lease, breach.target) == (Rule.LEASE_PAST_ITS_END, "evening", 0)


def test_a_close_that_is_about_to_begin_is_waited_for() -> None:
    assert sweep(pool(lease(closes=-1), running=["i-1", "i-2"])) == ()


def test_a_close_under_way_is_waited_for_and_one_that_hangs_is_not() -> None:
    closing = pool(lease(closes=-5, state=LeaseState.CLOSING), running=["i-1"])

    assert sweep(replace(closing, closing_since=EIGHT - 5 * MINUTE)) == ()
    [breach] = sweep(replace(closing, closing_since=EIGHT - 10 * MINUTE))
    assert breach.action is GuardAction.CLOSE


def seen(facts: PoolFacts, **different: Any) -> PoolFacts:
    """The same facts, with this seen differently."""
    return replace(facts, seen=replace(facts.seen, **different))


@pytest.mark.parametrize("kind", [Changing.CREATING, Changing.DELETING])
def test_a_capacity_that_aws_makes_or_deletes_is_waited_for(kind: Changing) -> None:
    assert sweep(seen(pool(running=["i-1"]), change=Change(kind))) == ()


def test_nodes_that_aws_replaces_are_waited_for_a_quarter_of_an_hour() -> None:
    facts = pool(running=["i-1"])

    def rolled(minutes: int) -> PoolFacts:
        return seen(facts, change=Change(Changing.REPLACING, EIGHT - minutes * MINUTE))

    assert sweep(rolled(14)) == ()
    assert [breach.rule for breach in sweep(rolled(15))] == [Rule.NODE_WITHOUT_LEASE]


def test_a_missing_failsafe_is_armed_again_on_a_watched_pool_too() -> None:
    leased = pool(lease(), running=["i-1", "i-2"])

    [breach] = sweep(replace(leased, enforcing=False, failsafe_found=()))

    assert (breach.rule, breach.action) == (Rule.FAILSAFE_WRONG, GuardAction.REARM)


def test_watching_says_what_it_would_do_and_does_nothing() -> None:
    [breach] = sweep(replace(pool(running=["i-1"]), enforcing=False))

    assert breach.action is GuardAction.SAY
    assert breach.reason == reason(
        "guard.only-watched",
        finding=reason("guard.no-lease", pool="gpu", nodes=1),
        action=reason("guard.act.close"),
    )


def test_a_lease_past_its_end_is_closed_on_a_watched_pool_too() -> None:
    ended = pool(lease(closes=-5), running=["i-1"])

    found = sweep(replace(ended, enforcing=False))

    assert [breach.action for breach in found if breach.rule is Rule.LEASE_PAST_ITS_END] == [
        GuardAction.CLOSE
    ]


def test_an_instance_with_the_pools_tags_outside_its_group_is_ended() -> None:
    [breach] = sweep(pool(strays=[instance("i-stray", group=None)]))

    assert (breach.rule, breach.instances) == (Rule.STRAY_INSTANCE, ("i-stray",))


def test_an_instance_that_just_started_may_not_be_listed_yet() -> None:
    assert sweep(pool(strays=[instance("i-new", minutes=-1)])) == ()


def test_a_stray_that_a_lease_justifies_is_left_alone() -> None:
    assert sweep(pool(lease(), running=["i-1"], strays=[instance("i-stray")])) == ()


def test_a_missing_failsafe_is_armed_again() -> None:
    facts = pool(lease(), running=["i-1", "i-2"])

    [breach] = sweep(replace(facts, failsafe_found=facts.failsafe_wanted[1:]))

    assert breach.action is GuardAction.REARM
    assert breach.reason == reason(
        "guard.failsafe.missing", pool="gpu", name="failsafe-gpu-10", due=EIGHT + 130 * MINUTE
    )


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            {"at": EIGHT + 200 * MINUTE},
            reason("guard.failsafe.late", **FAILSAFE, at=EIGHT + 200 * MINUTE),
        ),
        (
            {"at": EIGHT + 20 * MINUTE},
            reason("guard.failsafe.early", **FAILSAFE, at=EIGHT + 20 * MINUTE),
        ),
        (
            {"input": '{"ScalingConfig":{"DesiredSize":2}}'},
            reason("guard.failsafe.changed", **FAILSAFE),
        ),
    ],
)
def test_a_failsafe_that_is_late_early_or_wrong_is_armed_again(
    change: dict[str, object], fault: Reason
) -> None:
    facts = pool(lease(), running=["i-1", "i-2"])
    wrong = replace(facts.failsafe_wanted[0], **change)  # type: ignore[arg-type]

    [breach] = sweep(replace(facts, failsafe_found=(wrong, *facts.failsafe_wanted[1:])))

    assert breach.action is GuardAction.REARM
    assert breach.reason == fault


def test_a_pool_that_is_about_to_open_may_be_without_a_failsafe_yet() -> None:
    facts = pool(lease(state=LeaseState.ADMITTED))

    assert sweep(replace(facts, failsafe_found=())) == ()


def test_a_failsafe_left_on_a_pool_at_zero_is_taken_away() -> None:
    left = shots(EIGHT + 60 * MINUTE)

    [breach] = sweep(replace(pool(), failsafe_found=left))

    assert breach.action is GuardAction.DISARM


def test_a_failsafe_stays_while_anything_may_be_left() -> None:
    left = shots(EIGHT + 60 * MINUTE)

    assert sweep(replace(pool(), failsafe_found=left, kubernetes_nodes=None)) == ()
    assert sweep(replace(pool(leaving=["i-1"], desired=0), failsafe_found=left)) == ()


def test_sizes_changed_behind_our_back_are_put_back_on_a_pool_we_own() -> None:
    facts = pool(lease(), running=["i-1", "i-2"])
    changed = seen(facts, minimum=1, maximum=8)

    [breach] = sweep(changed)

    assert breach.action is GuardAction.RESTORE_SIZES
    assert breach.reason == reason("guard.sizes.both", pool="gpu", minimum=1, maximum=8, most=2)
    assert sweep(replace(changed, ours=False)) == ()


def test_a_leaked_pool_pages_at_once_and_is_closed_again() -> None:
    leaked = replace(pool(leaving=["i-1"], desired=0), incident=Incident(EIGHT))

    page, close = sweep(leaked)

    assert (page.action, close.action, close.target) == (GuardAction.PAGE, GuardAction.CLOSE, 0)
    assert page.reason == reason("guard.leaked", pool="gpu", since=EIGHT, left=leaked.zero.reason("gpu"))


def test_a_leaked_pool_waits_between_closes_and_between_pages() -> None:
    incident = Incident(EIGHT - 10 * MINUTE, closed_at=EIGHT - 9 * MINUTE, tries=1, pages=1)

    assert sweep(replace(pool(leaving=["i-1"], desired=0), incident=incident)) == ()


def test_a_leaked_pool_that_reached_zero_is_leaked_no_longer() -> None:
    [breach] = sweep(replace(pool(), incident=Incident(EIGHT - 60 * MINUTE)))

    assert breach.action is GuardAction.RECOVER


def test_pages_repeat_after_15_minutes_1_hour_4_hours_then_daily() -> None:
    due = [next_page(Incident(EIGHT, pages=count)) - EIGHT for count in range(7)]

    hours = [at.total_seconds() / 3600 for at in due]
    assert hours == [0, 0.25, 1, 4, 28, 52, 76]


def test_pages_that_an_ack_kept_back_are_not_made_up_for() -> None:
    paged_as_it_ended = Incident(EIGHT, pages=2, paged_at=EIGHT + 12 * 60 * MINUTE)

    assert next_page(paged_as_it_ended) == EIGHT + 28 * 60 * MINUTE


def test_closes_of_a_leaked_pool_back_off_to_an_hour() -> None:
    assert [retry_after(tries) // MINUTE for tries in range(6)] == [5, 10, 20, 40, 60, 60]
