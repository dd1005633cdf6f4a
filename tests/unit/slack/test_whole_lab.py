"""What is about the whole lab is for whoever may do it on every pool."""

from pathlib import Path

import pytest

from tests.unit.slack.recording import INSTRUCTOR, STUDENT
from tests.unit.slack.requests import Knocks, knocks

POOLS = {"gpu": {"price_per_hour": "1.237"}, "big": {"price_per_hour": "5.67"}}
WINDOWS = [{"name": "evening", "pool": "gpu", "days": "fri", "start": "20:00", "end": "23:00"}]


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Knocks:
    """A lab of two pools: the student's role is for one of them, the instructor has a role for each."""
    roles = {
        "here": {"members": [STUDENT, INSTRUCTOR], "may": ["skip", "pause"], "pools": ["gpu"]},
        "there": {"members": [INSTRUCTOR], "may": ["pause"], "pools": ["big"]},
    }
    return knocks(monkeypatch, tmp_path, pools=POOLS, windows=WINDOWS, slack={"roles": roles})


@pytest.mark.parametrize("text", ["pause for 2h", "resume"])
def test_a_role_for_one_pool_does_not_pause_the_others(door: Knocks, text: str) -> None:
    said = door.type(text, STUDENT)["text"]
    assert "the role here may pause on gpu, not on big" in said
    assert not door.workflows.starts


@pytest.mark.parametrize("text", ["pause for 2h", "resume"])
def test_whoever_may_on_every_pool_pauses_the_lab(door: Knocks, text: str) -> None:
    door.type(text)
    assert len(door.workflows.starts) == 1


def test_a_window_is_of_its_own_pool(door: Knocks) -> None:
    door.type("skip evening", STUDENT)
    assert len(door.workflows.starts) == 1
