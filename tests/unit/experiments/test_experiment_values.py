"""A run of an experiment, its schedules, its rules and its observation, as values."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.experiments.catalogue import NCCL_BLOCKED
from lamplighter.domain.experiments.observation import Observation, causes, proof, rows, seen
from lamplighter.domain.experiments.rails import AFTER_END, rails, restore
from lamplighter.domain.experiments.rules import TrafficRule, ephemeral, vpc_wide
from lamplighter.domain.experiments.run import ExperimentPhase
from lamplighter.domain.schedules.schedule import START_EXECUTION
from lamplighter.reasons.fields import from_document, to_document
from tests.builders.leases import EIGHT as NOW
from tests.builders.leases import MINUTE
from tests.unit.experiments.test_experiments import NODE, VPC, WORKFLOW, lease, running

SECOND = timedelta(seconds=1)


def test_a_run_is_due_at_its_end_or_ten_minutes_ahead_of_its_leases_end_as_that_is_now() -> None:
    run = replace(running(), ends=NOW + 12 * MINUTE, closes=NOW + 60 * MINUTE)
    soon = lease(minutes=21)

    assert (run.due(lease()), run.due(None), run.due(soon)) == (
        NOW + 12 * MINUTE, NOW + 12 * MINUTE, NOW + 11 * MINUTE
    )  # fmt: skip
    assert replace(run, closes=NOW + 20 * MINUTE).due(None) == NOW + 10 * MINUTE
    assert run.overdue(lease(), NOW + 12 * MINUTE - SECOND) is None
    assert str(run.overdue(lease(), NOW + 12 * MINUTE)) == "it had to be restored by 20:12 UTC on 2026-11-20"
    assert (
        str(run.overdue(soon, NOW + 21 * MINUTE)) == str(run.overdue(None, NOW)) == "the lease cli-1 is over"
    )
    assert run.moved_to(ExperimentPhase.RESTORED).overdue(None, NOW) is None


@pytest.mark.parametrize("phase", ExperimentPhase)
def test_a_run_is_undone_once_it_is_restored(phase: ExperimentPhase) -> None:
    assert running(phase=phase).undone is (phase in {ExperimentPhase.RESTORED, ExperimentPhase.PROVEN})


def test_each_rail_is_this_schedule() -> None:
    run = running()
    rail = {each.name: each for each in rails(run, WORKFLOW, run.closes)}

    assert list(rail) == [
        f"experiment-{run.id}-{part}-{moment}"
        for moment in ("end", "last")
        for part in ("rules0", "rules1", "workflow")
    ]
    end = rail[f"experiment-{run.id}-workflow-end"]
    assert (end.at, end.target, end.retried) == (run.ends + AFTER_END, START_EXECUTION, 5 * MINUTE)
    assert rail[f"experiment-{run.id}-rules0-last"].at == run.closes - 10 * MINUTE


@pytest.mark.parametrize(
    ("called", "by"),
    [("end", "the experiment's schedule"), ("last", "the experiment's schedule"), ("again", "guard")],
)
def test_a_restore_says_who_starts_it_and_is_good_for_a_day(called: str, by: str) -> None:
    start = restore(running(), WORKFLOW, called, NOW, "because")

    assert (start.command.by, start.command.expires, start.command.because) == (
        by,
        NOW + timedelta(days=1),
        "because",
    )
    assert start.name == f"restore-{running().id}-{called}"


def test_a_rule_is_written_in_ec2s_words_and_in_ours() -> None:
    bare = replace(VPC, description="")

    assert NODE.permission() == {
        "IpProtocol": "tcp",
        "FromPort": 1025,
        "ToPort": 65535,
        "UserIdGroupPairs": [{"GroupId": "sg-node", "Description": "among nodes"}],
    }
    assert VPC.permission() == {
        "IpProtocol": "-1",
        "IpRanges": [{"CidrIp": "192.168.0.0/16", "Description": "the VPC"}],
    }
    assert bare.permission() == {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "192.168.0.0/16"}]}
    for rule in (NODE, VPC, bare):
        assert from_document(TrafficRule, to_document(rule)) == rule
    assert [str(rule) for rule in (NODE, VPC, replace(NODE, source="sg-api"))] == [
        "sg-node allows 1025-65535/tcp from itself",
        "sg-aux allows everything from 192.168.0.0/16",
        "sg-node allows 1025-65535/tcp from sg-api",
    ]


@pytest.mark.parametrize(
    "other",
    [{"group": "sg-x"}, {"source": "sg-x"}, {"protocol": "udp"}, {"from_port": 1024}, {"to_port": 65534}],
)
def test_the_high_ports_of_the_nodes_are_exactly_these(other: dict[str, Any]) -> None:
    assert ephemeral([replace(NODE, **other)], "sg-node") is None


def test_what_lets_in_the_vpc_lets_in_everything() -> None:
    assert vpc_wide([replace(VPC, protocol="tcp")], "sg-aux", "192.168.0.0/16") is None


def test_what_was_seen_is_kept_with_the_cause_that_was_expected_or_the_first() -> None:
    found = {"findings": [{"cause": "other"}, {"cause": NCCL_BLOCKED.cause}, "no row"]}
    row = {"check": "smi", "verdict": "passed"}

    assert seen(NCCL_BLOCKED, [row], found, NOW) == {
        "at": "2026-11-20T20:00:00Z",
        "as_expected": True,
        "cause": NCCL_BLOCKED.cause,
        "findings": [{"cause": "other"}, {"cause": NCCL_BLOCKED.cause}],
        "verdicts": [row],
    }
    other = seen(NCCL_BLOCKED, [], {"findings": [{"cause": "other"}]}, NOW)
    assert (other["as_expected"], other["cause"]) == (False, "other")
    assert seen(NCCL_BLOCKED, [], {}, NOW)["cause"] is None
    assert (causes({"findings": "xid"}), rows(7), Observation([]).waiting) == ([], [], ())


@pytest.mark.parametrize(
    ("verdicts", "why_not", "verdict"),
    [
        (["passed", "passed"], None, "passed"),
        (["passed"], "no time", "not-proven"),
        (["passed", "not-proven"], None, "not-proven"),
        ([], None, "not-proven"),
        (["failed", "not-proven"], "no time", "failed"),
    ],
)
def test_a_proof_is_its_worst_check(verdicts: list[str], why_not: str | None, verdict: str) -> None:
    made = [{"verdict": each} for each in verdicts]

    assert proof(made, NOW, why_not) == {
        "at": "2026-11-20T20:00:00Z",
        "verdict": verdict,
        "reason": why_not,
        "verdicts": made,
    }
