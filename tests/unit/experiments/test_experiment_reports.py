"""The whole report of an experiment, and the state before it."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from lamplighter.data.texts import Texts
from lamplighter.domain.experiments.catalogue import NCCL_BLOCKED
from lamplighter.domain.experiments.report import LONGEST_EVIDENCE, as_json, conclusion, markdown
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun
from lamplighter.reasons.fields import from_odd_document, to_document
from tests.unit.experiments.test_experiments import MINUTE, NODE, NOW, VPC, running

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
def test_a_conclusion_says_what_was_seen_and_whether_it_is_undone(
    more: dict[str, Any], seen: str, undone: str
) -> None:
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
        **to_document(running()),
        "before": 7,
        "affected": "cli-2",
        "change": None,
        "seen": "x",
        "proof": [],
    }

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
