"""The exact words about findings, work at risk and failed checks."""

from dataclasses import replace
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger.items import audit_entry, audit_item
from lamplighter.data.texts import Texts
from lamplighter.domain.audit import findings as findings_told
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.audit.findings import FindingText, entries, findings, of_receipt, sentences, standing
from lamplighter.domain.checks.after_verdict import CheckDecision, JudgedNode, NextStep, decide
from lamplighter.domain.leases.at_stake import AtStake
from lamplighter.domain.views.told import FindingView
from lamplighter.lab.checks import OnFailure
from lamplighter.reasons.document import document, one_line
from lamplighter.reasons.fields import from_odd_document, to_document
from lamplighter.reasons.reason import Reason, Sentences, draw, reason
from lamplighter.values.clock_time import clock_time
from tests.builders.leases import EIGHT, MINUTE, lease
from tests.unit.notices.drawing import text_of


def row(number: int = 1, **more: Any) -> dict[str, Any]:
    made = {
        "cause": f"cause-{number}",
        "layer": "gpu",
        "summary": f"summary {number}",
        "evidence": ["seen", "heard"],
        "advice": f"do {number}!",
    }
    return {**made, **more}


# --- findings ------------------------------------------------------------------------------------


def test_a_finding_says_nothing_that_was_not_kept() -> None:
    assert from_odd_document(FindingText, row()) == FindingText(
        "cause-1", "gpu", "summary 1", ("seen", "heard"), "do 1!"
    )
    assert from_odd_document(FindingText, {"evidence": "seen"}) == FindingText("unknown", "", "", (), "")
    assert findings({"findings": [row(), 7]}) == [from_odd_document(FindingText, row())]
    assert findings({}) == findings({"findings": 7}) == []


def told(number: int, already: str | None = None) -> list[str]:
    found = {"findings": [row(each) for each in range(1, number + 1)]}
    return [text_of(sentence) for sentence in sentences(found, already)]


def test_three_findings_are_told_and_the_rest_is_counted() -> None:
    three = [f"The cause is cause-{number}: Summary {number}. Do {number}!" for number in (1, 2, 3)]
    assert told(3) == three
    assert told(4) == [*three, "`lamplighter why` tells 1 more."]
    assert told(5) == [*three, "`lamplighter why` tells 2 more."]
    assert told(3, "cause-2") == [three[0], "What to do: Do 2!", three[2]]


def test_each_finding_is_an_entry_with_its_evidence_as_it_was_when_it_was_made() -> None:
    made = {"at": "2026-11-20T20:05:00Z", "findings": [row()]}
    expected = Entry(
        at=EIGHT + 5 * MINUTE,
        pool="gpu",
        kind="finding",
        who="diagnosis",
        what=reason("notice.finding", cause="cause-1", summary="summary 1"),
        why=Sentences((Sentences(("seen", "heard")), "do 1!")),
        lease="evening-1",
        nodes=2,
        details={"cause": "cause-1", "layer": "gpu"},
    )

    assert entries(lease(), made, EIGHT) == [expected]
    assert entries(lease(), {"findings": [row()]}, EIGHT) == [replace(expected, at=EIGHT)]


SUMMARY = Reason("finding.summary", {"object": "ng-gpu", "cause": Reason("finding.no-capacity")})
ADVICE = Reason("finding.no-capacity.advice")
CODED = {
    "cause": "no-capacity",
    "layer": "aws",
    "summary": document(SUMMARY),
    "evidence": ["InsufficientInstanceCapacity"],
    "advice": document(ADVICE),
}


def test_a_finding_is_kept_as_codes_and_drawn_in_the_readers_language() -> None:
    [made] = entries(lease(), {"findings": [CODED]}, EIGHT)
    kept = FindingView.read(audit_entry("gpu", audit_item(made)))

    assert (kept.cause, kept.summary, kept.advice) == ("no-capacity", SUMMARY, ADVICE)
    assert kept.to_json()["summary"] == "ng-gpu: AWS has no capacity of this instance type in this zone now"
    [announced] = sentences({"findings": [CODED]})
    assert draw(announced, Texts("ko"), clock_time).startswith(
        "원인은 no-capacity입니다. ng-gpu: 지금 이 가용 영역에"
    )


def test_a_finding_that_an_older_release_kept_is_shown_as_its_sentence() -> None:
    sentence = "node a: the GPU reported a fatal hardware error"
    old = Entry(
        at=EIGHT,
        pool="gpu",
        kind="finding",
        who="diagnosis",
        what=f"xid: {sentence}",
        why="XID 79; Replace it.",
        lease="evening-1",
        details={"cause": "xid", "summary": sentence, "advice": "Replace it."},
    )
    kept = audit_entry("gpu", audit_item(old))

    assert kept == old
    assert FindingView.read(kept).to_json()["summary"] == sentence
    assert FindingView.read(kept).advice == "Replace it."
    assert FindingView.read(replace(kept, details={})).summary == old.what


def found(minutes: int, number: int = 1, one: str = "evening-1", **more: Any) -> Entry:
    [made] = entries(lease(one), {"findings": [row(number)]}, EIGHT + minutes * MINUTE)
    return replace(made, **more)


def test_what_stands_is_what_the_last_diagnosis_found_until_all_is_well() -> None:
    well = found(3, kind="announced", details={"notice": "open"})
    degraded = replace(well, details={"notice": "degraded"})
    other = replace(well, kind="scaled")
    first, second = (found(2, number) for number in (1, 2))

    assert standing([first, second], ["evening-1"]) == (first, second)
    assert standing([second, found(1), first], ["evening-1"]) == (second, first)
    assert standing([first, degraded, other], ["evening-1"]) == (first,)
    assert standing([first, well], ["evening-1"]) == ()
    assert standing([first, well, found(4)], ["evening-1"]) == (found(4),)
    assert standing([found(5, one="other"), first], ["evening-1"]) == (first,)
    assert standing([found(1, one="other"), first], ["evening-1"]) == (first,)
    assert standing([first, replace(well, lease="other")], ["evening-1"]) == (first,)


def test_a_receipt_keeps_each_cause_once_as_it_was_found_first() -> None:
    trail = [
        found(1), found(2), found(2, 2), found(3, one="other"), found(4, kind="scaled"),
        found(5, details={}),
    ]  # fmt: skip

    assert of_receipt(trail, "evening-1") == [
        {"at": "2026-11-20T20:01:00Z", "cause": "cause-1", "summary": "summary 1"},
        {"at": "2026-11-20T20:02:00Z", "cause": "cause-2", "summary": "summary 2"},
        {"at": "2026-11-20T20:05:00Z", "cause": "unknown", "summary": "summary 1"},
    ]
    assert findings_told.MOST_TOLD == 3


# --- work at stake -------------------------------------------------------------------------------

FIVE = tuple(f"lab/pod-{number}" for number in range(5))
AND_ONE = f"{', '.join(FIVE[:-1])} and {FIVE[-1]}"


@pytest.mark.parametrize(
    ("stake", "said"),
    [
        (AtStake(), ""),
        (AtStake((), FIVE, 1), ""),
        (AtStake(("n1",)), ""),
        (AtStake(("n1",), (), 1), "This node is removed: n1. Nobody's work is on it."),
        (AtStake(("n1",), FIVE), f"This work ends with it: {AND_ONE}."),
        (AtStake(("n1",), (*FIVE, "a")), f"This work ends with it: {', '.join(FIVE)} and 1 more."),
        (AtStake(("n1",), (*FIVE, "a", "b")), f"This work ends with it: {', '.join(FIVE)} and 2 more."),
        (AtStake(("n1",), FIVE, 1), f"This node is removed: n1. The work on it ends: {AND_ONE}."),
    ],
)
def test_work_that_goes_is_named_up_to_five_pods(stake: AtStake, said: str) -> None:
    assert text_of(stake.said()) == said


def test_what_is_at_stake_is_written_and_read_back() -> None:
    made = AtStake(("n1",), FIVE, 2)
    assert to_document(made) == {"nodes": ["n1"], "pods": [*FIVE], "staying": 2}
    assert from_odd_document(AtStake, to_document(made)) == made
    assert from_odd_document(AtStake, {"nodes": "n1"}) == AtStake()
    assert (made.partial, AtStake().partial) == (True, False)


# --- a check that failed -------------------------------------------------------------------------

A, B, C = (JudgedNode(name, f"i-{name}", used=name == "c") for name in "abc")


def failed(*names: str, check: str = "smi") -> list[dict[str, object]]:
    return [{"check": check, "node": name, "verdict": "failed", "reason": "no GPU"} for name in names]


@pytest.mark.parametrize(
    ("rows", "choice", "replaceable", "then", "reason", "nodes"),
    [
        ([], "replace", 1, NextStep.KEEP, "no check failed", ()),
        (failed("a", check="ready"), "close", 1, NextStep.KEEP, "no check failed", ()),
        ([{"check": "smi", "verdict": "not-proven"}], "close", 1, NextStep.KEEP, "no check failed", ()),
        (failed("a"), "close", 1, NextStep.CLOSE,
         "smi failed on a: no GPU; the lab closes a lease whose GPUs fail (checks.on_failure: close)", ()),
        (failed("a"), "keep", 1, NextStep.KEEP,
         "smi failed on a: no GPU; the lab keeps it open (checks.on_failure: keep)", ()),
        (failed("a"), "replace", 0, NextStep.KEEP,
         "smi failed on a: no GPU; nodes were replaced once already, so it is kept as it is", ()),
        (failed("c"), "replace", 1, NextStep.KEEP,
         "smi failed on c: no GPU; the GPUs of c are in use, so it is kept", ()),
        (failed("a"), "replace", 1, NextStep.REPLACE, "smi failed on a: no GPU; a is replaced, once", (A,)),
        (failed("b", "a", "c"), "replace", 2, NextStep.REPLACE,
         "smi failed on b: no GPU; smi failed on a: no GPU; smi failed on c: no GPU; a and b are replaced, once",
         (A, B)),
        (failed("b", "a"), "replace", 1, NextStep.REPLACE,
         "smi failed on b: no GPU; smi failed on a: no GPU; a is replaced, once", (A,)),
    ],
)  # fmt: skip
def test_what_follows_is_the_labs_choice_and_names_its_reason(  # noqa: PLR0917
    rows: list[dict[str, object]],
    choice: OnFailure,
    replaceable: int,
    then: NextStep,
    reason: str,
    nodes: tuple[JudgedNode, ...],
) -> None:
    decided = decide(rows, (A, B, C), choice, replaceable=replaceable)
    assert (decided.then, str(decided.reason), decided.nodes) == (then, reason, nodes)


def test_without_a_number_of_nodes_none_is_replaced() -> None:
    assert decide(failed("a"), (A,), "replace").then is NextStep.KEEP


def test_a_decision_is_written_as_the_workflow_reads_it() -> None:
    going = Reason("check.replaced", {"nodes": ("a",), "count": 1})

    assert CheckDecision(NextStep.REPLACE, "why", going, (A,)).to_json() == {
        "then": "replace",
        "because": one_line(Sentences(("why", going))),
        "consequence": document(going),
        "replace": [{"name": "a", "instance": "i-a"}],
    }
