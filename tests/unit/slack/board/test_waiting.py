"""The waiting list keeps the order of requests, holds nothing, and its offers and places expire."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.adapters.slack.web_api import Declined
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.slack.kept import OFFER_GOOD_FOR, WaitingPlace
from lamplighter.domain.slack.waiting import look_after
from lamplighter.errors import OutsideFailed
from tests.unit.slack.recording import CHANNEL, EIGHT, MINUTE, LabInSlack, evening, lab_in_slack

DAY = timedelta(hours=24)


def wish(minutes: float = 0, user: str = "U0MINJI", nodes: int = 1, **more: object) -> WaitingPlace:
    at, hour = EIGHT + minutes * MINUTE, timedelta(hours=1)
    made = WaitingPlace("gpu", at, user, f"somebody ({user})", CHANNEL, nodes, hour, at + DAY, "Asia/Seoul")
    return replace(made, **more)  # type: ignore[arg-type]


def test_of_two_in_the_same_second_the_first_to_be_heard_is_offered_it() -> None:
    early, late = wish(0, "U0MINJI", heard=EIGHT), wish(0, "U0JUN", heard=EIGHT + MINUTE / 100)
    assert look_after([late, early], [], lambda _wish, beside: beside == 0, EIGHT).offer == (early,)


def test_after_ten_minutes_it_is_the_next_ones_turn() -> None:
    early, late = wish(0, offered=EIGHT), wish(1, "U0JUN")
    found = look_after([early, late], [], lambda _wish, beside: beside == 0, EIGHT + OFFER_GOOD_FOR)
    assert found.drop == (early,)
    assert found.offer == (late,)


def test_a_wish_lapses_after_a_day() -> None:
    found = look_after([wish(0)], [], lambda _wish, _beside: True, EIGHT + DAY)
    assert found.drop == (wish(0),)
    assert not found.offer


WISHES = st.lists(
    st.builds(
        wish,
        minutes=st.integers(0, 1500),
        user=st.sampled_from(["U0A", "U0B", "U0C"]),
        nodes=st.integers(1, 3),
        offered=st.none() | st.integers(0, 1500).map(lambda minutes: EIGHT + minutes * MINUTE),
    ),
    max_size=8,
    unique_by=lambda each: (each.at, each.user),
)


@given(WISHES, st.integers(0, 4), st.integers(0, 3000))
def test_nobody_is_served_before_somebody_who_asked_earlier(
    wishes: list[WaitingPlace], free: int, minutes: int
) -> None:
    now = EIGHT + minutes * MINUTE
    found = look_after(wishes, [], lambda one, beside: one.nodes + beside <= free, now)
    standing = [each for each in wishes if each not in found.drop]
    asked = sorted((each for each in standing if each.offered is None), key=lambda each: (each.at, each.user))
    assert [*found.offer] == asked[: len(found.offer)]
    offered = [each for each in standing if each.offered is not None]
    if found.offer:
        assert sum(each.nodes for each in [*offered, *found.offer]) <= free
    assert all(
        now >= each.until or (each.offered and now >= each.offered + OFFER_GOOD_FOR) for each in found.drop
    )
    assert not {*found.offer} & {*found.drop}


def test_a_full_pool_offers_nothing_and_a_place_that_comes_free_is_offered_once(lab: LabInSlack) -> None:
    lab.put(evening(LeaseState.OPEN, ordered=EIGHT, ready=EIGHT + MINUTE))
    lab.conversation.wish(wish(5))
    lab.at(5)
    lab.tell()
    assert not [each for each in lab.slack.messages if each.channel == "U0MINJI"]

    lab.put(evening(LeaseState.CLOSED, ordered=EIGHT, closed=EIGHT + 60 * MINUTE))
    lab.at(60)
    lab.tell()
    lab.tell(("POOL#gpu", "STATE"))
    [offer] = [each for each in lab.slack.messages if each.channel == "U0MINJI"]
    assert "by 21:10 (Asia/Seoul)" in offer.words
    assert offer.buttons == ["take"]
    lab.at(71)
    lab.tell(("POOL#gpu", "STATE"))
    assert not lab.conversation.wishes("gpu", lab.at(71))


def test_an_offer_that_slack_does_not_take_is_made_again(lab: LabInSlack) -> None:
    lab.conversation.wish(wish(0))
    lab.at(1)
    lab.slack.fails = [OutsideFailed("500")]
    with pytest.raises(OutsideFailed):
        lab.tell()
    lab.tell(("POOL#gpu", "STATE"))
    assert len(lab.slack.messages) == 1


def test_where_the_app_may_send_no_direct_message_the_offer_is_whispered_where_they_asked(
    lab: LabInSlack,
) -> None:
    lab.conversation.wish(wish(0))
    lab.slack.fails = [Declined("messages_tab_disabled")]
    lab.tell()
    [(channel, user, said)] = lab.slack.whispers
    assert (channel, user) == (CHANNEL, "U0MINJI")
    assert "has room for your request" in said["text"]
    assert not lab.slack.messages


def test_what_the_budget_forbids_is_not_offered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lab = lab_in_slack(monkeypatch, tmp_path, guard={"budget": {"amount": "1"}}, windows=[])
    lab.conversation.wish(wish(0))
    lab.tell()
    assert not lab.slack.messages
