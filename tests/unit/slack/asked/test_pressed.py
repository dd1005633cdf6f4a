"""The meaning of each button, and of words at the edges of the grammar."""

import pytest

from lamplighter.domain.commands.words import OpenWords
from lamplighter.domain.slack.asked.buttons import ButtonAction, Carried
from lamplighter.domain.slack.asked.understand import (
    ELSEWHERE,
    NotUnderstood,
    Understood,
    Word,
    WordContext,
    pressed,
)
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason
from tests.unit.slack.asked.test_understand import MINUTE, NOW, TWO, read

SAID = OpenWords("gpu", 2, NOW, 90 * MINUTE, NOW, because="the exam")
CARRIED = Carried("gpu", "evening-1", 2, 90 * MINUTE, NOW, NOW, "the exam", ask="ask-1")


@pytest.mark.parametrize(
    ("action", "meant"),
    [
        (ButtonAction.OPEN, Understood(Word.OPEN, SAID, "evening-1")),
        (ButtonAction.ADD, Understood(Word.OPEN, SAID, "evening-1", add=True)),
        (ButtonAction.EXTEND, Understood(Word.EXTEND, SAID, "evening-1")),
        (ButtonAction.KEEP_UNTIL, Understood(Word.EXTEND, SAID, "evening-1")),
        (ButtonAction.CLOSE, Understood(Word.CLOSE, SAID, "evening-1")),
        (ButtonAction.CONFIRM, Understood(Word.CLOSE, SAID, "evening-1", confirmed=True)),
        (ButtonAction.ASK, Understood(Word.ASK, SAID, "evening-1", asks=Word.OPEN)),
        (ButtonAction.APPROVE, Understood(Word.APPROVE, ask="ask-1")),
        (ButtonAction.DECLINE, Understood(Word.DECLINE, ask="ask-1")),
        (ButtonAction.KEEP, Understood(Word.KEEP, SAID, "evening-1", ask="ask-1")),
        (ButtonAction.WHY, Understood(Word.WHY, SAID, "evening-1", ask="ask-1")),
        (ButtonAction.TELL_ME, Understood(Word.TELL_ME, SAID, "evening-1", ask="ask-1")),
        ("book:3", Understood(Word.BOOK, SAID, "evening-1", ask="ask-1")),
        (ButtonAction.TAKE, Understood(Word.TAKE, SAID, "evening-1", ask="ask-1")),
    ],
)
def test_a_button_does_what_it_is_called(action: ButtonAction, meant: Understood) -> None:
    assert pressed(action, CARRIED) == meant


def test_close_is_confirmed_where_its_own_dialog_named_the_owner() -> None:
    assert pressed(ButtonAction.CLOSE, Carried("gpu", confirmed=True)) == Understood(
        Word.CLOSE, OpenWords("gpu"), "gpu", confirmed=True
    )
    assert pressed(ButtonAction.CONFIRM, Carried("gpu")).confirmed


@pytest.mark.parametrize(
    ("verb", "asks", "add"),
    [("open", Word.OPEN, False), ("add", Word.OPEN, True), ("extend", Word.EXTEND, False), (None, Word.OPEN, False)],
)  # fmt: skip
def test_an_ask_is_for_nodes_or_for_time(verb: str | None, asks: Word, add: bool) -> None:
    found = pressed(ButtonAction.ASK, Carried("gpu", verb=verb))
    assert (found.word, found.asks, found.add) == (Word.ASK, asks, add)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("why gpu", Understood(Word.WHY, what="gpu")),
        ("why evening", Understood(Word.WHY)),
        ("why", Understood(Word.WHY)),
        ("keep gpu because I am back", Understood(Word.KEEP, OpenWords(because="I am back"), "gpu")),
        ("keep because I am back", Understood(Word.KEEP, OpenWords(because="I am back"))),
        ("close yes", Understood(Word.CLOSE, confirmed=True)),
        ("close YES because done", Understood(Word.CLOSE, OpenWords(because="done"), confirmed=True)),
        ("close gpu because done", Understood(Word.CLOSE, OpenWords(because="done"), "gpu")),
        ("resume because well", Understood(Word.RESUME, OpenWords(because="well"))),
        ("open 2 90m", Understood(Word.OPEN, OpenWords(nodes=2, duration=90 * MINUTE))),
        ("open 90m because 30m", Understood(Word.OPEN, OpenWords(duration=90 * MINUTE, because="30m"))),
    ],
)
def test_what_is_left_out_is_not_made_up(text: str, meant: Understood) -> None:
    assert read(text) == meant


@pytest.mark.parametrize("text", ["open 90m 30m", "open 90m for 30m"])
def test_of_two_lengths_none_is_chosen(text: str) -> None:
    with pytest.raises(BadInput):
        read(text)


@pytest.mark.parametrize("word", ["skip", "unskip"])
def test_the_only_window_needs_no_name(word: str) -> None:
    one = WordContext(["gpu"], ["evening"], NOW, TWO.zone)

    assert read(word, one) == Understood(Word(word), window="evening")
    which = reason("slack.which-window", word=word, windows=("evening", "night"))
    none = WordContext(["gpu"], [], NOW, TWO.zone)
    for place, why in ((none, reason("slack.no-windows")), (TWO, which)):
        with pytest.raises(BadInput) as refused:
            read(word, place)
        assert refused.value.said == why


@pytest.mark.parametrize("word", sorted(ELSEWHERE))
def test_what_needs_a_shell_says_so(word: str) -> None:
    with pytest.raises(BadInput, match=f"`lamplighter {word}` in a shell"):
        read(f"{word.upper()} x")


def test_a_word_that_is_not_understood_is_named_in_eighty_letters() -> None:
    with pytest.raises(NotUnderstood) as refused:
        read("z" * 81)
    assert str(refused.value) == f"'{'z' * 80}' is not a command"
    with pytest.raises(NotUnderstood, match=r"'opne' is not a command\. Did you mean 'open'"):
        read("opne")


def test_a_button_of_an_older_release_is_named_in_eighty_letters() -> None:
    with pytest.raises(BadInput) as refused:
        pressed("z" * 81, Carried())
    assert refused.value.said == reason("slack.unknown-button", button="z" * 80)
