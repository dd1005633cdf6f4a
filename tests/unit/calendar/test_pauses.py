"""What keeps a lease from opening: which pause of several, until when, and in which words."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.calendar.changes import Changes, Pause, Skip, paused_at, with_reason
from lamplighter.reasons.reason import reason
from tests.drawn import english

EIGHT = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
SEOUL = "Asia/Seoul"
LATE = Pause("late", EIGHT, EIGHT + 3 * HOUR)
EARLY = Pause("early", EIGHT + HOUR, EIGHT + 2 * HOUR)
FOR_GOOD = Pause("for-good", EIGHT)
DESTROY = Pause("destroy", EIGHT - HOUR, closing=True)
SKIP = Skip("evening", "2026-11-20", "alice", EIGHT)


@pytest.mark.parametrize(("pauses", "after", "kept"), [
    ([], timedelta(), None),
    ([EARLY], timedelta(), EARLY),
    ([EARLY], 2 * HOUR - timedelta(seconds=1), EARLY),
    ([EARLY], 2 * HOUR, None),
    ([EARLY, LATE], timedelta(), LATE),
    ([LATE, EARLY], timedelta(), LATE),
    ([LATE, FOR_GOOD, EARLY], timedelta(), FOR_GOOD),
    ([FOR_GOOD, DESTROY], timedelta(), DESTROY),
    ([DESTROY, FOR_GOOD], timedelta(), DESTROY),
    ([LATE, FOR_GOOD], 9 * HOUR, FOR_GOOD),
    ([LATE, EARLY], 2 * HOUR, LATE),
])  # fmt: skip
def test_of_several_pauses_the_one_that_lasts_longest_counts_and_a_destroy_before_all(
    pauses: list[Pause], after: timedelta, kept: Pause | None
) -> None:
    assert paused_at(pauses, EIGHT + after) == kept


@pytest.mark.parametrize(("pause", "words"), [
    (LATE, "late paused the lab until 08:00 on 2026-11-21 (Asia/Seoul)"),
    (FOR_GOOD, "for-good paused the lab: nothing opens until somebody resumes it"),
    (Pause("tom", EIGHT, EIGHT + HOUR, "of the exams"),
     "tom paused the lab until 06:00 on 2026-11-21 (Asia/Seoul) because of the exams"),
    (DESTROY, "the lab is being destroyed: nothing opens any more"),
    (Pause("tom", EIGHT, closing=True, failed=True),
     "a destroy of the lab failed: nothing opens until somebody resumes the lab"),
])  # fmt: skip
def test_a_pause_says_until_when_and_by_whom(pause: Pause, words: str) -> None:
    assert english(pause.reason(), SEOUL) == words
    assert Changes((pause,), SKIP).keeps_closed(EIGHT) == pause.reason()


def test_a_date_that_was_skipped_is_said_where_no_pause_is_in_force() -> None:
    skipped = reason("calendar.skipped", by="alice", window="evening", date="2026-11-20")

    assert Changes((LATE,), SKIP).keeps_closed(EIGHT + 3 * HOUR) == skipped
    assert english(Skip("evening", "2026-11-20", "alice", EIGHT, "of the holiday").reason()) == (
        "alice skipped evening on 2026-11-20 because of the holiday"
    )
    assert Changes().keeps_closed(EIGHT) is None


def test_a_reason_stands_behind_a_sentence_only_where_there_is_one() -> None:
    paused = reason("calendar.paused", by="alice")
    assert with_reason(paused, "it rains") == reason("calendar.because", what=paused, because="it rains")
    assert with_reason(paused, None) == with_reason(paused, "") == paused
