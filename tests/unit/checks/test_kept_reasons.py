"""The reasons of GPU checks: codes where they are kept, English in JSON, and the lab's language for people."""

import json
from datetime import UTC, datetime
from typing import Any

from lamplighter.application.cluster.settings import REASONS
from lamplighter.data.texts import Texts
from lamplighter.domain.checks.verdicts.verdict import failed
from lamplighter.domain.gpu import readiness
from lamplighter.domain.notices.opening import of_opening
from lamplighter.domain.pool.nodes import NodeFacts
from lamplighter.domain.views.told import VerdictRow
from lamplighter.reasons.document import document, read
from lamplighter.reasons.fields import from_odd_document
from lamplighter.reasons.reason import draw, reason, several
from tests.unit.ledger.test_ledger import lease
from tests.world.aws.workflows import LIMITS

VERDICT = failed(reason("check.smi.missing", listed=3, gpus=4), {"gpus": 3})
ENGLISH = "3 of 4 GPUs are there"
KOREAN = Texts("ko")


def clock(at: datetime) -> str:
    return f"{at:%H:%M}"


def row(reason: object) -> dict[str, Any]:
    return {"check": "nvidia-smi", "node": "node-a", "verdict": "failed", "reason": reason}


def test_a_verdict_is_kept_as_a_code_and_its_json_has_english() -> None:
    assert VERDICT.to_row()["reason"] == {"code": "check.smi.missing", "values": {"listed": 3, "gpus": 4}}
    assert VERDICT.to_json() == {"verdict": "failed", "reason": ENGLISH, "measurements": {"gpus": 3}}


def test_a_kept_row_is_shown_in_the_lab_s_language() -> None:
    shown = from_odd_document(VerdictRow, row(json.loads(json.dumps(VERDICT.to_row()["reason"]))))
    assert draw(shown.reason, KOREAN, clock) == "GPU 4개 중 3개만 있습니다"


def test_a_row_of_an_earlier_release_is_shown_as_it_stands() -> None:
    assert from_odd_document(VerdictRow, row(ENGLISH)).reason == ENGLISH


def test_of_many_reasons_the_first_are_kept_and_the_others_counted() -> None:
    many = [reason("gpu.cordoned"), reason("gpu.no-driver"), reason("gpu.not-labelled")]

    assert several(many[:1], most=2) == many[0]
    kept = document(several(many, most=2))
    assert str(read(kept)) == f"{many[0]}; {many[1]}; and 1 more like these"
    assert "gpu.not-labelled" not in json.dumps(kept)


def test_a_notice_draws_what_nodes_and_checks_lack_in_the_lab_s_language() -> None:
    missing = reason("gpu.allocatable", allocatable=0, expected=4)
    slices = {"check": "dcgm-2", "why": document(reason("check.offered-in-slices"))}
    results: dict[str, Any] = {
        "Admit": {"outcome": "granted"},
        "AwaitNodes": {"wanted": 2, "shortage": None},
        "ApplyGpuSettings": {"reason": document(reason("gpu.operator.no-pod"))},
        "AwaitGpus": {
            "nodes": [],
            "not_ready": [
                {"name": "node-a", "why": document(missing)},
                {"name": "node-b", "why": "of an earlier release"},
            ],
        },
        "Validate": {
            "verdict": "failed",
            "verdicts": [row(document(VERDICT.reason))],
            "not_judged": [slices],
        },
    }

    text = draw(of_opening("gpu", lease(), results).text, KOREAN, clock)

    for why in (missing, VERDICT.reason, reason("check.offered-in-slices"), reason("gpu.operator.no-pod")):
        assert draw(why, KOREAN, clock) in text
    assert "of an earlier release" in text


def test_a_run_s_state_has_room_for_the_reasons_of_hundreds_of_nodes() -> None:
    created = datetime(2026, 11, 20, 11, 0, tzinfo=UTC)
    long_name = "ip-10-0-100-100.ap-northeast-2.compute.internal"
    node = NodeFacts(long_name, "i-1", created, ready=False, ready_message="x" * 1000, cordoned=True)
    unmet = readiness.not_ready_because(node, 8, readiness.GpuSignals())

    row = {"name": long_name, "why": document(several(unmet, most=REASONS))}

    assert len(unmet) > REASONS
    assert 400 * len(json.dumps(row)) < LIMITS.data_bytes
