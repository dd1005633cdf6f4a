"""`status` shows the verdict on GPUs, and `status --gpus` shows each node and the trend."""

import json
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cli.understand import status, status_gpus
from lamplighter.domain.checks.gpu_proof import GpuProof
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT
from tests.ledger_table import keep_proof, keep_verdicts
from tests.unit.cli.shown.test_status import deployed
from tests.unit.lab_on_moto import LAB, LabOnMoto, lab_on_moto


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LabOnMoto]:
    with lab_on_moto(monkeypatch, tmp_path) as made:
        made.capacity.ledger.put_document(Lab.model_validate({"name": LAB}).to_json(), EIGHT)
        yield made


def row(node: str, verdict: str = "passed", busbw: str | None = None, **more: Any) -> dict[str, Any]:
    measured = {"busbw_gb_per_second": busbw} if busbw else {}
    reason = "so it was (seen at 20:00 UTC on 2026-11-20)"
    return {
        "check": "all_reduce",
        "node": node,
        "verdict": verdict,
        "reason": reason,
        "measurements": measured,
    } | more


def proof(minutes: int, *rows: dict[str, Any], ready: int | None = None, kind: str = "g5.xlarge") -> GpuProof:
    verdict = "passed" if all(each["verdict"] == "passed" for each in rows) else "failed"
    return GpuProof(EIGHT + timedelta(minutes=minutes), "gpu", f"cli-{minutes}", kind, verdict, rows, ready)


def cell(minutes: int = 10) -> tuple[str, dict[str, Any]]:
    found = deployed(minutes)
    (view,) = status.views_of(found, None)
    document: dict[str, Any] = status._document(view, found.zone)
    return status._gpus(view, found), document


@pytest.mark.parametrize(
    ("verdict", "said"), [("failed", "FAILED"), ("not-proven", "not proven"), ("passed", "ready")]
)
def test_nobody_reads_ready_or_expected_where_the_checks_say_otherwise(
    lab: LabOnMoto, verdict: str, said: str
) -> None:
    lease = lab.lease(nodes=1, opens=0, closes=60)
    assert cell()[0].startswith("expected ")
    lab.capacity.ledger.advance("gpu", lease.id, LeaseState.OPEN, EIGHT + timedelta(minutes=5))
    keep_verdicts(lab.capacity.ledger, lease, [row("node-a"), row("node-b", verdict)])

    shown, document = cell()

    assert (shown, document["gpus"]) == (said, verdict)
    assert (document["leases"][0]["gpus_expected"] is None) is (verdict != "passed")


def test_each_node_stands_with_its_checks_and_the_pool_with_its_trend(
    lab: LabOnMoto, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = lab.capacity.ledger
    keep_proof(ledger, proof(0, row("node-a", busbw="1.17"), ready=300))
    keep_proof(ledger, proof(30, row("node-a", "failed", busbw="0.31")))
    keep_proof(ledger, proof(60, row("node-a", busbw="1.17", busy=True), row("node-b"), ready=420))

    status_gpus.show(deployed(70), None, as_json=True)
    (said,) = json.loads(capsys.readouterr().out)["pools"]

    assert [(each["node"], each["verdict"], each["at"]) for each in said["nodes"]] == [
        ("node-a", "passed", "2026-11-20T21:00:00Z"),
        ("node-b", "passed", "2026-11-20T21:00:00Z"),
    ]
    assert said["nodes"][0]["verdicts"][0]["check"] == "all_reduce"
    assert said["trends"] == [
        {
            "instance_type": "g5.xlarge",
            "verdicts": ["passed", "failed", "passed"],
            "bus_bandwidth_gb_per_second": ["1.17", "0.31"],
            "seconds_to_ready": [300, 420],
        }
    ]


def test_people_read_the_verdicts_by_the_labs_clock_and_numbers_where_nothing_can_be_drawn(
    lab: LabOnMoto, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_proof(lab.capacity.ledger, proof(0, row("node-a", "failed", busbw="0.31")))
    keep_proof(
        lab.capacity.ledger, proof(30, row("node-a", busbw="1.17"), row("node-b", "not-proven"), ready=330)
    )

    status_gpus.show(deployed(70), "gpu", as_json=False)
    said = capsys.readouterr().out

    assert (
        "node-a  all_reduce  passed      Sat 21 Nov 05:30 KST  so it was (seen at Sat 21 Nov 05:00 KST)"
        in said
    )
    assert "node-b  all_reduce  not proven" in said
    assert "g5.xlarge in pool gpu: 0 of its last 2 proofs passed" in said
    assert "bus bandwidth, GB/s: 0.31 1.17" in said
    assert "minutes to ready:    5.5" in said


def test_a_pool_that_was_never_proven_says_so(lab: LabOnMoto, capsys: pytest.CaptureFixture[str]) -> None:
    status_gpus.show(deployed(0), None, as_json=False)
    assert capsys.readouterr().out == "pool gpu: no GPU check has run yet\n"


def test_types_are_told_apart() -> None:
    found = status_gpus.trends([proof(30, row("b"), kind="g6.xlarge"), proof(0, row("a"), kind="g5.xlarge")])
    assert [each.instance_type for each in found] == ["g5.xlarge", "g6.xlarge"]


def test_bars_run_from_the_least_to_the_most() -> None:
    assert status_gpus.spark([Decimal("0.31"), Decimal("1.17"), Decimal("0.74")]) == "▁█▄"
    assert status_gpus.spark([5, 5]) == "▄▄"
