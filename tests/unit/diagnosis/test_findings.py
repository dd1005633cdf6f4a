"""Texts and findings: the time of a line, the symptom that counts, and the form of a finding."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.data.texts import Texts
from lamplighter.domain.diagnosis.brief import in_brief
from lamplighter.domain.diagnosis.causes import CAUSES
from lamplighter.domain.diagnosis.events import events_by_object
from lamplighter.domain.diagnosis.findings import Diagnosis, DiagnosisFinding, Gathered, InProgress
from lamplighter.domain.diagnosis.rules.symptoms import lost, symptom
from lamplighter.domain.diagnosis.stages import ProvisioningStage
from lamplighter.domain.gpu.xid_log import condition_xid, xids
from lamplighter.reasons.reason import Reason, draw, reason
from lamplighter.values.clock_time import clock_time
from tests.snapshots import Document

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def test_events_are_told_by_what_they_are_about_oldest_first_and_old_ones_left_out() -> None:
    def said(message: str, **times: Any) -> Document:
        return {"involvedObject": {"kind": "Pod", "name": "a"}, "message": message, **times}

    found = events_by_object(
        [
            said("late", lastTimestamp="2026-11-20T12:00:02Z", firstTimestamp="2026-11-20T11:00:00Z"),
            said("at", eventTime="2026-11-20T12:00:00Z"),
            said("before", lastTimestamp="2026-11-20T11:59:59Z"),
            said(
                "series",
                lastTimestamp="2026-11-20T11:59:59Z",
                series={"lastObservedTime": "2026-11-20T12:00:01Z"},
            ),
            said("no time"),
            said("made", metadata={"creationTimestamp": "2026-11-20T12:00:03Z"}),
        ],
        NOON,
    )
    told = [event.message.rpartition(") ")[2] for event in found["Pod", "", "a"]]
    assert told == ["at", "no time", "series", "late", "made"]


@pytest.mark.parametrize(("line", "counts"), [
    ("GPU is lost", True),
    ("2026-11-20T12:00:00Z GPU is lost", True),
    ("2026-11-20T11:59:59Z GPU is lost", False),
    ("2026-11-20T11:59:59.999Z GPU is lost", False),
    ("2026-11-20T21:00:00+09:00 GPU is lost", True),
    ("2026-11-20T20:59:59+09:00 GPU is lost", False),
    ("2026-11-20T12:00:00 GPU is lost", True),
    ("2026-13-20T12:00:00Z GPU is lost", True),
    ("E1120 12:00:00.000001 1 x.go] GPU is lost", True),
    ("E1120 11:59:59.000001 1 x.go] GPU is lost", False),
    ("E1332 11:59:59.000001 1 x.go] GPU is lost", True),
    ("E1121 13:00:00.000001 1 x.go] GPU is lost", True),
    ("E1121 13:00:01.000001 1 x.go] GPU is lost", False),
])  # fmt: skip
def test_a_line_that_says_when_it_was_written_counts_since_then(line: str, *, counts: bool) -> None:
    now = NOON + timedelta(hours=1)
    found = lost(f"first\n  {line}  \nlast", now, NOON)
    assert found == (line if counts else None)


def test_of_several_lines_the_first_that_is_not_old_counts() -> None:
    said = "2026-11-20T11:00:00Z GPU is lost\nfine\n2026-11-20T12:30:00Z GPU is lost\nGPU is lost"
    assert lost(said, NOON, NOON) == "2026-11-20T12:30:00Z GPU is lost"
    assert lost("fine", NOON, NOON) is None


def test_the_most_fundamental_symptom_of_all_texts_counts() -> None:
    def found(*texts: str) -> tuple[str, str] | None:
        said = symptom(texts, NOON, NOON)
        return None if said is None else (said.cause, said.line)

    both = "one\nunresolvable CDI devices\n  driver/library version mismatch\nlast"
    assert found(both) == ("driver-mismatch", "driver/library version mismatch")
    assert found("unresolvable CDI devices x", "please update your driver") == (
        "driver-too-old",
        "please update your driver",
    )
    assert found("İ\nunresolvable CDI devices") == ("cdi-unresolvable", "unresolvable CDI devices")
    assert found("2026-11-20T11:00:00Z unresolvable CDI devices") is None
    assert found("", "fine") is None


def test_every_xid_of_a_line_is_read() -> None:
    first, second = "Xid (PCI:0000:00:1e): 79, then", "XidCriticalError: Xid=48"
    assert list(xids(f"fine\n{first} {second}\nXid=1", NOON, NOON)) == [(79, first), (48, second)]
    assert [condition_xid(reason) for reason in ("NvidiaXID79Error", "NvidiaXID13Warning", "Odd")] == [
        79,
        13,
        None,
    ]


@pytest.mark.parametrize(("count", "about"), [
    (1, "0"), (5, "0, 1, 2, 3, 4"), (6, "0, 1, 2, 3, 4 and 1 more"), (8, "0, 1, 2, 3, 4 and 3 more"),
])  # fmt: skip
def test_a_finding_names_five_objects_and_counts_the_rest(count: int, about: str) -> None:
    cause = CAUSES["xid"]
    found = DiagnosisFinding(cause, tuple(map(str, range(count))), tuple(map(str, range(12))))

    assert found.to_json() == {
        "cause": "xid",
        "layer": "nvidia",
        "object": about,
        "summary": f"{about}: {cause.summary}",
        "evidence": [str(line) for line in range(10)],
        "advice": str(cause.advice),
    }


def test_a_finding_has_its_summary_as_a_code_with_its_objects() -> None:
    found = DiagnosisFinding(CAUSES["xid"], tuple(map(str, range(7))), ())

    assert found.summary == reason(
        "finding.summary",
        object=reason("finding.objects", objects="0, 1, 2, 3, 4", more=2),
        cause=reason("finding.xid"),
    )
    assert draw(found.summary, Texts("ko"), clock_time) == (
        "0, 1, 2, 3, 4 외 2개: GPU가 하드웨어 오류를 보고했습니다"
    )


def test_reasons_in_the_evidence_differ_by_their_values_and_only_foreign_words_are_cut() -> None:
    def offers(node: str, offered: int) -> Reason:
        return reason("finding.evidence.offers-part", node=node, offered=offered, capacity=4)

    gathered = Gathered()
    gathered.found("gpu-count-short", "a", offers("a", 3), offers("a", 3), offers("b", 3))
    gathered.found(
        "gpu-count-short",
        "b",
        offers("b", 2),
        reason("finding.evidence.quote", object="c", words="x\n" * 300),
    )

    (found,) = gathered.diagnosis("pool").findings

    quoted = reason("finding.evidence.quote", object="c", words=("x " * 300)[:399] + "…")
    assert found.evidence == (offers("a", 3), offers("b", 3), offers("b", 2), quoted)


def test_evidence_is_one_line_that_is_cut_after_400_letters_and_said_once() -> None:
    gathered = Gathered()
    gathered.found("xid", "a", " one\n two ", "x" * 400, "")
    gathered.found("xid", "a", "one two", "y" * 401)
    gathered.found("xid", "b")

    (found,) = gathered.diagnosis("pool").findings

    assert found.objects == ("a", "b")
    assert found.evidence == ("one two", "x" * 400, "y" * 399 + "…")


def test_what_cannot_be_told_is_said_last_with_what_was_not_read() -> None:
    gathered = Gathered()
    gathered.unknown("first", ["b", "a"])
    gathered.unknown("second", ["a", "c"])
    gathered.found("xid", "node")

    found = gathered.diagnosis("pool")

    assert [(each.cause.name, each.about, each.evidence) for each in found.findings] == [
        ("xid", "node", ()),
        ("unknown", "pool", ("first", "second", reason("finding.evidence.not-read", keys="b, a, c"))),
    ]


def supply(**changes: Any) -> bool:
    gathered = Gathered()
    for name, value in changes.items():
        setattr(gathered, name, value)
    return gathered.supply_disturbed


@pytest.mark.parametrize(
    ("stage", "disturbed"),
    [
        (stage, stage.label in {"instance-launch", "node-join", "node-ready", "gpus-announced"})
        for stage in ProvisioningStage
    ],
)
def test_the_supply_of_gpus_is_disturbed_by_stages_before_they_are_announced(
    stage: ProvisioningStage, *, disturbed: bool
) -> None:
    assert supply(in_progress=[InProgress(stage, "a", NOON)]) is disturbed


def test_the_supply_of_gpus_is_disturbed_by_what_takes_it_and_by_what_cannot_be_told() -> None:
    assert not supply()
    assert supply(explained={"a"})
    assert supply(unclear=["odd"])
    assert [
        name for name, cause in CAUSES.items() if supply(objects={name: ["a"]}) != cause.takes_supply
    ] == []
    assert {name for name, cause in CAUSES.items() if not cause.takes_supply} == {
        *("nccl-path-blocked", "bandwidth-throttled", "image-pull-slow", "admission-refused"),
        *("driver-too-old", "cdi-unresolvable", "validator-stuck", "pods-not-evicted", "unknown"),
        "interruptions-unheard",
    }


def test_a_diagnosis_in_brief_has_eight_findings_of_three_lines_and_ten_stages() -> None:
    lines = ("x" * 240, "y" * 241, "z", "left out")
    findings = tuple(DiagnosisFinding(CAUSES["xid"], (str(number),), lines) for number in range(9))
    stages = tuple(InProgress(ProvisioningStage.JOIN, str(number), NOON) for number in range(11))

    found = in_brief(Diagnosis(findings, stages))

    assert found["findings"][0]["summary"] == {
        "code": "finding.summary",
        "values": {"object": "0", "cause": {"code": "finding.xid", "values": {}}},
    }
    assert found["findings"][0]["advice"] == {"code": "finding.xid.advice", "values": {}}

    assert [each["object"] for each in found["findings"]] == [str(number) for number in range(8)]
    assert found["findings"][0]["evidence"] == ["x" * 240, "y" * 239 + "…", "z"]
    assert [each["object"] for each in found["in_progress"]] == [str(number) for number in range(10)]
    assert found["in_progress"][0] == {
        "stage": "node-join",
        "object": "0",
        "since": "2026-11-20T12:00:00Z",
        "normal_seconds": 300,
    }


@pytest.mark.parametrize(("label", "seconds"), [
    ("instance-launch", 180),
    ("node-join", 300),
    ("node-ready", 180),
    ("gpus-announced", 300),
    ("validation", 300),
    ("operator", 300),
    ("image-pull", 120),
    ("scheduling", 60),
    ("container-start", 120),
    ("rendezvous", 180),
])  # fmt: skip
def test_each_stage_has_its_normal_time(label: str, seconds: int) -> None:
    (stage,) = (each for each in ProvisioningStage if each.label == label)
    assert stage.normal.total_seconds() == seconds
