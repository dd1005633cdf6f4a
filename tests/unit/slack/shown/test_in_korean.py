"""A lab whose language is Korean refuses, and asks back, in Korean."""

from pathlib import Path

import pytest

from tests.unit.slack.recording import INSTRUCTOR, STUDENT
from tests.unit.slack.requests import Knocks, knocks


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Knocks:
    roles = {"staff": {"members": [INSTRUCTOR], "may": ["open"], "max_nodes": 1}}
    return knocks(monkeypatch, tmp_path, slack={"roles": roles}, notify={"language": "ko"})


def test_who_may_not_is_told_why_in_the_labs_language(door: Knocks) -> None:
    assert door.type("open", STUDENT)["text"].startswith("허용되지 않습니다: 이 랩에서 맡은 역할이 없습니다.")
    assert "역할 staff: 노드는 한 번에 1개까지" in door.type("open 2")["text"]


def test_an_unknown_word_is_asked_back_in_the_labs_language(door: Knocks) -> None:
    said = door.type("opne 2")["text"]
    assert "'open' 명령을 뜻하셨습니까?" in said
    assert "did you mean" not in said
