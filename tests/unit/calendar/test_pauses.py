"""What keeps a lease from opening: which pause of several, until when, and in which words."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from lamplighter.domain.calendar.changes import Changes, Pause, Skip, clock_of, paused_at, said, said_because

EIGHT = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
CLOCK = clock_of(ZoneInfo("Asia/Seoul"))
LATE = Pause("late", EIGHT, EIGHT + 3 * HOUR)
EARLY = Pause("early", EIGHT + HOUR, EIGHT + 2 * HOUR)
FOR_GOOD = Pause("for-good", EIGHT)
DESTROY = Pause("destroy", EIGHT - HOUR, closing=True)
SKIP = Skip("evening", "2026-11-20", "alice", EIGHT)


@pytest.mark.parametrize(
    ("pauses", "after", "kept"),
    [
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
    ],
)
def test_of_several_pauses_the_one_that_lasts_longest_counts_and_a_destroy_before_all(
    pauses: list[Pause], after: timedelta, kept: Pause | None
) -> None:
    assert paused_at(pauses, EIGHT + after) == kept


@pytest.mark.parametrize(
    ("pause", "reason"),
    [
        (LATE, "the lab is paused until 08:00 on 2026-11-21 (Asia/Seoul), by late"),
        (FOR_GOOD, "the lab is paused until somebody resumes it, by for-good"),
        (
            Pause("tom", EIGHT, None, "the exams"),
            "the lab is paused until somebody resumes it, by tom because the exams",
        ),
        (DESTROY, "the lab is being destroyed, and nothing opens any more"),
        (
            Pause("tom", EIGHT, closing=True, failed=True),
            "a destroy of the lab failed, and nothing opens until somebody resumes it",
        ),
    ],
)
def test_a_pause_says_until_when_and_by_whom(pause: Pause, reason: str) -> None:
    assert pause.reason(CLOCK) == reason
    assert Changes((pause,), SKIP).keeps_closed(EIGHT, CLOCK) == reason


def test_a_date_that_was_skipped_is_said_where_no_pause_is_in_force() -> None:
    skipped = "evening on 2026-11-20 was skipped by alice"

    assert Changes((LATE,), SKIP).keeps_closed(EIGHT + 3 * HOUR, CLOCK) == skipped
    assert Skip("evening", "2026-11-20", "alice", EIGHT, "the holiday").reason() == (
        f"{skipped} because the holiday"
    )
    assert Changes().keeps_closed(EIGHT, CLOCK) is None


def test_a_reason_stands_behind_a_sentence_only_where_there_is_one() -> None:
    assert (said_because("it rains"), said_because(None), said_because("")) == (" because it rains", "", "")
    assert (said("it rains"), said(None), said("")) == (": it rains", "", "")
