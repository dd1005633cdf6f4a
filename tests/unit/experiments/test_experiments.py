"""Experiments as values: who may run one and when, what restores it, and its texts before and after."""

import json
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.diagnosis.causes import CAUSES
from lamplighter.domain.experiments import policy
from lamplighter.domain.experiments.admission import PROOF, ExperimentFacts, decide
from lamplighter.domain.experiments.catalogue import CATALOGUE, NCCL_BLOCKED, Touches, find
from lamplighter.domain.experiments.observation import proof, seen
from lamplighter.domain.experiments.plan import ExperimentPlan
from lamplighter.domain.experiments.rails import AFTER_END, AUTHORIZE, names, rails
from lamplighter.domain.experiments.report import conclusion
from lamplighter.domain.experiments.rules import TrafficRule as Opening
from lamplighter.domain.experiments.rules import ephemeral, missing, vpc_wide
from lamplighter.domain.experiments.run import MARGIN, ExperimentPhase, ExperimentRun
from lamplighter.domain.guard.breach import GuardAction, Rule
from lamplighter.domain.guard.experiments import PATIENCE
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.schedules.drift import KEPT
from lamplighter.errors import BadInput
from lamplighter.lab.pools import Taint
from lamplighter.reasons.fields import to_document
from tests.builders.guard_facts import pool as pool_facts
from tests.builders.leases import EIGHT as NOW
from tests.builders.leases import MINUTE, persons

WORKFLOW = "arn:aws:states:ap-northeast-2:1:stateMachine:gpu-lab-experiment"
NODE = Opening("sg-node", "tcp", 1025, 65535, source="sg-node", description="among nodes")
VPC = Opening("sg-aux", "-1", -1, -1, cidr="192.168.0.0/16", description="the VPC")


def lease(owner: str = "alice", minutes: int = 60, name: str = "cli-1", pool: str = "gpu") -> Lease:
    return persons(name, -10, minutes, owner=owner, by=owner, pool=pool)


def ground(*leases: Lease, **more: object) -> ExperimentFacts:
    by_pool: dict[str, list[Lease]] = {"gpu": [], "big": []}
    for each in leases:
        by_pool[each.pool].append(each)
    made = ExperimentFacts(
        lab="gpu-lab", ours=True, stack="operator", taints=("nvidia.com/gpu=true:NoSchedule",), leases=by_pool
    )
    return replace(made, **more)  # type: ignore[arg-type]


def order(experiment: str = NCCL_BLOCKED.name, by: str = "alice", **more: object) -> Command:
    made = Command(
        id="cli-experiment-1", verb=Verb.EXPERIMENT, pool="gpu", owner=by, by=by, source="cli",
        issued=NOW, expires=NOW + 15 * MINUTE, experiment=experiment,
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


def running(**more: object) -> ExperimentRun:
    run = decide(order(), ground(lease()), NOW).run
    assert run is not None
    return replace(run, before={"rules": [to_document(NODE), to_document(VPC)]}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("experiment", CATALOGUE.values(), ids=CATALOGUE)
def test_each_says_beforehand_what_it_changes_what_to_expect_and_what_breaks(experiment: object) -> None:
    found = find(experiment.name)  # type: ignore[attr-defined]
    assert found.changes
    assert found.breaks
    assert found.symptom
    assert found.cause in CAUSES
    assert found.lasts > timedelta()


def test_an_experiment_that_there_is_not_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadInput, match="nccl-blocked, device-plugin-off"):
        find("nccl")


@pytest.mark.parametrize(
    ("command", "here", "because"),
    [
        (order(), ground(), "runs only inside a lease, and any lease of pool gpu is not in force"),
        (order(by="bob"), ground(lease()), "only its owner or an operator of the lab may run experiments in it"),
        (order(), ground(replace(lease(), nodes=1)),
         "needs 2 nodes, and alice's lease has 1: lamplighter open gpu 1 --add"),
        (order(), ground(replace(lease(), state=LeaseState.OPENING)), "not proven yet"),
        (order(), ground(lease(), ours=False), "These experiments change nothing and may run: driver-image-too-new"),
        (order("device-plugin-off"), ground(lease(), stack="built-in"), "come from the built-in stack"),
        (order("taint-mismatch"), ground(lease(), taints=()), "have no taint"),
        (order(pool="gpus"), ground(lease()), "no pool gpus, it has gpu and big"),
        (order(expires=NOW), ground(lease()), "was good until"),
        (order(), ground(lease(), lease(name="cli-2")), "--lease cli-1, --lease cli-2"),
    ],
)  # fmt: skip
def test_what_may_not_run_is_refused_with_what_would_be_right(
    command: Command, here: ExperimentFacts, because: str
) -> None:
    answer = decide(command, here, NOW)
    assert (answer.outcome, answer.run) == ("refused", None)
    assert because in str(answer.reason)


def test_the_owner_runs_it_and_who_runs_the_lab_also_where_others_feel_it() -> None:
    mine, others = lease(), lease("bob", name="cli-2", pool="big")
    assert decide(order(), ground(mine), NOW).outcome == "granted"
    granted = decide(order(by="boss", for_lab=True), ground(mine, others), NOW)
    assert granted.run is not None
    assert granted.run.affected == ("cli-2",)


def test_what_changes_nothing_affects_nobody_and_runs_on_a_cluster_that_is_not_ours() -> None:
    here = ground(lease(), lease("bob", name="cli-2", pool="big"), ours=False, stack="built-in")
    granted = decide(order("driver-image-too-new"), here, NOW)
    assert granted.run is not None
    assert granted.run.affected == ()


def test_a_cluster_has_one_experiment_at_a_time_until_it_is_proven_undone() -> None:
    run = running()
    undone = run.moved_to(ExperimentPhase.RESTORED, restored=NOW)

    assert "one experiment at a time" in str(decide(order(), ground(lease(), runs=[run]), NOW).reason)
    assert decide(order(), ground(lease(), runs=[undone]), NOW + MINUTE).outcome == "refused"
    assert decide(order(), ground(lease(minutes=90), runs=[undone]), NOW + PROOF).outcome == "granted"
    proven = run.moved_to(ExperimentPhase.PROVEN, restored=NOW)
    assert decide(order(), ground(lease(), runs=[proven]), NOW).outcome == "granted"


def test_the_rails_fire_after_its_length_and_ahead_of_the_leases_end() -> None:
    run = running()
    made = rails(run, WORKFLOW, lease().closes)

    assert {rail.name for rail in made} == set(names(run))
    assert {rail.at for rail in made} == {run.ends + AFTER_END, lease().closes - MARGIN}
    assert all(len(rail.name) <= 64 for rail in made)
    assert all(rail.name.startswith(KEPT) for rail in made)
    by_ec2 = [json.loads(rail.input) for rail in made if rail.target == AUTHORIZE]
    assert len(by_ec2) == 4
    assert {"GroupId": "sg-node", "IpPermissions": [NODE.permission()]} in by_ec2


def test_a_lease_that_ends_sooner_takes_all_rails_along() -> None:
    soon = NOW + 15 * MINUTE
    assert {rail.at for rail in rails(running(), WORKFLOW, soon)} == {soon - MARGIN}


def test_what_changes_nothing_needs_no_rails() -> None:
    run = decide(order("driver-image-too-new"), ground(lease()), NOW).run
    assert run is not None
    assert run.experiment.touches is Touches.NOTHING
    assert rails(run, WORKFLOW, lease().closes) == ()


def test_the_two_rules_are_the_documents_own_and_no_other() -> None:
    others = [replace(NODE, from_port=53, to_port=53), replace(NODE, source="sg-api")]
    others += [replace(VPC, cidr="10.0.0.0/8"), replace(VPC, group="sg-node")]
    assert ephemeral(others, "sg-node") is None
    assert vpc_wide(others, "sg-aux", "192.168.0.0/16") is None
    assert ephemeral([*others, NODE], "sg-node") == NODE
    assert vpc_wide([*others, VPC], "sg-aux", "192.168.0.0/16") == VPC
    # A rule is there again whatever is written beside it.
    assert missing([NODE, VPC], [replace(NODE, description="by hand")]) == (VPC,)


@pytest.mark.parametrize(("value", "tolerated"), [("true", "present"), ("present", "true")])
def test_the_toleration_of_taint_mismatch_fits_no_taint_of_the_pool(value: str, tolerated: str) -> None:
    taint = Taint(key="nvidia.com/gpu", value=value, effect="NoSchedule")
    toleration = {"key": "nvidia.com/gpu", "operator": "Equal", "value": tolerated, "effect": "NoSchedule"}
    assert policy.changes("taint-mismatch", [taint]) == {"daemonsets": {"tolerations": [toleration]}}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "nothing was changed, so there was nothing to see; it is not restored yet"),
        ({"changed": NOW, "phase": ExperimentPhase.CHANGED},
         "it was restored before anything was seen; it is not restored yet"),
        (
            {"changed": NOW, "phase": ExperimentPhase.PROVEN, "seen": seen(NCCL_BLOCKED, [], {}, NOW),
             "proof": proof([], NOW, "the lease was over")},
            ("not as expected: the diagnosis names no cause where nccl-path-blocked was expected; "
             "everything is restored; verdict of the checks: not-proven (the lease was over)"),
        ),
    ],
)  # fmt: skip
def test_the_report_never_says_more_than_was_seen(more: dict[str, object], said: str) -> None:
    assert str(conclusion(running(**more))) == said


def test_a_plan_that_is_refused_says_that_it_is_not_possible_now() -> None:
    refused = ExperimentPlan(NCCL_BLOCKED, decide(order(), ground(), NOW))
    assert refused.to_json()["possible"] is False
    assert "not now     an experiment runs only inside a lease" in "\n".join(refused.lines(str))


def test_the_guard_undoes_what_is_overdue_and_pages_after_two_rails_have_failed() -> None:
    run = running(phase=ExperimentPhase.CHANGED)
    facts = replace(pool_facts(lease(), running=["i-1", "i-2"]), now=NOW, experiment=run)

    def found(at: datetime, **more: object) -> list[GuardAction]:
        looked = replace(facts, now=at, **more)  # type: ignore[arg-type]
        return [each.action for each in sweep(looked) if each.rule is Rule.EXPERIMENT_OVERDUE]

    assert found(run.ends) == []
    assert found(run.ends + PATIENCE) == [GuardAction.RESTORE]
    assert found(run.ends + PATIENCE, enforcing=False) == [GuardAction.RESTORE]
    assert found(NOW, leases=()) == [GuardAction.RESTORE]
    assert found(run.ends + PATIENCE, experiment=run.moved_to(ExperimentPhase.RESTORED)) == []
