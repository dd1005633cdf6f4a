"""What the guard keeps in order: failsafe, curfew, protection from autoscalers, experiments."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.capacity.calls import timed
from lamplighter.domain.capacity.claim import LabClaim
from lamplighter.domain.capacity.node_group.off_switch import calls
from lamplighter.domain.experiments.catalogue import NCCL_BLOCKED
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun
from lamplighter.domain.guard.breach import Breach, GuardAction, Rule
from lamplighter.domain.guard.cluster import claims, unprotected
from lamplighter.domain.guard.curfew import curfew
from lamplighter.domain.guard.experiments import experiments
from lamplighter.domain.guard.facts import PoolFacts
from lamplighter.domain.guard.failsafe import failsafe
from lamplighter.domain.guard.guard import judge
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.schedules.failsafe import failsafe_schedules, may_still_run, schedule_under_way
from lamplighter.domain.schedules.schedule import Schedule
from lamplighter.reasons.reason import Reason, Value, reason
from tests.builders.guard_facts import instance, lease, pool, seen
from tests.builders.leases import EIGHT, MINUTE, SECOND

DUE: dict[str, Value] = {"pool": "gpu", "name": "failsafe-gpu-10", "due": EIGHT + 130 * MINUTE}


def shots(first: datetime = EIGHT + 60 * MINUTE) -> tuple[Schedule, ...]:
    return failsafe_schedules("gpu", timed(first, calls("lab", "gpu", "eks-gpu")))


LEFT = Breach(Rule.FAILSAFE_LEFT, reason("guard.failsafe.left", pool="gpu"), GuardAction.DISARM)


def test_a_failsafe_is_left_behind_on_an_empty_pool_alone() -> None:
    facts = replace(pool(), failsafe_found=shots())

    assert judge(failsafe, facts) == (LEFT,)
    assert judge(failsafe, replace(facts, failsafe_found=())) == ()
    assert judge(failsafe, replace(facts, failsafe_found=None)) == ()
    assert judge(failsafe, replace(facts, kubernetes_nodes=None)) == ()


@pytest.mark.parametrize(
    ("state", "left"),
    [
        (LeaseState.ADMITTED, False),
        (LeaseState.CLOSING, False),
        (LeaseState.PLANNED, True),
        (LeaseState.CLOSED, True),
        (LeaseState.REFUSED, True),
    ],
)
def test_a_failsafe_stays_until_every_lease_is_finished(state: LeaseState, left: bool) -> None:
    facts = replace(pool(lease(opens=30, state=state)), failsafe_wanted=(), failsafe_found=shots())
    assert judge(failsafe, facts) == ((LEFT,) if left else ())


def test_a_failsafe_whose_shot_is_about_to_fire_is_not_taken_away() -> None:
    facts = replace(pool(), failsafe_found=shots(EIGHT))
    assert judge(failsafe, replace(facts, now=EIGHT - 90 * SECOND)) == ()
    assert judge(failsafe, replace(facts, now=EIGHT - 91 * SECOND)) == (LEFT,)


def test_the_first_shot_that_is_wrong_is_named_and_one_that_fires_within_ninety_seconds_is_left() -> None:
    facts = replace(pool(lease(), running=["i-1", "i-2"]), failsafe_wanted=shots(EIGHT), failsafe_found=())
    first, second = (
        Breach(
            Rule.FAILSAFE_WRONG,
            reason("guard.failsafe.missing", pool="gpu", name=f"failsafe-gpu-{name}", due=due),
            GuardAction.REARM,
        )
        for name, due in (("10", EIGHT), ("20", EIGHT + 10 * MINUTE))
    )

    assert judge(failsafe, replace(facts, now=EIGHT - 91 * SECOND)) == (first,)
    assert judge(failsafe, replace(facts, now=EIGHT - 90 * SECOND)) == (second,)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"name": "failsafe-gpu-15"}, reason("guard.failsafe.missing", **DUE)),
        ({"at": EIGHT + 200 * MINUTE}, reason("guard.failsafe.late", **DUE, at=EIGHT + 200 * MINUTE)),
        ({"at": EIGHT + 20 * MINUTE}, reason("guard.failsafe.early", **DUE, at=EIGHT + 20 * MINUTE)),
        ({"input": '{"ScalingConfig":{"DesiredSize":2}}'}, reason("guard.failsafe.changed", **DUE)),
    ],
)
def test_a_shot_that_is_missing_late_early_or_wrong_is_armed_again(change: Any, fault: Reason) -> None:
    facts = pool(lease(), running=["i-1", "i-2"])
    wrong = replace(facts.failsafe_wanted[0], **change)
    [breach] = judge(failsafe, replace(facts, failsafe_found=(wrong, *facts.failsafe_wanted[1:])))
    assert (breach.action, breach.reason) == (GuardAction.REARM, fault)


def test_a_lease_has_its_failsafe_before_its_first_node_and_a_stray_as_well() -> None:
    """No node is ordered until then."""
    facts = replace(pool(lease()), failsafe_found=())

    assert [each.action for each in judge(failsafe, facts)] == [GuardAction.REARM]
    facts = replace(facts, leases=())
    assert judge(failsafe, facts) == ()
    assert [each.action for each in judge(failsafe, seen(facts, instances=(instance("i-9"),)))] == [
        GuardAction.REARM
    ]


def test_the_four_shots_of_a_failsafe_are_these() -> None:
    eks, group = (
        "arn:aws:scheduler:::aws-sdk:eks:updateNodegroupConfig",
        ("arn:aws:scheduler:::aws-sdk:autoscaling:updateAutoScalingGroup"),
    )
    by_eks = (
        '{"ClusterName": "lab", "NodegroupName": "gpu", "ScalingConfig": {"MinSize": 0, "DesiredSize": 0}}'
    )
    by_group = '{"AutoScalingGroupName": "eks-gpu", "MinSize": 0, "DesiredCapacity": 0}'

    assert shots(EIGHT) == (
        Schedule("failsafe-gpu-10", EIGHT, eks, by_eks, 5 * MINUTE),
        Schedule("failsafe-gpu-20", EIGHT + 10 * MINUTE, eks, by_eks, 5 * MINUTE),
        Schedule("failsafe-gpu-30", EIGHT + 20 * MINUTE, group, by_group, 5 * MINUTE),
        Schedule("failsafe-gpu-40", EIGHT + 30 * MINUTE, eks, by_eks, 5 * MINUTE),
    )


@pytest.mark.parametrize(
    ("after", "runs"),
    [(-91 * SECOND, False), (-90 * SECOND, True), (6 * MINUTE - SECOND, True), (6 * MINUTE, False)],
)
def test_a_schedule_may_run_from_ninety_seconds_before_to_its_retry(after: timedelta, runs: bool) -> None:
    assert may_still_run(EIGHT, EIGHT + after) is runs
    assert schedule_under_way("gpu", EIGHT, EIGHT + after) == (("failsafe-gpu-10", EIGHT) if runs else None)


def test_the_schedule_of_a_failsafe_that_is_under_way_is_named() -> None:
    at = EIGHT + 20 * MINUTE
    assert schedule_under_way("gpu", EIGHT, at) == ("failsafe-gpu-30", at)
    assert schedule_under_way("gpu", None, at) is None


def curfew_wrong(how: str, action: GuardAction, *names: str) -> Breach:
    return Breach(Rule.CURFEW_WRONG, reason(f"guard.curfew.{how}", pool="gpu", names=names), action)


def test_a_curfew_that_is_gone_is_said_and_one_that_is_off_is_switched_on() -> None:
    facts = replace(pool(), curfew={"a": None, "b": False, "c": True, "d": None, "e": False})

    assert judge(curfew, facts) == (
        curfew_wrong("missing", GuardAction.SAY, "a", "d"),
        curfew_wrong("off", GuardAction.SWITCH_CURFEW, "b", "e"),
    )


def test_a_curfew_that_is_on_where_the_guard_only_watches_is_switched_off() -> None:
    facts = replace(pool(), enforcing=False, curfew={"b": False, "c": True})
    assert judge(curfew, facts) == (curfew_wrong("on", GuardAction.SWITCH_CURFEW, "c"),)
    assert judge(curfew, replace(facts, curfew={"b": False})) == ()


def test_a_claim_of_another_lab_and_nodes_without_protection_are_told_whole() -> None:
    facts = replace(pool(lease(), running=["i-1", "i-2"]), unprotected=("i-1.internal", "i-2.internal"))

    assert judge(claims, facts) == ()
    assert judge(claims, replace(facts, ours=False, other_claim=LabClaim("physics"))) == (
        Breach(Rule.SECOND_CLAIM, reason("guard.second-claim", lab="physics", pool="gpu"), GuardAction.SAY),
    )
    why = reason("guard.unprotected", pool="gpu", names=("i-1.internal", "i-2.internal"))
    assert judge(unprotected, facts) == (Breach(Rule.NODE_UNPROTECTED, why, GuardAction.PROTECT),)
    assert judge(unprotected, replace(facts, unprotected=())) == ()
    surplus = pool(lease(nodes=1), running=["i-1", "i-2"])
    assert judge(unprotected, replace(surplus, unprotected=("i-1.internal",))) == ()


def running(**more: object) -> PoolFacts:
    """An experiment that is to be undone by 20:30, under a lease until 22:00."""
    run = ExperimentRun(
        id="nccl-1",
        name=NCCL_BLOCKED.name,
        pool="gpu",
        lease="evening",
        by="alice",
        begun=EIGHT,
        ends=EIGHT + 30 * MINUTE,
        closes=EIGHT + 120 * MINUTE,
        phase=ExperimentPhase.CHANGED,
    )
    return replace(pool(lease("other"), lease()), experiment=run, **more)  # type: ignore[arg-type]


def overdue(why: Reason, since: datetime) -> tuple[Breach, ...]:
    return (
        Breach(
            Rule.EXPERIMENT_OVERDUE,
            reason("guard.experiment-overdue", name=NCCL_BLOCKED.name, pool="gpu", why=why),
            GuardAction.RESTORE,
            lease="evening",
            since=since,
        ),
    )


def test_an_experiment_is_restored_five_minutes_after_it_was_to_be_undone() -> None:
    due = EIGHT + 30 * MINUTE

    assert judge(experiments, running(now=due + 5 * MINUTE - SECOND)) == ()
    assert judge(experiments, running(now=due + 5 * MINUTE)) == overdue(
        reason("experiment.due", due=due), due
    )


def test_an_experiment_whose_lease_is_over_is_restored_at_once() -> None:
    ended = (lease(closes=35),)
    over = reason("experiment.lease-over", lease="evening")
    gone = overdue(over, EIGHT + 25 * MINUTE)

    assert judge(experiments, running(now=EIGHT + 35 * MINUTE, leases=ended)) == gone
    assert judge(experiments, running(now=EIGHT, leases=())) == overdue(over, EIGHT + 30 * MINUTE)


def test_an_experiment_of_another_pool_is_left_to_that_pools_sweep() -> None:
    assert judge(experiments, running(pool="big", now=datetime(2027, 1, 1, tzinfo=UTC))) == ()
