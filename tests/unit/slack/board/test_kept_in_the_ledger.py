"""What the ledger keeps of the conversation in Slack: whole, once, in its order, and for how long."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger.ledger import Conflict, Ledger
from lamplighter.domain.people.person import Person
from lamplighter.domain.slack.kept import ApprovalRequest, Reply, Seen, Shown, WaitingPlace
from tests.ledger_table import kept

EIGHT = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
REPLY = Reply("open-1", "gpu", "U1", "https://answer", "C1", "1 node now", EIGHT + DAY)
ASK = ApprovalRequest(
    "ask-1", "gpu", "U1", "jun (U1)", "C1", "1 node now", {"verb": "open"}, EIGHT, EIGHT + DAY, "UTC"
)
WISH = WaitingPlace("gpu", EIGHT, "U1", "jun (U1)", "C1", 2, None, EIGHT + DAY, "Asia/Seoul")
SHOWN = Shown("gpu", "cli-1", "C1", "1.5", "abc")


def lapses(sort_key: str, partition: str = "SLACK") -> Any:
    return kept(partition, sort_key)["ttl"]


@pytest.mark.parametrize(
    "reply",
    [REPLY, replace(REPLY, url=None, thread="1.5", ordered={"verb": "open", "nodes": 1}, zone="Asia/Seoul")],
)
def test_an_answer_is_owed_as_it_was_first_noted_and_given_by_one_at_a_time(
    ledger: Ledger, reply: Reply
) -> None:
    assert ledger.owed("open-1") is None
    assert ledger.order(reply, "r-1", EIGHT)
    assert not ledger.order(replace(reply, channel="C2"), "r-2", EIGHT)

    assert ledger.owed("open-1") == reply
    assert ledger.all_owed() == ["open-1"]
    assert lapses("REPLY#open-1") == int((EIGHT + DAY).timestamp())
    assert [ledger.begin_answer("open-1", EIGHT) for _ in range(2)] == [True, False]
    # Who began may have died.
    assert ledger.begin_answer("open-1", EIGHT + 60 * SECOND)
    # Slack did not take it, so it may be given again at once.
    ledger.end_answer("open-1", given=False)
    assert ledger.begin_answer("open-1", EIGHT + 61 * SECOND)
    ledger.end_answer("open-1", given=True)
    assert not ledger.begin_answer("open-1", EIGHT + DAY)
    ledger.end_answer("open-1", given=False)
    assert (ledger.owed("open-1"), ledger.all_owed()) == (None, [])


def test_an_ask_is_filed_once_and_the_first_word_on_it_stands(ledger: Ledger) -> None:
    assert (ledger.ask("ask-1"), ledger.file_ask(ASK), ledger.file_ask(ASK)) == (None, True, False)
    assert ledger.ask("ask-1") == ASK
    ledger.show_ask("ask-1", "1.5")
    ledger.show_ask("ask-2", "1.5")
    shown = replace(ASK, channel_ts="1.5")

    approved = ledger.settle_ask(shown, "approved", "minji (U2)", "r-1")

    assert approved == replace(shown, state="approved", by="minji (U2)", request="r-1")
    assert ledger.settle_ask(shown, "declined", "bob (U3)", "r-2") == ledger.ask("ask-1") == approved
    assert ledger.ask("ask-2") is None
    lapsed = replace(ASK, id="ask-3")
    assert ledger.settle_ask(lapsed, "approved", "minji (U2)", "r-3") == lapsed


def test_who_waits_waits_in_the_order_of_asking_until_the_wish_lapses(ledger: Ledger) -> None:
    second = replace(
        WISH, at=EIGHT + SECOND, user="U0", lasting=timedelta(hours=1), because="exam",
        earliest=EIGHT + DAY, heard=EIGHT + 2 * SECOND, until=EIGHT + 2 * DAY,
    )  # fmt: skip
    third = replace(second, user="U2", heard=EIGHT + SECOND)
    for wish in (second, WISH, third, WISH):
        ledger.wish(wish)
    ledger.wish(replace(WISH, pool="other"))

    assert ledger.wishes("gpu", EIGHT + DAY - SECOND) == [WISH, third, second]
    assert ledger.wishes("gpu", EIGHT + DAY) == [third, second]
    ledger.unwish(third)
    assert ledger.wishes("gpu", EIGHT + DAY) == [second]
    assert ledger.wishes("gpu", EIGHT + 2 * DAY) == []


def test_a_place_is_offered_once(ledger: Ledger) -> None:
    assert ledger.offer(WISH, EIGHT) is False
    ledger.wish(WISH)
    assert [ledger.offer(WISH, EIGHT), ledger.offer(WISH, EIGHT + SECOND)] == [True, False]
    assert ledger.wishes("gpu", EIGHT) == [replace(WISH, offered=EIGHT)]


def test_only_a_run_s_own_offer_is_taken_back_and_no_place_that_was_given_up(ledger: Ledger) -> None:
    ledger.wish(WISH)
    ledger.offer(WISH, EIGHT)
    ledger.take_back(WISH, EIGHT + SECOND)
    assert ledger.wishes("gpu", EIGHT) == [replace(WISH, offered=EIGHT)]

    ledger.take_back(WISH, EIGHT)
    assert ledger.wishes("gpu", EIGHT) == [WISH]

    ledger.unwish(WISH)
    ledger.take_back(WISH, EIGHT)
    assert ledger.wishes("gpu", EIGHT) == []


def test_a_message_has_its_versions_and_nobody_writes_over_one_that_was_not_read(ledger: Ledger) -> None:
    assert ledger.shown("gpu", "cli-1") is None
    first = ledger.show(SHOWN, until=EIGHT)
    assert (first, ledger.shown("gpu", "cli-1")) == (replace(SHOWN, version=1), first)
    assert lapses("MESSAGE#cli-1", "SLACK#gpu") == int(EIGHT.timestamp())
    with pytest.raises(Conflict):
        ledger.show(SHOWN)

    told = replace(
        first, told=EIGHT, said=("opened", "warned"), posting="closed", posting_since=EIGHT, tries=2, ts="2.5"
    )
    second = ledger.show(told)

    assert (second, ledger.shown("gpu", "cli-1")) == (replace(told, version=2), second)
    with pytest.raises(Conflict):
        ledger.show(first)


@pytest.mark.parametrize("person", [Person("U1"), Person("U1", "Jun", frozenset({"S2", "S1"}), "Asia/Seoul")])
def test_who_somebody_is_is_kept_for_a_week(ledger: Ledger, person: Person) -> None:
    assert ledger.known("U1") is None
    ledger.know(person, EIGHT)
    assert ledger.known("U1") == (person, EIGHT)
    assert lapses("PERSON#U1") == int((EIGHT + 7 * DAY).timestamp())


def test_that_a_request_was_answered_is_kept_for_an_hour_and_a_half(ledger: Ledger) -> None:
    assert ledger.seen("r-1") is None
    for _ in range(2):
        ledger.note_seen("r-1", EIGHT)
    assert ledger.seen("r-1") == Seen()
    assert lapses("SEEN#r-1") == int((EIGHT + timedelta(minutes=90)).timestamp())


def test_a_request_and_the_answer_that_its_command_is_owed_are_kept_together(ledger: Ledger) -> None:
    owed = replace(REPLY, ordered={"verb": "open", "nodes": 1})
    assert ledger.order(owed, "r-1", EIGHT)
    assert (ledger.owed("open-1"), ledger.seen("r-1")) == (owed, Seen(owed.ordered))
    # The same request again, and another request that gives the same command.
    assert not ledger.order(replace(owed, url=None), "r-1", EIGHT)
    assert not ledger.order(replace(owed, url=None), "r-2", EIGHT)
    assert (ledger.owed("open-1"), ledger.seen("r-2")) == (owed, None)
    assert not ledger.order(replace(owed, command="open-2"), "r-1", EIGHT)
    assert ledger.owed("open-2") is None
