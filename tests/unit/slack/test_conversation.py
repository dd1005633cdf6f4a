"""Conversations in Slack: what the lab understands, allows, orders and answers, and which buttons it offers."""

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamplighter import clock
from lamplighter.adapters.aws.ledger import items
from lamplighter.domain.commands.command import Verb
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.people.person import Person
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason
from tests.unit.slack.recording import CHANNEL, EIGHT, INSTRUCTOR, MINUTE, STUDENT
from tests.unit.slack.requests import (
    HOOK,
    Knocks,
    agreeing,
    buttons,
    full,
    knocks,
    pressed,
    running,
    signed,
    silent,
    typed,
)

HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)
JIN, MINJI = f"jin ({INSTRUCTOR})", f"minji ({STUDENT})"


def small_print(said: Mapping[str, Any]) -> str:
    return str(said["blocks"][-1]["elements"][0]["text"])


def approver_buttons(door: Knocks) -> tuple[dict[str, str], dict[str, str]]:
    """Approve and decline, under the only request for approval."""
    [ask_id] = [key.removeprefix("ASK#") for _, key in door.lab.dynamodb.items if key.startswith("ASK#")]
    approve = {"action_id": "approve", "type": "button", "value": f'{{"p":"gpu","a":"{ask_id}"}}'}
    return approve, approve | {"action_id": "decline"}


def test_open_is_ordered_as_the_command_line_does_and_the_answer_shows_what_was_understood(
    door: Knocks,
) -> None:
    said = door.type("open 1 for 90m because of the exam")
    [command] = door.workflows.commands
    assert door.workflows.starts[0].workflow == "arn:OpenLab"
    assert command.id.startswith("slack-open-")
    assert (command.verb, command.pool, command.nodes) == (Verb.OPEN, "gpu", 1)
    assert (command.owner, command.by, command.source) == (JIN, JIN, "slack")
    assert (command.lasting, command.because) == (1.5 * HOUR, "of the exam")
    assert "Granted: 1 node on gpu until 21:30 (Asia/Seoul)" in said["text"]
    assert small_print(said) == "Understood as: open 1 node on gpu now, until 21:30 (Asia/Seoul)"


def test_times_are_the_askers_own(door: Knocks) -> None:
    door.slack.people[INSTRUCTOR] = Person(INSTRUCTOR, "jin", zone="Europe/Berlin")
    said = door.type("open until 13:30")  # 12:00 in Berlin
    assert door.workflows.commands[0].closes == EIGHT + 1.5 * HOUR
    assert "until 13:30 (Europe/Berlin)" in said["text"]


def test_where_slack_names_no_zone_the_labs_own_counts(door: Knocks) -> None:
    for person in (Person(INSTRUCTOR, "jin", known=False), Person(INSTRUCTOR, "jin", zone="Mars/Base")):
        door.slack.people[INSTRUCTOR] = person
        said = door.type("open until 21:30")
        assert "(Asia/Seoul)" in said["text"]
        assert "Slack did not say your time zone in time" in str(said["blocks"])


def test_a_request_that_did_nothing_does_nothing_later_either(door: Knocks) -> None:
    lease = door.lab.put(running("evening-class", EIGHT + HOUR))
    request = signed(typed("open", INSTRUCTOR))
    assert "You can use it now" in door.told(request)["text"]
    door.lab.put(running("evening-class", EIGHT, opens=lease.opens))  # it is over by now
    assert door.answers(request) == []
    assert not door.workflows.starts


def test_a_pool_that_is_open_is_to_be_used_and_only_add_adds(door: Knocks) -> None:
    door.lab.put(running("evening-class", EIGHT + 3 * HOUR, window="evening"))
    said = door.type("open")
    assert "gpu is open until 23:00 (Asia/Seoul) (evening)" in said["text"]
    assert not door.workflows.starts
    assert list(buttons(said)) == ["keep-until", "add"]

    added = door.press(buttons(said)["add"])
    [command] = door.workflows.commands
    assert command.add
    assert "Understood as: add 1 node to gpu" in added["text"]
    assert door.sent[-1][0] == HOOK


def test_what_no_pool_of_this_size_grants_changes_nothing_and_the_rest_is_offered(door: Knocks) -> None:
    door.lab.put(running("evening-class", EIGHT + 3 * HOUR))
    said = door.type("open 3 for 1h")
    assert "Nothing changed: 3 nodes were asked for, and pool gpu has at most 2." in said["text"]
    assert "would be granted" not in said["text"]
    assert (buttons(said)["add"]["text"]["text"], json.loads(buttons(said)["add"]["value"])["n"]) == (
        "Add a node",
        1,
    )


@pytest.mark.parametrize("text", ["open 1 for 5h", "open 2 for 5h"])
def test_no_instant_is_promised_that_the_role_may_never_have(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    roles = {"staff": {"members": [INSTRUCTOR], "may": ["open", "extend"], "longest": "3h"}}
    door = knocks(monkeypatch, tmp_path, slack={"roles": roles})
    door.lab.put(running("evening-class", EIGHT + 3 * HOUR, nodes=2))
    said = door.type(text)
    assert "Nothing changed: the role staff may have nodes for 3h, and this would be 5h." in said["text"]
    assert "would be granted" not in said["text"]
    assert not buttons(said)


def test_who_may_not_open_sees_that_and_may_ask_but_not_add(door: Knocks) -> None:
    door.lab.put(running("evening-class", EIGHT + 3 * HOUR))
    said = door.type("open 1 for 1h", STUDENT)
    assert "gpu is open until 23:00" in said["text"]
    assert "Nothing changed: you have no role in this lab" in said["text"]
    assert list(buttons(said)) == ["ask"]

    door.press(buttons(said)["ask"], STUDENT)
    door.press(approver_buttons(door)[0], INSTRUCTOR)
    [command] = door.workflows.commands
    assert (command.add, command.owner) == (True, MINJI)


def test_one_s_own_lease_may_be_kept_as_long_as_the_role_allows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    roles = {"class": {"members": [STUDENT], "may": ["open"], "max_nodes": 1, "longest": "2h"}}
    door = knocks(monkeypatch, tmp_path, slack={"roles": roles})
    door.lab.put(running(MINJI, EIGHT + HOUR))  # since ten minutes before eight
    said = door.type("open 1 for 1h", STUDENT)
    assert "Nothing changed: the role class may have 1 node at once, and this would make 2." in said["text"]
    assert list(buttons(said)) == ["keep-until"]
    [option] = buttons(said)["keep-until"]["options"]
    assert option["text"]["text"] == "21:30"


def test_a_place_in_the_line_is_only_for_who_may_open(door: Knocks) -> None:
    door.lab.put(running("evening-class", EIGHT + HOUR, nodes=2))
    assert "tell-me" in buttons(door.type("open 1 for 1h"))
    said = door.type("open 1 for 1h", STUDENT)
    assert "Nothing changed: you have no role in this lab" in said["text"]
    assert not buttons(said)


@pytest.mark.parametrize(
    ("budget", "text", "offered"),
    [
        (100, "open 1 for 1h", ["keep-until 21:30", "keep-until 22:00", "keep-until 23:00", "add 1"]),
        (1, "open 1 for 1h", ["keep-until 21:30"]),
        (1, "open 3 for 30m", ["keep-until 21:30", "add 1"]),
        (0.2, "open 3 for 1h", []),
    ],
)
def test_what_the_budget_refuses_is_not_offered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, budget: float, text: str, offered: list[str]
) -> None:
    door = knocks(monkeypatch, tmp_path, guard={"budget": {"amount": str(budget)}})
    door.lab.put(running("evening-class", EIGHT + HOUR))
    found = buttons(door.type(text))
    ends = [option["text"]["text"] for option in found.pop("keep-until", {"options": []})["options"]]
    assert [
        *(f"keep-until {end}" for end in ends),
        *(f"{action} {json.loads(button['value'])['n']}" for action, button in found.items()),
    ] == offered


def test_free_gpus_are_as_the_guard_saw_them(door: Knocks) -> None:
    door.lab.put(running("evening-class", EIGHT + HOUR))
    at = int((EIGHT - HOUR / 12).timestamp() * 1000)
    door.lab.set_pool(gpus_in_use=0, gpus_seen=1, gpus_seen_at=at)
    assert "1 GPU is free: you can use it now" in door.type("open")["text"]


def test_keep_until_extends_what_runs(door: Knocks) -> None:
    door.lab.put(running("evening-class", EIGHT + 3 * HOUR))
    door.press(buttons(door.type("open"))["keep-until"])
    [command] = door.workflows.commands
    assert (command.verb, command.lease) == (Verb.EXTEND, "slack-1a2b3c4d")
    assert command.closes == EIGHT + 3.5 * HOUR


def test_who_may_not_open_may_ask_and_the_receipt_names_both(door: Knocks) -> None:
    refused = door.type("open 1 for 90m because homework", STUDENT)
    assert "Not allowed: you have no role in this lab" in refused["text"]
    assert not door.workflows.starts

    asked = door.press(buttons(refused)["ask"], STUDENT)
    assert f"<#{CHANNEL}>" in asked["text"]
    approve, decline = approver_buttons(door)
    ask = door.lab.ledger.ask(json.loads(approve["value"])["a"])
    assert ask is not None
    assert (ask.user, ask.owner, ask.state) == (STUDENT, MINJI, "asked")
    assert ask.understood == "open 1 node on gpu now, until 21:30 (Asia/Seoul)"

    assert "no role in this lab" in door.press(approve, STUDENT)["text"]
    assert not door.workflows.starts
    said = door.press(approve, INSTRUCTOR)
    [command] = door.workflows.commands
    assert (command.owner, command.by) == (MINJI, JIN)
    assert command.because == reason(
        "slack.asked-and-approved.because", owner=MINJI, because="homework", by=JIN
    )
    assert f"for {MINJI}" in said["text"]

    assert f"Approved by {JIN}" in door.press(decline, INSTRUCTOR)["text"]
    assert f"Approved by {JIN}" in door.press(approve, INSTRUCTOR)["text"]
    assert len(door.workflows.starts) == 1


def test_a_yes_that_could_not_be_given_is_given_at_the_next_press_in_the_first_one_s_name(
    door: Knocks,
) -> None:
    door.press(buttons(door.type("open", STUDENT))["ask"], STUDENT)
    approve, _ = approver_buttons(door)
    door.workflows.fails = OutsideFailed("states:StartExecution: no answer")
    assert door.take(signed(pressed(approve, INSTRUCTOR, "lost"))).failed
    assert not door.workflows.starts

    door.workflows.fails = None
    # The first press is owed the decision, and the second hears that it is being taken.
    decided, _ = sorted(answer["text"] for answer in door.answers(signed(pressed(approve, INSTRUCTOR))))
    assert "Granted" in decided
    [command] = door.workflows.commands
    assert (command.owner, command.by) == (MINJI, JIN)


def test_a_declined_ask_opens_nothing(door: Knocks) -> None:
    door.press(buttons(door.type("open", STUDENT))["ask"], STUDENT)
    approve, decline = approver_buttons(door)
    assert "Declined" in door.press(decline, INSTRUCTOR)["text"]
    door.lab.at(60 * 13)
    assert "expired" in door.press(approve, INSTRUCTOR)["text"]
    assert not door.workflows.starts


def test_a_full_pool_says_when_and_holds_a_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    door = knocks(monkeypatch, tmp_path, full)
    said = door.type("open 2")
    assert "it would be granted at 23:00 (Asia/Seoul)" in said["text"]
    for _ in range(2):
        assert "first in line for gpu" in door.press(buttons(said)["tell-me"])["text"]
    [wish] = door.lab.ledger.wishes("gpu", EIGHT)
    assert (wish.owner, wish.nodes, wish.lasting) == (JIN, 2, HOUR)
    assert wish.until - wish.at == 24 * HOUR
    assert len(door.workflows.starts) == 1


def test_an_owner_extends_and_closes_their_own(door: Knocks) -> None:
    door.lab.put(running(MINJI, EIGHT + HOUR))
    extended = door.type("extend 1 h", STUDENT)
    assert "Understood as: extend minji" in extended["text"]
    assert "until 22:00 (Asia/Seoul)" in extended["text"]
    closed = door.type("close", STUDENT)
    assert "Closing" in closed["text"]
    assert [command.verb for command in door.workflows.commands] == [Verb.EXTEND, Verb.CLOSE]
    assert {command.owner for command in door.workflows.commands} == {MINJI}


@pytest.mark.parametrize("text", ["close yes", "close gpu yes"])
def test_a_yes_to_no_lease_in_particular_closes_nobody_elses(door: Knocks, text: str) -> None:
    door.lab.put(running(MINJI, EIGHT + HOUR))
    assert f"belongs to {MINJI}" in door.type(text)["text"]
    assert not door.workflows.starts


@pytest.mark.parametrize("text", ["close yes", "close gpu yes", "close slack-1a2b3c4d yes"])
def test_ones_own_is_closed_however_it_is_said(door: Knocks, text: str) -> None:
    door.lab.put(running(JIN, EIGHT + HOUR))
    assert "Closing" in door.type(text)["text"]
    assert len(door.workflows.starts) == 1


def test_closing_anothers_lease_names_the_owner_first(door: Knocks) -> None:
    door.lab.put(running(MINJI, EIGHT + HOUR))
    said = door.type("close")
    assert f"belongs to {MINJI}" in said["text"]
    assert not door.workflows.starts
    door.press(buttons(said)["confirm"])
    assert door.workflows.commands[0].verb is Verb.CLOSE
    door.type("close slack-1a2b3c4d yes")
    assert len(door.workflows.starts) == 2


def test_of_two_leases_ones_own_is_meant(door: Knocks) -> None:
    door.lab.put(running(MINJI, EIGHT + HOUR))
    door.lab.put(running(JIN, EIGHT + HOUR, id="slack-other"))
    door.type("extend 30m", STUDENT)
    assert door.workflows.commands[0].lease == "slack-1a2b3c4d"
    door.slack.people["U0THIRD"] = Person("U0THIRD", "third")
    assert "everal leases run" in door.type("extend 30m", "U0THIRD")["text"]


@pytest.mark.parametrize(
    "word", ["status", "windows", "free 2h", "leases", "cost", "why", "help", "", "dance"]
)
def test_everybody_sees_everything_and_nothing_is_written(door: Knocks, word: str) -> None:
    door.lab.put(running(JIN, EIGHT + HOUR))
    door.lab.moved.clear()
    said = door.type(word, STUDENT)
    assert said["text"]
    assert "{" not in said["text"]
    assert not door.workflows.starts
    assert all(sk.startswith("SEEN#") for _, sk in door.lab.moved)


def test_another_workspace_is_told_whose_lab_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    roles = {"all": {"members": [INSTRUCTOR], "may": ["open"]}}
    door = knocks(monkeypatch, tmp_path, slack={"team": "T0OTHER", "roles": roles})
    assert "belongs to the Slack workspace T0OTHER" in door.type("open")["text"]
    assert not door.workflows.starts
    door.type("open", team_id="T0OTHER")
    assert len(door.workflows.starts) == 1


def test_groups_are_asked_of_slack_as_the_roles_name_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    roles = {"class": {"members": ["S0CLASS"], "may": ["open"], "max_nodes": 1, "longest": "1h"}}
    door = knocks(monkeypatch, tmp_path, slack={"roles": roles})
    door.slack.people[STUDENT] = Person(STUDENT, "minji", frozenset({"S0CLASS"}), "Asia/Seoul")
    door.type("open for 1h", STUDENT)
    assert door.slack.asked_about == {"S0CLASS"}
    assert len(door.workflows.starts) == 1
    assert "may have nodes for 1h" in door.type("open gpu 1 at 23:00 for 2h", STUDENT)["text"]
    # The lease that runs counts, also for one that is added.
    add = {"action_id": "add", "type": "button", "value": '{"p":"gpu","n":1,"s":3600}'}
    assert "1 node at once, and this would make 2" in door.press(add, STUDENT)["text"]
    assert len(door.workflows.starts) == 1


def test_the_calendar_is_changed_by_who_may(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    roles = {"staff": {"members": [INSTRUCTOR], "may": ["skip", "pause"]}}
    door = knocks(monkeypatch, tmp_path, slack={"roles": roles})
    for text in ("skip evening 2026-11-27 because of the exam", "unskip evening", "pause for 2h", "resume"):
        assert "Understood as" in door.type(text)["text"]
        assert "Not allowed" in door.type(text, STUDENT)["text"]
    assert {start.workflow for start in door.workflows.starts} == {"arn:ChangeLab"}
    assert [command.verb for command in door.workflows.commands] == [
        Verb.SKIP,
        Verb.UNSKIP,
        Verb.PAUSE,
        Verb.RESUME,
    ]


def test_a_second_delivery_of_a_decided_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    door = knocks(monkeypatch, tmp_path, silent)
    request = signed(typed("open 1", INSTRUCTOR))
    assert door.answers(request) == []
    [command] = door.workflows.commands
    agreeing(door.workflows, command)
    assert door.answers(request) == []
    assert len(door.workflows.starts) == 1
    assert clock.now() == EIGHT


def test_free_times_are_offered_and_the_chosen_one_is_opened(door: Knocks) -> None:
    door.lab.put(running(MINJI, EIGHT + 2 * HOUR, nodes=2))
    said = door.type("free 2 for 2h")
    assert said["text"] == "*gpu*: 22:00 to 2026-11-27 20:00 (Asia/Seoul)"
    [choice] = said["blocks"][1]["elements"]
    door.press(choice)
    [command] = door.workflows.commands
    assert (command.opens, command.nodes, command.lasting) == (EIGHT + 2 * HOUR, 2, 2 * HOUR)


def test_a_free_node_beside_a_lease_is_opened_as_it_was_offered(door: Knocks) -> None:
    door.lab.put(running(MINJI, EIGHT + 2 * HOUR, nodes=1))
    said = door.type("free 1 for 2h")
    assert said["text"].startswith("*gpu*: 20:00 to")
    [choice] = said["blocks"][1]["elements"]
    door.press(choice)
    [command] = door.workflows.commands
    assert (command.nodes, command.lasting, command.add) == (1, 2 * HOUR, True)


def test_what_is_never_free_says_why(door: Knocks) -> None:
    assert "pool gpu has at most" in door.type("free 9 for 2h")["text"]
    assert "longest" in door.type("free 9h")["text"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("free 2h at 2027-11-22 10:00", "more than a year ahead"),
        ("free at 9999-12-30 10:00", "more than a year ahead"),
        ("free 2 until 9999-12-31 23:00", "*gpu*: 23:00 to 2026-11-27 20:00 (Asia/Seoul)"),
    ],
)
def test_free_times_are_of_instants_at_which_a_lease_can_open(door: Knocks, words: str, said: str) -> None:
    assert said in door.type(words)["text"]


def refused_until_ten(
    monkeypatch: pytest.MonkeyPatch, folder: Path, asks: str
) -> tuple[Knocks, dict[str, Any]]:
    """A lab that is full until ten and around midnight, and its answer to a request."""
    door = knocks(monkeypatch, folder, full)
    door.lab.put(running(MINJI, EIGHT + 2 * HOUR, nodes=2))
    at_midnight = {"opens": EIGHT + 3.5 * HOUR + SECOND, "state": LeaseState.ADMITTED}
    door.lab.put(running(MINJI, EIGHT + 4.5 * HOUR + SECOND, nodes=2, id="slack-later", **at_midnight))
    return door, door.type(asks)


def test_a_refused_open_offers_the_next_free_times_and_each_button_books_what_it_says_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    door, said = refused_until_ten(monkeypatch, tmp_path, "open 2 at 20:30 for 1h because the exam")
    assert "\nThe next times at which this would be granted (Asia/Seoul):\n" in said["text"]
    found = buttons(said)
    assert [found[each]["text"]["text"] for each in ("book", "book:2")] == [
        "Book 22:00-23:00",
        "Book 2026-11-21 00:31-01:31",
    ]

    door.workflows.decide = agreeing
    assert door.press(found["book:2"])["text"].startswith("Granted")
    _, booked = door.workflows.commands
    assert (booked.opens, booked.closes) == (EIGHT + 271 * MINUTE, EIGHT + 331 * MINUTE)
    assert (booked.nodes, booked.because, booked.add) == (2, "the exam", True)

    assert "You have booked this already" in door.press(found["book:2"])["text"]
    assert "Not allowed" in door.press(found["book:2"], STUDENT)["text"]
    door.lab.at(119)
    assert "too late for this time, and nothing was opened" in door.press(found["book"])["text"]
    assert len(door.workflows.starts) == 2


def test_an_open_pool_without_room_offers_them_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    door, said = refused_until_ten(monkeypatch, tmp_path, "open 1 for 1h")
    assert list(buttons(said)) == ["keep-until", "tell-me", "book", "book:2"]
    assert not door.workflows.starts


def test_only_what_the_rule_grants_is_offered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # A hundred minutes do not fit in before the second after half past eleven.
    _, said = refused_until_ten(monkeypatch, tmp_path, "open 2 at 20:30 for 100m")
    assert [button["text"]["text"] for name, button in buttons(said).items() if name.startswith("book")] == [
        "Book 2026-11-21 00:31-02:11"
    ]


def test_who_has_all_they_may_have_ahead_is_offered_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    door = knocks(monkeypatch, tmp_path, full, guard={"most_ahead": {"leases": 1}})
    ahead = {"opens": EIGHT + 3 * HOUR, "state": LeaseState.ADMITTED}
    door.lab.put(running(JIN, EIGHT + 4 * HOUR, nodes=2, **ahead))
    said = door.type("open 2 at 23:30 for 1h")
    assert "Nothing is free for that long until 2026-11-27 20:00 (Asia/Seoul)." in said["text"]
    assert list(buttons(said)) == ["tell-me"]


@pytest.mark.parametrize("words", ["open 2 at 20:30 until 4500-01-01 12:00", "open 2 at 20:30 for 9999h"])
def test_a_length_that_no_calendar_has_is_refused_and_nothing_is_offered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str
) -> None:
    said = knocks(monkeypatch, tmp_path, full).type(words)
    assert "Nothing is free for that long" in said["text"]


def test_a_refusal_comes_also_where_free_times_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    door = knocks(monkeypatch, tmp_path, full)
    door.lab.dynamodb.put_item(TableName="ledger", Item=items.item("LAB", "PAUSE#PEOPLE", {"since": "soon"}))
    said = door.type("open 2 at 20:30 for 1h")
    assert said["text"].startswith("Refused: pool gpu is full.")
    assert list(buttons(said)) == ["tell-me"]
    assert "Nothing is free" not in said["text"]
