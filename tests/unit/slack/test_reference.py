"""The page of Slack's words names every word that can be typed, and what help shows can be typed."""

import re
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from lamplighter.application.slack import answering
from lamplighter.domain.slack.answers import HELP
from lamplighter.domain.slack.asked import roles
from lamplighter.domain.slack.asked.understand import (
    _ALSO,
    ELSEWHERE,
    ONLY_BUTTONS,
    SEEING,
    Word,
    WordContext,
    typed,
)

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "slack" / "slack-words.md"
PLACE = WordContext(["gpu"], ["evening"], datetime(2026, 12, 1, 10, tzinfo=UTC), ZoneInfo("Asia/Seoul"))


def test_every_word_has_its_row_and_no_other_has() -> None:
    table = PAGE.read_text("utf-8").split("## Words")[1].split("## Who may")[0]
    rows = re.findall(r"^\| `([a-z-]+)", table, re.MULTILINE)
    assert sorted(rows) == sorted(set(Word) - ONLY_BUTTONS)


@pytest.mark.parametrize(("_key", "example"), HELP)
def test_what_help_shows_can_be_typed(_key: str, example: str) -> None:
    assert typed(example, PLACE).word.value == example.split(maxsplit=1)[0]


def test_no_other_spelling_hides_a_word() -> None:
    assert set(_ALSO) & {*Word, *ELSEWHERE} == set()


def test_every_word_has_its_function_and_every_change_its_right() -> None:
    assert set(answering._DOES) == set(Word)
    assert set(Word) - ONLY_BUTTONS - SEEING - set(roles._ACTIONS) == set()
