"""How far the trail is told: each entry once, whatever fails, and none that was committed late is missed."""

from datetime import timedelta

from lamplighter.domain.events.cursor import GIVEN_UP_AFTER, OVERLAP, Cursor
from tests.unit.events.bus import EIGHT, MINUTE


def test_what_happened_before_the_first_look_is_history() -> None:
    first = Cursor.first(EIGHT).moved([("old", EIGHT - MINUTE)], (), EIGHT)

    assert (first.until, first.keys) == (EIGHT, frozenset({"old"}))


def test_the_trail_is_read_again_from_a_while_before_and_what_was_told_is_known_by_name() -> None:
    cursor = Cursor(EIGHT).moved([("a", EIGHT), ("b", EIGHT + MINUTE)], (), EIGHT + 2 * MINUTE)

    assert cursor.since == EIGHT + 2 * MINUTE - OVERLAP
    assert cursor.keys == {"a", "b"}
    later = cursor.moved([("a", EIGHT), ("b", EIGHT + MINUTE)], (), EIGHT + OVERLAP + MINUTE)
    assert later.keys == {"b"}


def test_the_cursor_waits_at_what_was_not_taken_and_keeps_the_names_of_what_was() -> None:
    rows = [("a", EIGHT), ("b", EIGHT + MINUTE), ("c", EIGHT + 2 * MINUTE)]
    cursor = Cursor(EIGHT - MINUTE).moved(rows, {"b"}, EIGHT + timedelta(hours=3))

    assert (cursor.until, cursor.keys) == (EIGHT + MINUTE, frozenset({"a", "c"}))


def test_a_late_entry_that_was_not_taken_never_moves_the_cursor_back() -> None:
    cursor = Cursor(EIGHT).moved([("late", EIGHT - 10 * MINUTE)], {"late"}, EIGHT + MINUTE)

    assert (cursor.until, cursor.keys) == (EIGHT, frozenset())
    assert cursor.since <= EIGHT - 10 * MINUTE


def test_an_entry_that_is_not_taken_for_a_day_is_given_up() -> None:
    rows = [("a", EIGHT), ("b", EIGHT + MINUTE)]
    within = Cursor(EIGHT).moved(rows, {"a"}, EIGHT + GIVEN_UP_AFTER - MINUTE)
    after = Cursor(EIGHT).moved(rows, {"a"}, EIGHT + GIVEN_UP_AFTER)

    assert within.until == EIGHT
    assert after.until == EIGHT + GIVEN_UP_AFTER
    assert after.since > EIGHT


def test_an_entry_whose_clock_is_ahead_is_told_once() -> None:
    cursor = Cursor(EIGHT).moved([("ahead", EIGHT + 3 * MINUTE)], (), EIGHT + MINUTE)

    assert (cursor.until, cursor.keys) == (EIGHT + MINUTE, frozenset({"ahead"}))
