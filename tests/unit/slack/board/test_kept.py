"""What the lab remembers of its conversation, who people are, and what buttons carry, to the last second."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.people.person import Person, id_in, mention
from lamplighter.domain.slack import kept
from lamplighter.domain.slack.asked import buttons
from lamplighter.domain.slack.asked.buttons import Carried
from lamplighter.domain.slack.kept import Shown
from tests.unit.slack.board.test_waiting import wish
from tests.unit.slack.recording import EIGHT, MINUTE

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


def test_what_is_kept_is_good_for_so_long() -> None:
    # Slack: "up to 5 times within 30 minutes" for a response_url.
    assert kept.REPLY_GOOD_FOR == 30 * MINUTE
    assert (kept.ASK_GOOD_FOR, kept.WISH_GOOD_FOR, kept.OFFER_GOOD_FOR) == (12 * HOUR, 24 * HOUR, 10 * MINUTE)
    assert kept.SEEN_KEPT == 90 * MINUTE


@pytest.mark.parametrize(
    ("later", "on_offer"), [(timedelta(), True), (10 * MINUTE - SECOND, True), (10 * MINUTE, False)]
)
def test_an_offer_can_be_taken_for_ten_minutes(later: timedelta, on_offer: bool) -> None:
    offered = wish(offered=EIGHT)
    assert offered.offered_until == EIGHT + 10 * MINUTE
    assert offered.on_offer(EIGHT + later) is on_offer
    assert wish().offered_until is None
    assert wish().on_offer(EIGHT + later) is False


def test_a_wish_is_named_by_its_asker_and_its_second() -> None:
    assert wish(1, "U0JUN").id == f"U0JUN-{int((EIGHT + MINUTE).timestamp())}"
    assert wish(1).turn == (EIGHT + MINUTE, EIGHT + MINUTE, "U0MINJI")
    assert wish(1, heard=EIGHT).turn == (EIGHT + MINUTE, EIGHT, "U0MINJI")


def test_a_message_begins_without_a_version_and_without_a_try() -> None:
    shown = Shown("gpu", "evening-1", "C0", "1.1", "d")
    assert (shown.version, shown.tries, shown.said) == (0, 0, ())


def test_somebody_is_known_unless_slack_did_not_answer() -> None:
    assert Person("U0MINJI") == Person("U0MINJI", "", frozenset(), None, known=True)


@pytest.mark.parametrize(
    ("written", "found", "mentioned"),
    [
        ("minji (U0MINJI)", "U0MINJI", "<@U0MINJI>"),
        ("jin (W0)", "W0", "<@W0>"),
        ("class", None, "class"),
        ("(U0A) (U0B)", "U0B", "<@U0B>"),
    ],
)
def test_an_owner_is_mentioned_by_their_id(written: str, found: str | None, mentioned: str) -> None:
    assert (id_in(written), mention(written)) == (found, mentioned)
    assert id_in(None) is None


WHOLE = Carried(
    "gpu", "evening-1", 2, 90 * MINUTE, EIGHT, EIGHT + HOUR, "the exam", "open", "ask-1", confirmed=True
)


def test_what_a_button_carries_is_compact_and_read_back() -> None:
    at = int(EIGHT.timestamp())

    assert WHOLE.written() == (
        f'{{"p":"gpu","l":"evening-1","n":2,"s":5400,"o":{at},"u":{at + 3600},'
        '"b":"the exam","v":"open","a":"ask-1","c":1}'
    )
    assert buttons.read(WHOLE.written()) == WHOLE
    assert buttons.read("{}") == buttons.read("") == Carried()
    assert Carried().confirmed is False


@pytest.mark.parametrize(
    ("value", "carried"),
    [
        ('{"n":1}', Carried(nodes=1)),
        ('{"n":0}', Carried()),
        ('{"n":true}', Carried()),
        ('{"n":9999999999}', Carried(nodes=10**10 - 1)),
        ('{"n":10000000000}', Carried()),
        ('{"c":2}', Carried()),
        ('{"o":1}', Carried(opens=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))),
        ('{"p":""}', Carried()),
    ],
)
def test_a_number_that_is_none_of_ours_says_nothing(value: str, carried: Carried) -> None:
    assert buttons.read(value) == carried


def test_names_are_read_up_to_three_hundred_letters_and_reasons_whole() -> None:
    found = buttons.read(f'{{"p":"{"x" * 301}","b":"{"y" * 2001}"}}')
    assert (found.pool, found.because) == ("x" * 300, "y" * 2000)


@pytest.mark.parametrize(("letter", "written"), [("x", 1), ('"', 2)])
def test_a_reason_that_is_too_long_is_carried_as_far_as_it_fits(letter: str, written: int) -> None:
    room = (2000 - len(replace(WHOLE, because="").written())) // written

    def value(length: int) -> str:
        return replace(WHOLE, because=letter * length).written()

    assert buttons.read(value(room)).because == letter * room
    assert value(room + 1) == value(5000)
    assert 2000 - written < len(value(5000)) <= 2000
    assert (buttons.read(value(5000)).because or "").strip(letter) == "…"
