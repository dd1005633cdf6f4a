"""Every cause has a case that shows it, a near miss and a healthy case. Two independent causes are both found."""

import json

import pytest

from docs.causes import RULES
from lamplighter.data.texts import Texts, languages
from lamplighter.domain.diagnosis.brief import LINE, in_brief
from lamplighter.domain.diagnosis.causes import CAUSES
from lamplighter.domain.diagnosis.diagnose import diagnose
from lamplighter.domain.diagnosis.snapshot import Snapshot
from lamplighter.reasons.document import read
from lamplighter.reasons.reason import draw
from lamplighter.reasons.shortened import shortened
from lamplighter.values.clock_time import clock_time
from tests.diagnosis_cases import Case, aws, kubernetes, node_pool, nvidia
from tests.snapshots import causes, healthy, judge

CASES = {case.cause: case for case in (*aws.CASES, *kubernetes.CASES, *node_pool.CASES, *nvidia.CASES)}
EVERY = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
LAYERS = ("aws", "kubernetes", "nvidia")


def test_every_cause_has_its_three_cases() -> None:
    assert CASES.keys() == CAUSES.keys()


def test_every_cause_says_where_it_is_known_from() -> None:
    assert RULES.keys() == CAUSES.keys()
    assert [name for name, rule in RULES.items() if not (rule.source and rule.shown_by)] == []


def test_every_cause_has_its_own_summary_and_advice() -> None:
    assert {name: (cause.summary.code, cause.advice.code) for name, cause in CAUSES.items()} == {
        name: (f"finding.{name}", f"finding.{name}.advice") for name in CAUSES
    }


@EVERY
@pytest.mark.parametrize("language", languages())
def test_a_finding_is_kept_as_codes_and_drawn_in_every_language(case: Case, language: str) -> None:
    document = healthy()
    case.shows(document, 0)
    found = judge(document)
    kept = json.loads(json.dumps(in_brief(found)))
    for finding, row in zip(found.findings, kept["findings"], strict=True):
        for said, again in (
            (finding.summary, row["summary"]),
            (finding.advice, row["advice"]),
            *zip(finding.evidence, row["evidence"], strict=False),
        ):
            assert draw(read(again), Texts(language), clock_time) == (
                draw(shortened(said, LINE), Texts(language), clock_time)
            )
        assert "finding." not in draw(finding.summary, Texts(language), clock_time)


@EVERY
@pytest.mark.parametrize("number", [0, 1])
def test_a_cause_that_is_there_is_found_and_nothing_else(case: Case, number: int) -> None:
    document = healthy()
    case.shows(document, number)
    assert causes(document) == [case.cause]


@EVERY
def test_what_only_looks_like_it_is_not_called_so(case: Case) -> None:
    document = healthy()
    case.near_miss(document)
    found = judge(document)
    assert case.cause not in [each.cause.name for each in found.findings]
    # There is a finding, a stage in progress, or a full lab.
    assert document != healthy()


@EVERY
def test_a_healthy_pool_with_traces_of_it_has_neither_finding_nor_stage(case: Case) -> None:
    document = healthy()
    case.well(document)
    assert judge(document).to_json() == {"findings": [], "in_progress": []}


# If one causes the other, only the root is found.
ROOT = {
    frozenset({"wrong-ami", "runtime-missing"}): "wrong-ami",
    frozenset({"wrong-ami", "device-plugin-missing"}): "wrong-ami",
    frozenset({"device-plugin-disabled", "device-plugin-missing"}): "device-plugin-disabled",
    frozenset({"karpenter-not-ready", "interruptions-unheard"}): "karpenter-not-ready",
    frozenset({"operator-not-ready", "device-plugin-missing"}): "operator-not-ready",
}


# A plugin that is switched off has no pod for which a runtime could be missing.
NEVER_TOGETHER = {"device-plugin-disabled", "runtime-missing"}


@pytest.mark.parametrize("first", CASES)
def test_two_independent_causes_are_both_found_in_order(first: str) -> None:
    """Each case by itself has shown that nothing is lost with its secrets, so these snapshots keep theirs."""
    for second, other in CASES.items():
        if first == second or {first, second} == NEVER_TOGETHER:
            continue
        document = healthy()
        CASES[first].shows(document, 1)
        other.shows(document, 0)
        found = [each.cause.name for each in diagnose(Snapshot.read(document)).findings]
        root = ROOT.get(frozenset({first, second}))
        assert set(found) == ({root} if root else {first, second}), second
        layers = [LAYERS.index(CAUSES[name].layer) for name in found if name != "unknown"]
        assert layers == sorted(layers), second
