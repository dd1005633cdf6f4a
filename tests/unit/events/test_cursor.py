"""How far the trail is told: each entry once, whatever fails, and none that was committed late is missed."""

from datetime import datetime, timedelta

from lamplighter.domain.events.cursor import FIRST, GIVEN_UP_AFTER, OVERLAP, Cursor
from tests.unit.events.bus import EIGHT, MINUTE

Rows = list[tuple[str, datetime]]


def after(cursor: Cursor, read: Rows, owed: set[str], now: datetime) -> Cursor:
    """After a run that told all that it read but what is still owed."""
    return cursor.moved(read, done={key for key, _ in read} - owed, owed=owed, now=now)


def test_a_new_bus_begins_a_while_before_its_first_look() -> None:
    first = after(Cursor.first(EIGHT), [("old", EIGHT - MINUTE)], set(), EIGHT)
    assert Cursor.first(EIGHT).until == EIGHT - FIRST
    assert (first.until, first.keys) == (EIGHT, frozenset({"old"}))


def test_what_no_event_tells_is_not_kept() -> None:
    cursor = Cursor(EIGHT).moved([("a", EIGHT), ("b", EIGHT)], done={"a"}, owed=(), now=EIGHT + MINUTE)
    assert cursor.keys == {"a"}


def test_the_trail_is_read_again_from_a_while_before_and_what_was_told_is_known_by_name() -> None:
    cursor = after(Cursor(EIGHT), [("a", EIGHT), ("b", EIGHT + MINUTE)], set(), EIGHT + 2 * MINUTE)
    assert cursor.since == EIGHT + 2 * MINUTE - OVERLAP
    assert cursor.keys == {"a", "b"}
    later = after(cursor, [("a", EIGHT), ("b", EIGHT + MINUTE)], set(), EIGHT + OVERLAP + MINUTE)
    assert later.keys == {"b"}


def test_the_cursor_waits_at_what_was_not_taken_and_keeps_the_names_of_what_was() -> None:
    rows = [("a", EIGHT), ("b", EIGHT + MINUTE), ("c", EIGHT + 2 * MINUTE)]
    cursor = after(Cursor(EIGHT - MINUTE), rows, {"b"}, EIGHT + timedelta(hours=3))
    assert (cursor.until, cursor.keys) == (EIGHT + MINUTE, frozenset({"a", "c"}))


def test_a_late_entry_that_was_not_taken_never_moves_the_cursor_back() -> None:
    cursor = after(Cursor(EIGHT), [("late", EIGHT - 10 * MINUTE)], {"late"}, EIGHT + MINUTE)
    assert (cursor.until, cursor.keys) == (EIGHT, frozenset())
    assert cursor.since <= EIGHT - 10 * MINUTE


def test_an_entry_that_is_not_taken_for_a_day_is_given_up() -> None:
    rows = [("a", EIGHT), ("b", EIGHT + MINUTE)]
    within = after(Cursor(EIGHT), rows, {"a"}, EIGHT + GIVEN_UP_AFTER - MINUTE)
    gone = after(Cursor(EIGHT), rows, {"a"}, EIGHT + GIVEN_UP_AFTER)
    assert within.until == EIGHT
    assert gone.until == EIGHT + GIVEN_UP_AFTER
    assert gone.since > EIGHT


def test_an_entry_whose_clock_is_ahead_is_told_once() -> None:
    cursor = after(Cursor(EIGHT), [("ahead", EIGHT + 3 * MINUTE)], set(), EIGHT + MINUTE)
    assert (cursor.until, cursor.keys) == (EIGHT + MINUTE, frozenset({"ahead"}))
