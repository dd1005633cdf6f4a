"""Experiments as values: who may run one and when, what restores it, and its texts before and after."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.commands.command import Command, Verb
from lamplighter.domain.diagnosis.causes import CAUSES
from lamplighter.domain.experiments import policy
from lamplighter.domain.experiments.admission import PROOF, ExperimentFacts, decide
from lamplighter.domain.experiments.catalogue import CATALOGUE, NCCL_BLOCKED, Touches, find
from lamplighter.domain.experiments.observation import proof, seen
from lamplighter.domain.experiments.plan import ExperimentPlan
from lamplighter.domain.experiments.rails import AFTER_END, AUTHORIZE, names, rails
from lamplighter.domain.experiments.report import as_json, conclusion, markdown
from lamplighter.domain.experiments.rules import TrafficRule as Opening
from lamplighter.domain.experiments.rules import ephemeral, missing, vpc_wide
from lamplighter.domain.experiments.run import MARGIN, ExperimentPhase, ExperimentRun
from lamplighter.domain.guard.breach import GuardAction, Rule
from lamplighter.domain.guard.experiments import PATIENCE
from lamplighter.domain.guard.guard import sweep
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.schedules.drift import kept
from lamplighter.errors import BadInput
from lamplighter.lab.pools import Taint
from lamplighter.reasons.fields import from_odd_document, to_document
from tests.builders.guard_facts import pool as pool_facts

NOW = datetime(2026, 11, 20, 20, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
WORKFLOW = "arn:aws:states:ap-northeast-2:1:stateMachine:gpu-lab-experiment"
NODE = Opening("sg-node", "tcp", 1025, 65535, source="sg-node", description="among nodes")
VPC = Opening("sg-aux", "-1", -1, -1, cidr="192.168.0.0/16", description="the VPC")


def lease(owner: str = "alice", minutes: int = 60, name: str = "cli-1", pool: str = "gpu") -> Lease:
    return Lease(
        id=name,
        pool=pool,
        nodes=2,
        owner=owner,
        source="cli",
        state=LeaseState.OPEN,
        opens=NOW - 10 * MINUTE,
        closes=NOW + minutes * MINUTE,
        hold=Money.zero("USD"),
        by=owner,
    )


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
        id="cli-experiment-1",
        verb=Verb.EXPERIMENT,
        pool="gpu",
        owner=by,
        by=by,
        source="cli",
        issued=NOW,
        expires=NOW + 15 * MINUTE,
        experiment=experiment,
    )
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
    assert "known experiments: nccl-blocked" in str(decide(order("nccl"), ground(lease()), NOW).reason)


@pytest.mark.parametrize(
    ("command", "here", "because"),
    [
        (order(), ground(), "runs only inside a lease, and any lease of pool gpu is not in force"),
        (
            order(by="bob"),
            ground(lease()),
            "only its owner or an operator of the lab may run experiments in it",
        ),
        (order(), ground(lease(minutes=21)), "lamplighter extend gpu 1m"),
        (
            order(),
            ground(replace(lease(), nodes=1)),
            "needs 2 nodes, and alice's lease has 1: lamplighter open gpu 1 --add",
        ),
        (order(), ground(replace(lease(), missing=1)), "needs 2 nodes"),
        (order(), ground(replace(lease(), state=LeaseState.OPENING)), "not proven yet"),
        (
            order(),
            ground(lease(), ours=False),
            "These experiments change nothing and may run: driver-image-too-new",
        ),
        (order("device-plugin-off"), ground(lease(), stack="built-in"), "come from the built-in stack"),
        (order("taint-mismatch"), ground(lease(), taints=()), "have no taint"),
        (order(), ground(lease(), lease("bob", name="cli-2", pool="big")), "and bob's lease too"),
        (order(pool="gpus"), ground(lease()), "no pool gpus, it has gpu and big"),
        (order(expires=NOW), ground(lease()), "was good until"),
        (order(), ground(lease(), lease(name="cli-2")), "--lease cli-1, --lease cli-2"),
    ],
)
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
    assert "one experiment at a time" in str(decide(order(), ground(lease(), runs=[run]), NOW).reason)
    undone = run.moved_to(ExperimentPhase.RESTORED, restored=NOW)
    assert "its checks still run" in str(decide(order(), ground(lease(), runs=[undone]), NOW + MINUTE).reason)
    assert decide(order(), ground(lease(minutes=90), runs=[undone]), NOW + PROOF).outcome == "granted"
    proven = run.moved_to(ExperimentPhase.PROVEN, restored=NOW)
    assert decide(order(), ground(lease(), runs=[proven]), NOW).outcome == "granted"


def test_the_rails_fire_after_its_length_and_ahead_of_the_leases_end() -> None:
    run = running()
    made = rails(run, WORKFLOW, lease().closes)

    assert {rail.name for rail in made} == set(names(run))
    assert {rail.at for rail in made} == {run.ends + AFTER_END, lease().closes - MARGIN}
    assert all(len(rail.name) <= 64 for rail in made)
    assert all(kept(rail.name) for rail in made)
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
    others = [
        replace(NODE, from_port=53, to_port=53),
        replace(NODE, source="sg-api"),
        replace(VPC, cidr="10.0.0.0/8"),
        replace(VPC, group="sg-node"),
    ]
    assert ephemeral(others, "sg-node") is None
    assert vpc_wide(others, "sg-aux", "192.168.0.0/16") is None
    assert ephemeral([*others, NODE], "sg-node") == NODE
    assert vpc_wide([*others, VPC], "sg-aux", "192.168.0.0/16") == VPC


def test_a_rule_is_there_again_whatever_is_written_beside_it() -> None:
    assert missing([NODE, VPC], [replace(NODE, description="by hand")]) == (VPC,)


def test_the_toleration_of_taint_mismatch_fits_no_taint_of_the_pool() -> None:
    taint = Taint(key="nvidia.com/gpu", value="true", effect="NoSchedule")
    changed = policy.changes("taint-mismatch", [taint])
    assert changed == {
        "daemonsets": {
            "tolerations": [
                {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}
            ]
        }
    }
    present = replace_value(policy.changes("taint-mismatch", [taint.model_copy(update={"value": "present"})]))
    assert present == "true"


def replace_value(changed: object) -> str:
    [toleration] = changed["daemonsets"]["tolerations"]  # type: ignore[index]
    return str(toleration["value"])


def test_a_run_is_kept_and_read_again_whole() -> None:
    run = running(
        phase=ExperimentPhase.OBSERVED, changed=NOW, seen={"cause": "nccl-path-blocked", "as_expected": True}
    )
    assert from_odd_document(ExperimentRun, json.loads(json.dumps(to_document(run)))) == run


def test_the_report_says_all_that_is_to_be_handed_in() -> None:
    finding = {"cause": "nccl-path-blocked", "evidence": ["no rule lets them through"]}
    row = {"check": "all_reduce", "node": "a", "verdict": "failed", "reason": "the ranks never met"}
    run = running(
        phase=ExperimentPhase.PROVEN,
        changed=NOW + MINUTE,
        change=("taken: a rule",),
        seen=seen(NCCL_BLOCKED, [row], {"findings": [finding]}, NOW + 4 * MINUTE),
        restored=NOW + 5 * MINUTE,
        restored_by="alice",
        proof=proof([{**row, "verdict": "passed"}], NOW + 8 * MINUTE),
    )

    text = markdown(run, lambda at: f"at {at:%H:%M}")

    for part in ("Hypothesis", "Change", "Expected", "Seen", "Evidence", "Restored"):
        assert f"## {part}\n" in text
    assert "As expected: the diagnosis names nccl-path-blocked." in text
    assert "nccl-path-blocked: no rule lets them through" in text
    assert "Restored at 20:05 by alice, 240 seconds after the change." in text
    assert as_json(run)["as_expected"] is True


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "nothing was changed, so there was nothing to see; it is not restored yet"),
        (
            {"changed": NOW, "phase": ExperimentPhase.CHANGED},
            "it was restored before anything was seen; it is not restored yet",
        ),
        (
            {
                "changed": NOW,
                "phase": ExperimentPhase.PROVEN,
                "seen": seen(NCCL_BLOCKED, [], {}, NOW),
                "proof": proof([], NOW, "the lease was over"),
            },
            (
                "not as expected: the diagnosis names no cause where nccl-path-blocked was expected; "
                "everything is restored; verdict of the checks: not-proven (the lease was over)"
            ),
        ),
    ],
)
def test_the_report_never_says_more_than_was_seen(more: dict[str, object], said: str) -> None:
    assert str(conclusion(running(**more))) == said


def test_checks_that_were_not_all_made_prove_nothing() -> None:
    assert proof([{"verdict": "passed"}], NOW, "no time")["verdict"] == "not-proven"
    assert proof([], NOW)["verdict"] == "not-proven"
    assert proof([{"verdict": "passed"}, {"verdict": "failed"}], NOW, "no time")["verdict"] == "failed"


def test_a_person_reads_the_plan_and_who_else_feels_it() -> None:
    other = lease("bob", name="cli-2", pool="big")
    answer = decide(order(by="boss", for_lab=True), ground(lease(), other), NOW)
    text = "\n".join(ExperimentPlan(NCCL_BLOCKED, answer, [other]).lines(lambda at: f"{at:%H:%M}"))
    assert "felt by     bob's lease on pool big" in text
    assert "restored by 20:12, inside lease cli-1" in text
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
