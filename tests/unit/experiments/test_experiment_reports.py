"""The whole plan of an experiment, its whole report, and the state before it."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from lamplighter.data.texts import Texts, catalogue, languages
from lamplighter.domain.experiments.admission import decide
from lamplighter.domain.experiments.catalogue import CATALOGUE, NCCL_BLOCKED, Experiment
from lamplighter.domain.experiments.plan import ExperimentPlan
from lamplighter.domain.experiments.report import LONGEST_EVIDENCE, as_json, conclusion, markdown
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun
from lamplighter.reasons.fields import from_odd_document, to_document
from tests.builders.leases import EIGHT as NOW
from tests.builders.leases import MINUTE
from tests.unit.experiments.test_experiments import NODE, VPC, ground, lease, order, running

CAUSE = NCCL_BLOCKED.cause
ROW = {"check": "all_reduce", "node": "a", "verdict": "failed", "reason": "the ranks never met"}
SEEN = {"as_expected": True, "cause": CAUSE, "verdicts": [ROW], "findings": []}
WHOLE = running(
    because="the course",
    phase=ExperimentPhase.PROVEN,
    changed=NOW + MINUTE,
    change=("taken: a rule",),
    seen=SEEN,
    restored=NOW + 5 * MINUTE,
    restored_by="alice",
    proof={"verdict": "passed", "verdicts": [{**ROW, "verdict": "passed", "reason": "fast"}]},
)


def clock(at: datetime) -> str:
    return f"at {at:%H:%M}"


def part(text: str, title: str) -> list[str]:
    """The lines of one part of a report."""
    return text.split(f"## {title}\n\n")[1].split("\n\n## ", maxsplit=1)[0].splitlines()


def test_a_whole_report_is_this() -> None:
    text = markdown(WHOLE, clock)

    assert text.splitlines()[:4] == [
        "# Experiment nccl-blocked",
        "",
        f"Run `{WHOLE.id}` by alice on pool gpu, inside lease `cli-1`, begun at 20:00.",
        "Reason: the course.",
    ]
    assert text.endswith("fast\n")
    assert part(text, "Hypothesis") == [str(NCCL_BLOCKED.hypothesis)]
    assert part(text, "Change") == [
        "- taken: a rule",
        "",
        f"Changed at 20:01. Before it: {NODE.said()}; {VPC.said()}.",
    ]
    assert part(text, "Expected") == [str(NCCL_BLOCKED.symptom), "", f"Cause by the diagnosis: `{CAUSE}`."]
    assert part(text, "Seen") == [f"As expected: the diagnosis names {CAUSE}."]
    assert part(text, "Evidence") == ["- all_reduce on a: failed, the ranks never met"]
    assert part(text, "Restored") == [
        "Everything is restored, and the same checks pass again.",
        "Restored at 20:05 by alice, 240 seconds after the change.",
        "- all_reduce on a: passed, fast",
    ]


def test_what_a_node_says_begins_no_line_of_the_report() -> None:
    forged = {**ROW, "reason": "the ranks never met\n\n## Restored\n\nEverything is restored."}
    text = markdown(replace(WHOLE, seen={**SEEN, "verdicts": [forged]}), clock)
    assert [line for line in text.splitlines() if line.startswith("## Restored")] == ["## Restored"]


def test_a_run_that_changed_nothing_yet_reports_no_more_than_that() -> None:
    text = markdown(running(), clock)
    assert "Asked for" not in text
    assert part(text, "Change") == [f"- {change}" for change in NCCL_BLOCKED.changes]
    assert part(text, "Evidence") == ["Nothing was recorded."]
    assert part(text, "Restored") == ["It is not restored yet."]
    assert part(markdown(replace(WHOLE, changed=None), clock), "Restored")[1] == "Restored at 20:05 by alice."


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ({}, "nothing was changed"),
        ({"policy": "x"}, "nothing was changed"),
        ({"policy": {"fields": 7}}, "nothing was changed"),
        ({"policy": {"fields": {"devicePlugin": {"enabled": True}}}},
         "devicePlugin.enabled of the ClusterPolicy was true"),
        ({"policy": {"fields": {"a": None, "b": [{"key": "k", "value": "v"}, "x"], "c": 3}}},
         ("a of the ClusterPolicy was not set; b of the ClusterPolicy was key=k value=v; x; "
          "c of the ClusterPolicy was 3")),
        ({"rules": [to_document(NODE), "odd"], "policy": {"fields": {"a": 1}}}, str(NODE)),
        ({"rules": "odd"}, "nothing was changed"),
    ],
)  # fmt: skip
def test_what_was_there_before_is_told(before: dict[str, Any], said: str) -> None:
    text = markdown(replace(WHOLE, before=before), clock)
    assert part(text, "Change")[-1] == f"Changed at 20:01. Before it: {said}."


@pytest.mark.parametrize(
    ("more", "seen", "undone"),
    [
        ({}, f"as expected: the diagnosis names {CAUSE}",
         "everything is restored, and the same checks pass again"),
        ({"seen": {"cause": "other"}}, f"not as expected: the diagnosis names other where {CAUSE} was expected",
         "everything is restored, and the same checks pass again"),
        ({"seen": {"cause": CAUSE, "as_expected": "yes"}},
         f"not as expected: the diagnosis names {CAUSE} where {CAUSE} was expected",
         "everything is restored, and the same checks pass again"),
        ({"phase": ExperimentPhase.RESTORED}, f"as expected: the diagnosis names {CAUSE}",
         "everything is restored; the checks have not confirmed it yet"),
        ({"changed": None, "proof": {}}, "nothing was changed, so there was nothing to see",
         "everything is restored"),
        ({"proof": {"verdict": "failed"}}, f"as expected: the diagnosis names {CAUSE}",
         "everything is restored; verdict of the checks: failed"),
        ({"proof": {"reason": "no time"}}, f"as expected: the diagnosis names {CAUSE}",
         "everything is restored; verdict of the checks: not-proven (no time)"),
    ],
)  # fmt: skip
def test_a_conclusion_says_what_was_seen_and_undone(more: dict[str, Any], seen: str, undone: str) -> None:
    assert str(conclusion(replace(WHOLE, **more))) == f"{seen}; {undone}"


def evidence(*findings: object) -> object:
    return as_json(replace(WHOLE, seen={**SEEN, "verdicts": "odd", "findings": findings}))["evidence"]


def test_evidence_is_what_was_seen_or_its_summary_up_to_twenty_lines() -> None:
    assert evidence({"cause": "xid", "evidence": ["one", 2]}, "odd") == ["xid: one", "xid: 2"]
    assert evidence({"cause": "xid", "evidence": [], "summary": "a GPU fell off"}) == ["xid: a GPU fell off"]
    assert evidence({"cause": "xid", "evidence": 7, "summary": "a GPU fell off"}) == ["xid: a GPU fell off"]
    assert evidence({"cause": "xid", "evidence": [*range(21)]}) == [f"xid: {each}" for each in range(20)]
    assert LONGEST_EVIDENCE == 20


def test_what_programs_read_of_a_report_is_this() -> None:
    found = as_json(replace(WHOLE, affected=("cli-2",)))

    assert {key: found[key] for key in ("change", "affected", "changed", "restored", "as_expected")} == {
        "change": ["taken: a rule"],
        "affected": ["cli-2"],
        "changed": "2026-11-20T20:01:00Z",
        "restored": {
            "at": "2026-11-20T20:05:00Z", "by": "alice", "undone": True, "proof": WHOLE.proof
        },
        "as_expected": True,
    }  # fmt: skip
    bare = as_json(running())
    assert (bare["change"], bare["changed"], bare["as_expected"], bare["because"]) == (
        [*map(str, NCCL_BLOCKED.changes)], None, False, None
    )  # fmt: skip


def test_a_run_is_read_as_far_as_it_was_kept() -> None:
    odd = {
        **to_document(running()), "before": 7, "affected": "cli-2", "change": None, "seen": "x",
        "proof": [],
    }  # fmt: skip
    assert from_odd_document(ExperimentRun, odd) == replace(running(), before={})
    assert from_odd_document(ExperimentRun, to_document(WHOLE)) == WHOLE


def test_a_run_that_an_older_release_kept_is_shown_as_it_was_written() -> None:
    kept = to_document(WHOLE) | {
        "change": ["taken: a rule"],
        "proof": {"verdict": "not-proven", "reason": "the lease was over before the checks were"},
    }

    found = from_odd_document(ExperimentRun, kept)

    assert found.change == ("taken: a rule",)
    assert str(conclusion(found)).endswith("not-proven (the lease was over before the checks were)")


def test_a_report_is_whole_in_korean() -> None:
    text = markdown(WHOLE, clock, Texts("ko"))
    assert "## 가설" in text
    assert part(text, "복구")[0] == "모두 원래대로이며, 같은 검사를 다시 통과했습니다."


@pytest.mark.parametrize(
    ("name", "minutes", "nodes"),
    [("nccl-blocked", 12, 2), ("device-plugin-off", 5, 1), ("taint-mismatch", 6, 1), ("driver-image-too-new", 5, 1)],
)  # fmt: skip
def test_each_experiment_takes_so_long_and_so_many_nodes(name: str, minutes: int, nodes: int) -> None:
    experiment = CATALOGUE[name]
    assert (experiment.lasts, experiment.needs_nodes) == (timedelta(minutes=minutes), nodes)
    assert experiment.changes_cluster is (name != "driver-image-too-new")


def test_a_plan_is_read_line_for_line() -> None:
    others = [lease("bob", name="cli-2", pool="big"), lease("eve", name="cli-3", pool="big")]
    plan = ExperimentPlan(NCCL_BLOCKED, decide(order(), ground(lease()), NOW), others)

    assert plan.lines(clock) == [
        "nccl-blocked",
        f"  hypothesis  {NCCL_BLOCKED.hypothesis}",
        f"  changes     {NCCL_BLOCKED.changes[0]}",
        f"              {NCCL_BLOCKED.changes[1]}",
        f"  expected    {NCCL_BLOCKED.symptom}",
        f"              Cause: {CAUSE}.",
        f"  breaks      {NCCL_BLOCKED.breaks[0]}",
        *(f"              {each}" for each in NCCL_BLOCKED.breaks[1:]),
        "  felt by     bob's lease on pool big and eve's lease on pool big",
        "  lasts       at most 12m, restored 10m before the lease ends",
        "  restored by at 20:12, inside lease cli-1",
    ]
    said = plan.to_json()
    assert (said["possible"], said["seconds"], said["nodes"], said["affected"]) == (
        True, 720, 2, ["cli-2", "cli-3"]
    )  # fmt: skip
    assert (said["lease"], said["undone_by"]) == ("cli-1", "2026-11-20T20:12:00Z")


def test_a_plan_that_is_refused_says_why_by_the_readers_clock() -> None:
    plan = ExperimentPlan(NCCL_BLOCKED, decide(order(), ground(lease(minutes=21)), NOW))
    assert plan.lines(clock)[-1].endswith("ends at at 20:21: lamplighter extend gpu 1m")
    assert not [line for line in plan.lines(clock) if "felt by" in line or "restored by" in line]
    assert (plan.to_json()["lease"], plan.to_json()["undone_by"]) == (None, None)


@pytest.mark.parametrize("generation", [0, 5])
def test_an_experiment_is_for_the_pool_as_it_is(generation: int) -> None:
    assert decide(order(generation=generation), ground(lease()), NOW).outcome == "granted"


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("experiment", CATALOGUE.values(), ids=CATALOGUE)
def test_every_text_of_an_experiment_is_in_the_catalogue(experiment: Experiment, language: str) -> None:
    for text in (experiment.hypothesis, *experiment.changes, experiment.symptom, *experiment.breaks):
        assert text.code in catalogue(language)
