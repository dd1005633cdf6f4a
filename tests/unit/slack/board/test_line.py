"""The waiting list of a full pool: an offer is taken once, in time, and only by the person who got it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lamplighter.domain.slack.kept import WaitingPlace
from lamplighter.domain.slack.waiting import offer_message
from tests.unit.slack.board.test_waiting import wish
from tests.unit.slack.recording import EIGHT, INSTRUCTOR, MINUTE, STUDENT
from tests.unit.slack.requests import Knocks, agreeing, buttons, full, pressed, running, signed, silent

HOUR = timedelta(hours=1)
JIN = f"jin ({INSTRUCTOR})"


def standing(user: str, minutes: float = -60, because: str | None = None) -> WaitingPlace:
    """A place in line."""
    place = wish(minutes, user, owner=f"jin ({user})", lasting=HOUR / 2, because=because)
    return replace(place, heard=place.at)


def offered(door: Knocks, user: str = INSTRUCTOR, because: str | None = None) -> Mapping[str, Any]:
    """The button of what somebody who stands in line is offered at eight."""
    place = standing(user, because=because)
    door.lab.conversation.wish(place)
    assert door.lab.conversation.offer(place, EIGHT)
    said = offer_message(replace(place, offered=EIGHT), door.lab.board.style("Asia/Seoul")).to_json()
    return buttons(said)["take"]


def test_a_pool_that_is_open_and_full_says_from_when_on_more_would_be_granted(door: Knocks) -> None:
    door.lab.put(running("evening-class", EIGHT + 3 * HOUR, nodes=2, window="evening"))
    said = door.type("open 1 for 30m because of the exam")
    assert "gpu is open until 23:00 (Asia/Seoul) (evening). You can use it now" in said["text"]
    assert "would be granted at 23:00 (Asia/Seoul)" in said["text"]
    assert list(buttons(said)) == ["keep-until", "tell-me", "book"]

    assert "first in line for gpu" in door.press(buttons(said)["tell-me"])["text"]
    [place] = door.lab.ledger.wishes("gpu", EIGHT)
    assert (place.nodes, place.lasting, place.because) == (1, HOUR / 2, "of the exam")
    assert place.earliest == EIGHT + 3 * HOUR
    assert not door.workflows.starts


def test_who_asks_in_the_same_second_comes_in_the_order_of_being_heard(door: Knocks) -> None:
    door.lab.put(running("evening-class", EIGHT + 3 * HOUR, nodes=2, window="evening"))
    tell_me = buttons(door.type("open 1 for 30m"))["tell-me"]
    door.lab.conversation.wish(standing("U0ZOE", 0))
    door.lab.at(0.005)
    for _ in range(2):
        assert "number 2 in line" in door.press(tell_me)["text"]
    assert [place.user for place in door.lab.ledger.wishes("gpu", EIGHT)] == ["U0ZOE", INSTRUCTOR]


def test_what_would_run_into_the_next_window_is_full_as_well(door: Knocks) -> None:
    door.lab.put(running("evening-class", EIGHT + HOUR, nodes=1))
    door.lab.put(running("late-class", EIGHT + 4 * HOUR, id="late", nodes=2, opens=EIGHT + 2 * HOUR))
    assert "granted at 2026-11-21 00:00" in door.type("open 1 for 3h")["text"]
    assert list(buttons(door.type("open 1 for 90m"))) == ["keep-until", "add"]


def test_for_what_no_waiting_would_change_nobody_waits(door: Knocks) -> None:
    door.lab.put(running("evening-class", EIGHT + 3 * HOUR, nodes=2))
    said = door.type("open 9")
    assert "Nothing changed: 9 nodes were asked for, and pool gpu has at most 2." in said["text"]
    assert list(buttons(said)) == ["keep-until"]


def test_an_offer_is_one_command_however_often_it_is_pressed(door: Knocks) -> None:
    take = offered(door, because="of the exam")
    door.lab.at(9)
    first, again = door.press(take), door.press(take)
    assert "Granted: 1 node on gpu until 20:39" in first["text"]
    assert first["text"] == again["text"]
    [command] = door.workflows.commands
    assert (command.owner, command.by, command.add) == (JIN, JIN, True)
    assert (command.nodes, command.lasting, command.because) == (1, HOUR / 2, "of the exam")

    door.lab.at(30)  # and its button says so still, when others are offered what comes free
    assert "Granted" in door.press(take)["text"]
    assert len(door.workflows.starts) == 1


def test_an_undecided_command_is_not_given_twice(door: Knocks) -> None:
    door.workflows.decide = silent
    take = offered(door)
    assert door.answers(signed(pressed(take, INSTRUCTOR, "1"))) == []
    assert "The lab is deciding" in door.press(take)["text"]
    assert len(door.workflows.starts) == 1


@pytest.mark.parametrize("minutes", [10, 24 * 60])
def test_an_offer_that_has_lapsed_opens_nothing_and_says_so(door: Knocks, minutes: int) -> None:
    take = offered(door)
    door.lab.at(minutes)
    said = door.press(take)
    assert "This offer has expired, and nothing was opened. Type `/gpu open`" in said["text"]
    assert not buttons(said)
    assert not door.workflows.starts


def test_an_offer_is_nobody_elses(door: Knocks) -> None:
    take = offered(door, STUDENT)
    assert "expired" in door.press(take, INSTRUCTOR)["text"]
    assert not door.workflows.starts


def test_whoever_may_open_no_more_takes_nothing(door: Knocks) -> None:
    take = offered(door, STUDENT)
    assert "Not allowed" in door.press(take, STUDENT)["text"]
    assert not door.workflows.starts


def test_whoever_asks_while_a_place_is_theirs_to_take_hears_until_when(door: Knocks) -> None:
    door.lab.put(running("evening-class", EIGHT + 3 * HOUR, nodes=2))
    tell_me = buttons(door.type("open"))["tell-me"]
    offered(door)
    door.lab.at(5)
    assert "There is room for you on gpu until 20:10 (Asia/Seoul)" in door.press(tell_me)["text"]
    assert len(door.lab.ledger.wishes("gpu", EIGHT)) == 1


def test_who_was_too_slow_for_another_stands_in_line_again(door: Knocks) -> None:
    door.workflows.decide = full
    refused = door.press(offered(door))
    assert "Refused: pool gpu is full" in refused["text"]
    door.lab.at(1)
    assert "first in line" in door.press(buttons(refused)["tell-me"])["text"]
    [place] = door.lab.ledger.wishes("gpu", EIGHT)
    assert (place.at, place.offered) == (EIGHT + MINUTE, None)


def test_who_let_an_offer_lapse_stands_in_line_again_behind_the_others(door: Knocks) -> None:
    door.lab.put(running("evening-class", EIGHT + 3 * HOUR, nodes=2))
    tell_me = buttons(door.type("open"))["tell-me"]
    offered(door)
    other = replace(door.lab.ledger.wishes("gpu", EIGHT)[0], user=STUDENT, at=EIGHT, offered=None)
    door.lab.conversation.wish(other)
    door.lab.at(10)
    assert "number 2 in line" in door.press(tell_me)["text"]
    assert [each.user for each in door.lab.ledger.wishes("gpu", EIGHT)] == [STUDENT, INSTRUCTOR]


def test_a_wish_by_somebody_who_may_ask_only_becomes_an_ask_for_more(door: Knocks) -> None:
    door.workflows.decide = agreeing
    door.lab.put(running("evening-class", EIGHT + 3 * HOUR, nodes=2))
    may_not = door.press(buttons(door.type("open"))["tell-me"], STUDENT)
    assert "Not allowed" in may_not["text"]
    assert '"v":"add"' in buttons(may_not)["ask"]["value"]
    assert not door.lab.ledger.wishes("gpu", EIGHT)
