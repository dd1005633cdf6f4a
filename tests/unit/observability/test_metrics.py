"""Metrics are lines of a log in the form that CloudWatch documents (EMF)."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.application import metrics
from lamplighter.application.metrics import Metric
from lamplighter.application.slack import log as slack_log
from lamplighter.domain.leases.progress import Noted, Progress, Stage

EIGHT = datetime(2026, 11, 20, 20, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def written(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, float, dict[str, str]]]:
    """Name, value and dimensions of each metric, read as CloudWatch reads them."""
    found = []
    for line in capsys.readouterr().out.splitlines():
        document = json.loads(line)
        [directive] = document["_aws"]["CloudWatchMetrics"]
        [definition] = directive["Metrics"]
        [dimensions] = directive["Dimensions"]
        assert directive["Namespace"] == "Lamplighter"
        assert isinstance(document["_aws"]["Timestamp"], int)
        value = document[definition["Name"]]
        [number] = value if isinstance(value, list) else [value]
        found.append((definition["Name"], number, {name: document[name] for name in dimensions}))
    return found


def test_a_count_has_the_lab_as_its_only_dimension(capsys: pytest.CaptureFixture[str]) -> None:
    metrics.count(Metric.BREACHES, 2, "gpu-lab", pool="gpu")

    assert written(capsys) == [("Breaches", 2, {"lab": "gpu-lab"})]


def test_a_lease_that_is_ready_tells_each_stage_and_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    progress: Progress = {
        Stage.ARMED: Noted(1, 1, EIGHT, EIGHT + MINUTE),
        Stage.NODES: Noted(2, 2, EIGHT, EIGHT + 4 * MINUTE),
        Stage.CHECKS: Noted(2, 2, EIGHT, EIGHT + 9 * MINUTE),
    }

    metrics.ready(progress, EIGHT, "gpu-lab", pool="gpu")

    assert written(capsys) == [
        ("TimeToReady", 60, {"lab": "gpu-lab", "stage": "armed"}),
        ("TimeToReady", 180, {"lab": "gpu-lab", "stage": "nodes"}),
        ("TimeToReady", 300, {"lab": "gpu-lab", "stage": "checks"}),
        ("TimeToReady", 540, {"lab": "gpu-lab", "stage": "all"}),
    ]


def test_slacks_answers_are_written_in_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    slack_log.answered_in(0.25, "gpu-lab")

    assert written(capsys) == [(Metric.SLACK_ANSWER.value, 0.25, {"lab": "gpu-lab"})]
