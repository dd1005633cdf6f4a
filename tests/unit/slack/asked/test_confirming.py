"""A person closes another person's lease only after the answer named its owner, or by naming that lease."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.unit.slack.recording import EIGHT, INSTRUCTOR, STUDENT, lab_in_slack
from tests.unit.slack.requests import Knocks, knocks, running

HOUR = timedelta(hours=1)
JIN, MINJI = f"jin ({INSTRUCTOR})", f"minji ({STUDENT})"


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Knocks:
    return knocks(monkeypatch, tmp_path)


@pytest.mark.parametrize("text", ["close yes", "close gpu yes"])
def test_a_yes_to_no_lease_in_particular_closes_nobody_elses(door: Knocks, text: str) -> None:
    door.lab.put(running(MINJI, EIGHT + HOUR))
    assert f"belongs to {MINJI}" in door.type(text)["text"]
    assert not door.workflows.starts


@pytest.mark.parametrize("text", ["close yes", "close gpu yes", "close slack-1a2b3c4d yes"])
def test_ones_own_is_closed_however_it_is_said(door: Knocks, text: str) -> None:
    door.lab.put(running(JIN, EIGHT + HOUR))
    assert "Closing" in door.type(text)["text"]
    assert len(door.workflows.starts) == 1


def test_the_button_under_a_leases_message_asks_first_and_names_the_owner(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lab = lab_in_slack(monkeypatch, tmp_path)
    lab.put(running(MINJI, EIGHT + HOUR))
    lab.tell()

    [said] = lab.slack.in_channel
    rows = [block["elements"] for block in said.body["blocks"] if block["type"] == "actions"]
    close = next(each for row in rows for each in row if each["action_id"] == "close")
    assert "Owner: minji." in close["confirm"]["text"]["text"]
    assert close["style"] == "danger"
