"""`lamplighter local demo --act trouble`: a failing window to its finding, an experiment to its restore."""

import json
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def trouble(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report of one run; the command must end well."""
    report: Path = tmp_path_factory.mktemp("trouble") / "report.json"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.scenarios.judged_program",
            "local",
            "demo",
            "--act",
            "trouble",
            "--fast",
            "--json",
            str(report),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(report.read_text("utf-8"))
    return found | {"printed": done.stdout}


def test_nothing_failed_on_the_way(trouble: dict[str, Any]) -> None:
    assert trouble["failures"] == []


def test_the_window_that_finds_no_capacity_is_told_why_and_opens_once_there_is_some(
    trouble: dict[str, Any],
) -> None:
    finding, ready = _first(trouble, "finding"), _first(trouble, "gpus-ready")
    assert finding["what"].startswith("no-capacity")
    assert _at(finding) - _at(_first(trouble, "scaled")) < timedelta(minutes=5)
    assert _at(finding) < _at(ready)


def test_the_opening_a_live_diagnosis_and_its_snapshot_name_the_same_cause_first(
    trouble: dict[str, Any],
) -> None:
    for seen in ("opening", "live", "saved"):
        (first, *_) = (finding for finding in trouble["findings"] if finding["seen"] == seen)
        assert first["cause"] == "no-capacity", seen
        assert "InsufficientInstanceCapacity" in first["evidence"][0], seen
        assert first["advice"], seen


def test_the_experiment_shows_what_it_expects_and_is_undone(trouble: dict[str, Any]) -> None:
    (report,) = trouble["experiments"]
    assert report["experiment"] == "device-plugin-off"
    assert report["seen"]["cause"] == "device-plugin-disabled"
    assert report["as_expected"] is True
    assert report["restored"]["undone"] is True
    assert report["restored"]["proof"]["verdict"] == "passed"
    for kind in ("experiment", "experiment-restored", "experiment-report"):
        assert _first(trouble, kind)["lease"] == report["lease"]


def test_all_ten_laws_are_tried_and_hold(trouble: dict[str, Any]) -> None:
    assert {verdict["law"]: verdict["held"] for verdict in trouble["laws"]} == dict.fromkeys(
        range(1, 11), True
    ), trouble["laws"]


def test_it_is_told_in_order_and_printed(trouble: dict[str, Any]) -> None:
    assert [_at(event) for event in trouble["timeline"]] == sorted(map(_at, trouble["timeline"]))
    for said in ("no-capacity (live)", "Experiment device-plugin-off", "The ten laws"):
        assert said in trouble["printed"]


def _first(trouble: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(event for event in trouble["timeline"] if event["kind"] == kind)


def _at(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(event["at"])
