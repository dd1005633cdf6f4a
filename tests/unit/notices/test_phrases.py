"""The parts of sentences: instants, leases, reasons, capitals and full stops, in two languages."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.notices import phrases
from lamplighter.reasons.reason import as_sentence, draw
from lamplighter.values.zones import zone
from tests.unit.pool.test_target import ALICES, LEASE

KOREAN = Texts("ko")
SEOUL = zone("Asia/Seoul")
LATE = datetime(2026, 11, 30, 16, 5, tzinfo=UTC)


def test_an_instant_is_told_by_the_clock_of_a_zone() -> None:
    assert phrases.clock(ENGLISH, SEOUL)(LATE) == "01:05 (Asia/Seoul)"
    assert phrases.clock_and_date(ENGLISH, SEOUL)(LATE) == "01:05 on 2026-12-01 (Asia/Seoul)"
    assert phrases.clock_and_date(KOREAN, SEOUL)(LATE) == "2026-12-01 01:05 (Asia/Seoul)"


def test_a_lease_is_called_by_its_window_or_its_owner() -> None:
    assert phrases.called(ENGLISH, LEASE) == "the evening lease"
    assert phrases.called(ENGLISH, ALICES) == "alice's lease"
    assert phrases.called(KOREAN, replace(ALICES, owner="민수")) == "민수 님의 대여"


@pytest.mark.parametrize(
    ("said", "english", "korean"),
    [
        ("the pool is full", "The pool is full.", "the pool is full."),
        ("is it full?", "Is it full?", "is it full?"),
        ("  x", "X.", "  x."),
        ("", "", ""),
        ("  ", "", ""),
    ],
)
def test_a_reason_is_a_sentence_of_its_own_where_there_is_one(said: str, english: str, korean: str) -> None:
    why, decision = phrases.reason_sentence(said), phrases.decision_sentence(said)
    assert as_sentence(said, ENGLISH) == english
    assert draw(why, ENGLISH, today_in_seoul) == draw(decision, ENGLISH, today_in_seoul) == english
    assert draw(why, KOREAN, today_in_seoul) == (f"이유: {korean}" if korean else "")
    assert draw(decision, KOREAN, today_in_seoul) == (f"자세한 내용: {korean}" if korean else "")


def test_only_english_begins_a_sentence_with_a_capital() -> None:
    assert as_sentence("alice's lease ends", ENGLISH) == "Alice's lease ends."
    assert as_sentence("ip-10-0-0-7 is not ready", ENGLISH) == "ip-10-0-0-7 is not ready."
    assert as_sentence("alice 님의 대여", KOREAN) == "alice 님의 대여."
    assert as_sentence("끝났습니다.", KOREAN) == "끝났습니다."


def test_an_instant_has_its_date_only_on_another_day() -> None:
    today = phrases.clock_of_day(ENGLISH, SEOUL, LATE)
    assert today(LATE) == "01:05 (Asia/Seoul)"
    assert today(LATE + timedelta(days=1)) == "01:05 on 2026-12-02 (Asia/Seoul)"


def today_in_seoul(at: datetime) -> str:
    return phrases.clock(KOREAN, SEOUL)(at)
