"""`lamplighter local demo`: a lab day from the first window to the receipt, judged by its report."""

import json
import subprocess
import sys
import time
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from lamplighter.domain.leases.progress import IN_ORDER, ClaimStage

DEMO = (sys.executable, "-m", "tests.scenarios.judged_program", "local", "demo")
KINDS = [
    "window-opens",
    "lease-granted",
    "failsafe-armed",
    "scaled",
    "node-ready",
    "settings-applied",
    "gpus-ready",
    "verdict",
    "announced",
    "warned",
    "extended",
    "breach",
    "closed",
    "drained",
    "zero-proven",
    "receipt",
]
#: These events must come in this order, by the first of each kind.
ORDER = ["lease-granted", "failsafe-armed", "scaled", "node-ready", "gpus-ready", "extended", "drained"]
ORDER += ["zero-proven", "closed", "receipt", "breach"]
TRIED = {1, 2, 4, 5, 7, 8}


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report of one day; the command must succeed."""
    report: Path = tmp_path_factory.mktemp("day") / "report.json"
    begun = time.monotonic()
    done = subprocess.run(
        [*DEMO, "--fast", "--json", str(report)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(report.read_text("utf-8"))
    found["measured"] = time.monotonic() - begun
    return found


def test_the_report_says_how_long_the_day_took(day: dict[str, Any]) -> None:
    assert 0 < day["elapsed_seconds"] <= day["measured"]


def test_all_ten_laws_are_judged_and_none_is_broken(day: dict[str, Any]) -> None:
    held = {verdict["law"]: verdict["held"] for verdict in day["laws"]}
    assert list(held) == list(range(1, 11))
    assert {law for law, kept in held.items() if kept} >= TRIED
    assert False not in held.values()
    assert all(verdict["evidence"] for verdict in day["laws"])


def test_the_day_is_told_in_order(day: dict[str, Any]) -> None:
    timeline = day["timeline"]
    kinds = [event["kind"] for event in timeline]
    assert set(kinds) <= set(KINDS)
    assert [_at(event) for event in timeline] == sorted(_at(event) for event in timeline)
    firsts = [kinds.index(kind) for kind in ORDER]
    assert firsts == sorted(firsts), [kinds[index] for index in sorted(firsts)]
    assert all(event["actor"] and event["what"] for event in timeline)


def test_every_promised_kind_of_event_happens_on_it(day: dict[str, Any]) -> None:
    assert set(KINDS) == {event["kind"] for event in day["timeline"]}


def test_the_receipts_add_up_and_each_proves_zero(day: dict[str, Any]) -> None:
    total = sum((Decimal(receipt["cost"]["amount"]) for receipt in day["receipts"]), Decimal(0))
    assert abs(total - Decimal(day["cost"]["amount"])) < Decimal("0.0001")
    assert day["cost"]["currency"] == "USD"
    for receipt in day["receipts"]:
        proof = receipt["proof_of_zero"]
        assert (proof["desired"], proof["instances"], proof["kubernetes_nodes"]) == (0, [], []), receipt
        assert {"lease", "pool", "owner", "source", "opened", "closed", "nodes", "node_seconds"} <= set(
            receipt
        )
        assert {"minutes_to_ready", "verdicts"} <= set(receipt)
    (evening,) = (receipt for receipt in day["receipts"] if receipt["source"] == "window")
    assert {verdict["verdict"] for verdict in evening["verdicts"]} == {"passed"}
    # The receipt has its whole warm-up: the boot of its nodes and the operator's stages. A node group has no claims.
    assert set(evening["stages"]) == {stage.value for stage in IN_ORDER if not isinstance(stage, ClaimStage)}


def _at(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(event["at"])


def test_it_ends_with_two_pages_to_look_at(day: dict[str, Any]) -> None:
    for name in ("receipt", "lab"):
        assert Path(day["pages"][name]).read_text("utf-8").startswith("<!doctype html>")
