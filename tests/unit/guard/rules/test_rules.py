"""The guard's rules about leases that end early, abandoned runs, changes by others, and leaks."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lamplighter.domain.capacity.evidence import ANY_NUMBER, Change, Changing, Controller
from lamplighter.domain.capacity.node_group.evidence import ScalingActivity
from lamplighter.domain.capacity.node_group.seen import raised_by
from lamplighter.domain.guard.breach import EarlierBreach, GuardAction, Rule
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.guard.incident import Incident, pages_again
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.schedules.schedule import RunEnd
from lamplighter.reasons.reason import Reason, Sentences, in_english, reason
from tests.unit.guard.test_guard import EIGHT, MINUTE, instance, lease, pool, seen

HOUR = 60 * MINUTE


def warned(rule: Rule, minutes: int, name: str = "evening") -> EarlierBreach:
    return EarlierBreach(rule, GuardAction.WARN, name, EIGHT + minutes * MINUTE)


def test_a_lease_that_would_outlast_the_longest_is_warned_about_and_then_closed() -> None:
    long = replace(lease(opens=-225, closes=600), window=None)
    facts = replace(pool(long, running=["i-1", "i-2"]), longest_lease=4 * HOUR)

    [warning] = sweep(facts)
    [close] = sweep(replace(facts, now=EIGHT + 15 * MINUTE, earlier=(warned(Rule.LEASE_TOO_LONG, 0),)))

    assert (warning.action, close.action, close.lease) == (GuardAction.WARN, GuardAction.CLOSE, "evening")
    assert in_english(warning.reason) == (
        "alice's lease on pool gpu has been running since 16:15 UTC on 2026-11-20, and guard.longest_lease allows "
        "4h; the guard closes it at 20:15 UTC on 2026-11-20"
    )


def test_a_window_that_a_clock_change_lengthens_is_not_too_long() -> None:
    lengthened = lease(opens=-240, closes=60)

    assert sweep(replace(pool(lengthened, running=["i-1"]), longest_lease=4 * HOUR)) == ()


def test_between_the_warning_and_the_close_nothing_is_done_or_said_again() -> None:
    facts = replace(
        pool(lease(opens=-120, closes=120), running=["i-1"]),
        idle_since=EIGHT - 90 * MINUTE,
        idle_after={"evening": HOUR},
    )

    assert sweep(replace(facts, earlier=(warned(Rule.IDLE_LEASE, -10),))) == ()
    [close] = sweep(replace(facts, earlier=(warned(Rule.IDLE_LEASE, -15),)))
    assert close.action is GuardAction.CLOSE


def test_a_lease_is_idle_from_when_its_gpus_were_ready() -> None:
    ready = replace(lease(nodes=1, opens=-120, closes=120), ready=EIGHT - 30 * MINUTE)
    facts = replace(
        pool(ready, running=["i-1"]), idle_since=EIGHT - 110 * MINUTE, idle_after={"evening": HOUR}
    )

    assert sweep(facts) == ()


def test_a_pool_that_somebody_lowered_under_a_lease_is_said_and_never_raised() -> None:
    ready = replace(lease(), ready=EIGHT - 30 * MINUTE)

    [breach] = sweep(pool(ready, running=["i-1"]))

    assert (breach.rule, breach.action) == (Rule.FEWER_NODES_THAN_LEASES, GuardAction.SAY)
    assert isinstance(breach.reason, Reason)
    assert breach.reason.code == "guard.fewer-nodes"


def test_nodes_that_are_still_to_come_or_are_known_to_be_missing_are_no_shortfall() -> None:
    opening = lease(state=LeaseState.OPENING)
    short = replace(lease(), ready=EIGHT - 30 * MINUTE, missing=1)

    assert sweep(pool(opening, running=["i-1"])) == ()
    assert sweep(pool(short, running=["i-1"])) == ()


def test_who_extends_a_lease_that_was_warned_about_means_to_use_it() -> None:
    facts = replace(
        pool(lease(opens=-120, closes=120), running=["i-1"]),
        idle_since=EIGHT - 90 * MINUTE,
        idle_after={"evening": HOUR},
        earlier=(warned(Rule.IDLE_LEASE, -20),),
        extended_at={"evening": EIGHT - 10 * MINUTE},
    )

    assert sweep(facts) == ()


def test_an_update_that_replaces_leased_nodes_is_waited_for_longer() -> None:
    rolling = Change(Changing.REPLACING, EIGHT - 40 * MINUTE)
    leased = seen(pool(lease(nodes=1), running=["i-1", "i-2"]), change=rolling)

    assert sweep(leased) == ()
    assert sweep(seen(pool(running=["i-1"]), change=rolling)) != ()


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (RunEnd.FAILED, "guard.opening.failed"),
        (RunEnd.TIMED_OUT, "guard.opening.timed-out"),
        (RunEnd.ABORTED, "guard.opening.stopped"),
        (RunEnd.NEVER_STARTED, "guard.opening.never-started"),
    ],
)
def test_an_opening_that_nobody_carries_on_is_closed(ended: RunEnd, code: str) -> None:
    opening = lease(opens=-20, state=LeaseState.OPENING)

    [breach] = sweep(replace(pool(opening, running=["i-1"]), opening_ended={"evening": ended}))

    assert (breach.rule, breach.action, breach.lease) == (
        Rule.OPENING_ABANDONED,
        GuardAction.CLOSE,
        "evening",
    )
    assert breach.reason == Reason(code, {"lease": opening.called(), "pool": "gpu"})


@pytest.mark.parametrize(
    ("minutes", "running", "found"),
    [(-10, [], False), (-20, [], True), (-60, ["i-1"], False), (-75, ["i-1"], True)],
)
def test_a_closing_is_abandoned_once_no_run_can_still_be_at_it(
    minutes: int, running: list[str], found: bool
) -> None:
    other = lease("other", nodes=len(running)) if running else None
    closing = lease(closes=minutes, state=LeaseState.CLOSING)
    facts = pool(*([other] if other else []), closing, running=running)

    assert (Rule.CLOSING_ABANDONED in {breach.rule for breach in sweep(facts)}) is found


def test_a_pool_that_another_lab_claims_is_said_and_not_fought_over() -> None:
    [claim, node] = sweep(replace(pool(running=["i-1"]), claimed_by="physics"))

    assert (claim.rule, claim.action) == (Rule.SECOND_CLAIM, GuardAction.SAY)
    assert (node.rule, node.action) == (Rule.NODE_WITHOUT_LEASE, GuardAction.SAY)
    assert node.reason == reason(
        "guard.claimed-too",
        finding=reason("guard.no-lease", pool="gpu", nodes=1),
        lab="physics",
        action=reason("guard.act.close"),
    )


def test_a_leased_node_is_protected_from_autoscalers_and_a_surplus_one_is_not() -> None:
    leased = replace(pool(lease(nodes=1), running=["i-1"]), unprotected=("i-1.internal",))
    surplus = replace(pool(lease(nodes=1), running=["i-1", "i-2"]), unprotected=("i-1.internal",))

    assert [breach.action for breach in sweep(leased)] == [GuardAction.PROTECT]
    assert GuardAction.PROTECT not in {breach.action for breach in sweep(surplus)}


LAUNCHED = "Launching a new EC2 instance: i-1"
SET = "At 2026-11-20T19:58:00Z a user request explicitly set group desired capacity changing the desired capacity"


@pytest.mark.parametrize(
    ("cause", "ordered", "said"),
    [
        (SET, 1, reason("guard.raised.directly")),
        ("a user request update of constraints", 0, reason("guard.raised.past-eks")),
        ("a user request update of constraints", 1, None),
    ],
)
def test_who_asked_for_the_surplus_is_named_where_auto_scaling_says_so(
    cause: str, ordered: int, said: Reason | None
) -> None:
    activity = ScalingActivity("1", "Successful", LAUNCHED, "", EIGHT, EIGHT, cause)

    assert raised_by(ordered, Controller("eks-gpu", 0, 2, 1), [activity]) == said


def test_another_maximum_is_put_back_only_once_no_deploy_explains_it() -> None:
    """A deploy changes the node group first, and the guard learns of it minutes later."""
    facts = pool(lease(), running=["i-1", "i-2"])
    facts = seen(facts, maximum=4)

    def noted(minutes: int) -> EarlierBreach:
        return EarlierBreach(Rule.SIZES_CHANGED, GuardAction.NOTE, None, EIGHT + minutes * MINUTE)

    assert [breach.action for breach in sweep(facts)] == [GuardAction.NOTE]
    assert sweep(replace(facts, earlier=(noted(-5),))) == ()
    assert [each.action for each in sweep(replace(facts, earlier=(noted(-10),)))] == [
        GuardAction.RESTORE_SIZES
    ]


def test_a_maximum_below_the_lab_s_is_put_back_too() -> None:
    facts = pool()
    lowered = seen(facts, maximum=1)

    [breach] = sweep(lowered)

    changed = reason("guard.sizes.maximum", pool="gpu", maximum=1, most=2)
    assert breach.reason == Sentences((changed, reason("guard.sizes.deploy")))


def test_a_maximum_that_somebody_removed_is_put_back_too() -> None:
    [breach] = sweep(seen(pool(), maximum=ANY_NUMBER))

    assert in_english(breach.reason).startswith(
        "somebody changed the sizes of pool gpu: maximum no limit instead of 2"
    )


def test_a_pool_that_no_close_brings_to_zero_is_leaked_after_three_quarters_of_an_hour() -> None:
    facts = pool(running=["i-1"])

    def actions(minutes: int) -> set[GuardAction]:
        return {breach.action for breach in sweep(replace(facts, over_since=EIGHT - minutes * MINUTE))}

    assert GuardAction.MARK_LEAKED not in actions(44)
    assert GuardAction.MARK_LEAKED in actions(45)


def test_what_a_leaked_group_of_size_zero_keeps_is_ended_in_ec2() -> None:
    """Scale-in protection, a suspended process, a hook that hangs: the order alone does not reach it."""
    kept = replace(
        pool(running=["i-1"], desired=0),
        incident=Incident(EIGHT - 20 * MINUTE, closed_at=EIGHT, tries=2, pages=2),
    )

    ended = [breach for breach in sweep(kept) if breach.action is GuardAction.TERMINATE]

    assert [breach.instances for breach in ended] == [("i-1",)]


def test_nothing_is_ended_by_force_while_the_group_still_wants_it() -> None:
    """It would only be started again."""
    wanted = replace(pool(running=["i-1"]), incident=Incident(EIGHT - HOUR, closed_at=EIGHT, tries=2))

    assert GuardAction.TERMINATE not in {breach.action for breach in sweep(wanted)}


def test_an_instance_of_a_running_lease_is_never_ended_by_force() -> None:
    leased = replace(
        pool(lease(nodes=1), strays=[instance("i-9", group=None)], desired=0), incident=Incident(EIGHT - HOUR)
    )

    assert GuardAction.TERMINATE not in {breach.action for breach in sweep(leased)}


def test_what_goes_on_and_on_pages_more_and_more_rarely() -> None:
    said: list[EarlierBreach] = []
    paged = []
    for minutes in range(0, 3 * 24 * 60, 30):
        now = EIGHT + minutes * MINUTE
        again = pages_again([each for each in said if now - each.at < timedelta(hours=26)], now)
        said.append(EarlierBreach(Rule.CLOSING_ABANDONED, GuardAction.CLOSE, "evening", now, paged=again))
        if again:
            paged.append(minutes / 60)

    assert paged == [0, 0.5, 1, 4, 28, 52]


def test_what_comes_back_after_a_rest_pages_at_once() -> None:
    before = [EarlierBreach(Rule.NODE_WITHOUT_LEASE, GuardAction.CLOSE, None, EIGHT - 5 * HOUR, paged=True)]

    assert pages_again(before, EIGHT)
