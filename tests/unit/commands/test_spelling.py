"""Typed text made plain: odd spaces, quotes, capitals, and every other way to write a length or a time."""

import pytest

from lamplighter.domain.commands.spelling import words

NAMES = ("GPU", "Evening", "please")


def said(text: str, names: tuple[str, ...] = ()) -> str:
    return " ".join(words(text, names))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("open for 1.5h", "open for 90m"),
        ("open for 2,3 hours", "open for 138m"),
        ("open for 0.1 hr", "open for 6m"),
        ("open at 12 am", "open at 00:00"),
        ("open at 12:05 am", "open at 00:05"),
        ("open at 12 pm", "open at 12:00"),
        ("open at 1 p.m.", "open at 13:00"),
        ("open at 11:59 PM", "open at 23:59"),
        ("open at 9am", "open at 09:00"),
        ("open until noon", "open until 12:00"),
        ("open at 20h30", "open at 20:30"),
        ("open at 9", "open at 9:00"),
        ("open for 2 h and 5 min", "open for 2h5m"),
        ("open for an hour and a half", "open for 1h30m"),
    ],
)
def test_times_and_lengths_are_written_as_our_grammar_has_them(text: str, plain: str) -> None:
    assert said(text) == plain


@pytest.mark.parametrize(
    ("number", "digit"),
    [
        (word, str(at))
        for at, word in enumerate(["one", "two", "three", "four", "five", "six", "seven", "eight"], 1)
    ],
)
def test_numbers_up_to_eight_may_be_written_out(number: str, digit: str) -> None:
    assert said(f"open {number.upper()} nodes") == f"open {digit}"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("open 2 nodes", "open 2"),
        ("open 2  Machines!", "open 2"),
        ("open two node", "open 2"),
        ("open nodes", "open nodes"),
        ("nodes", "nodes"),
        ("x nodes", "x nodes"),
    ],
)
def test_nodes_behind_a_number_say_nothing_more(text: str, plain: str) -> None:
    assert said(text) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("please open the pool now", "open"),
        ("Please!", "Please"),
        ("window", "window"),
        ("window?", "window"),
        ("the window", ""),
        ("?", "?"),
        ("open ?", "open ?"),
        ("??!", "?"),
        ("open . 2", "open 2"),
        ("", ""),
    ],
)
def test_words_that_say_nothing_are_left_out_unless_they_are_all_there_is(text: str, plain: str) -> None:
    assert said(text) == plain


def test_a_name_of_the_lab_is_written_as_the_lab_writes_it() -> None:
    assert said("open gpu, EVENING please now", NAMES) == "open GPU Evening please"


def test_our_own_words_are_small_and_others_stay_as_they_were() -> None:
    assert said("Open X AT 8 FOR 2h UNTIL 9") == "Open X at 8:00 for 2h until 9:00"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("open BECAUSE  the \u201cExam\u201d, please", "open because the \u201cExam\u201d, please"),
        ("because of it", "because of it"),
        ("open because", "open"),
        ("open because a because b", "open because a because b"),
        ("open becauses", "open becauses"),
    ],
)
def test_a_reason_stays_as_it_was_typed(text: str, plain: str) -> None:
    assert said(text) == plain
