"""A lab in Slack at eight in the evening in Seoul, and its request handler."""

from pathlib import Path

import pytest

from tests.unit.slack.recording import LabInSlack, lab_in_slack
from tests.unit.slack.requests import Knocks, knocks


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> LabInSlack:
    return lab_in_slack(monkeypatch, tmp_path)


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Knocks:
    return knocks(monkeypatch, tmp_path)
