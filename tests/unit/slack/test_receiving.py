"""What the function behind the queue takes, drops and leaves for later: only what Slack signed does anything."""

from datetime import timedelta
from pathlib import Path

import pytest

from lamplighter import clock
from lamplighter.application.slack.receiving import SIGNATURE, STAMP, TRIES, Outcome
from lamplighter.domain.slack.asked import signature
from lamplighter.errors import OutsideFailed
from tests.unit.slack.recording import EIGHT
from tests.unit.slack.requests import (
    SECRET,
    Knocks,
    agreeing,
    buttons,
    knocks,
    message,
    pressed,
    signed,
    silent,
    typed,
)
from tests.unit.slack.test_conversation import approver_buttons

SECOND = timedelta(seconds=1)
DROPPED, TAKEN = Outcome(1, ()), Outcome(0, ())


def nothing_happened(door: Knocks) -> bool:
    return not (door.workflows.starts or door.lab.moved or door.sent)


def test_a_signed_command_is_answered_with_a_response_type_and_a_text(door: Knocks) -> None:
    assert "gpu" in door.type("status")["text"]


def test_what_slack_has_not_signed_is_dropped_and_nothing_happens(door: Knocks) -> None:
    body = typed("open", "U0INSTRUCT")
    stamp = str(int(clock.now().timestamp()))
    forged = signature.signed("another secret", stamp, body)
    for attributes in (
        {},
        {STAMP: stamp},
        {SIGNATURE: signature.signed(SECRET, stamp, body)},
        {STAMP: stamp, SIGNATURE: forged},
        {STAMP: stamp, SIGNATURE: "v0=nonsense"},
    ):
        assert door.take(message(body, attributes)) == DROPPED
    assert door.take(signed(body) | {"body": f"{body.decode()}&text=close"}) == DROPPED
    for away in (-301, 5):
        assert door.take(signed(body, clock.now() + away * SECOND)) == DROPPED
    assert nothing_happened(door)


def test_a_request_is_as_old_as_it_was_when_it_came_however_long_it_waited(door: Knocks) -> None:
    waiting = signed(typed("open", "U0INSTRUCT"))
    door.lab.at(10)
    assert len(door.answers(waiting)) == 1
    [command] = door.workflows.commands
    assert command.issued == EIGHT


def test_16_kib_are_read_and_no_byte_more_and_nothing_is_computed_of_more(door: Knocks) -> None:
    body = typed("help", "U0STUDENT")
    exactly = body + b"&x=" + b"y" * (16384 - len(body) - 3)
    assert door.take(signed(exactly)) == TAKEN
    asked = door.keys.asked
    assert door.take(signed(exactly + b"y")) == DROPPED
    assert door.take(signed(b"z" * 10**6)) == DROPPED
    assert door.take(signed("\u00e9".encode() * 8193)) == DROPPED
    assert door.keys.asked == asked


@pytest.mark.parametrize(
    "body", [b"command=%2Fgpu&text=\xff", b"\xc3\x28", b"command=%2Fgpu&user_id=U1&text=%ff%fe"]
)
def test_what_is_not_utf_8_is_dropped(door: Knocks, body: bytes) -> None:
    assert door.take(signed(body)) == DROPPED
    assert nothing_happened(door)


@pytest.mark.parametrize("body", [b"", b"payload=[]", b"command=%2Fgpu", b"&" * 300])
def test_signed_nonsense_does_nothing(door: Knocks, body: bytes) -> None:
    assert door.take(signed(body)) == DROPPED
    assert nothing_happened(door)


def test_slack_may_look_whether_the_address_is_there(door: Knocks) -> None:
    assert door.take(signed(b"ssl_check=1&token=x")) == TAKEN
    assert nothing_happened(door)


def test_a_new_secret_is_used_without_a_deploy(door: Knocks) -> None:
    door.keys.renewed_to = "rotated"
    assert door.take(signed(typed("help", "U0STUDENT"), secret="rotated")) == TAKEN
    assert door.take(signed(typed("help", "U0STUDENT"))) == DROPPED


def test_an_unfilled_secret_lets_nobody_in(door: Knocks) -> None:
    door.keys.secret = ""
    assert door.take(signed(typed("open", "U0INSTRUCT"), secret="")) == DROPPED


def test_without_its_secret_requests_wait_until_it_can_be_read(door: Knocks) -> None:
    door.keys.fails = OutsideFailed("secretsmanager:GetSecretValue failed")
    waiting = signed(typed("open", "U0INSTRUCT"))
    assert door.take(waiting) == Outcome(0, (waiting["messageId"],))
    assert nothing_happened(door)

    door.keys.fails = None
    assert len(door.answers(waiting)) == 1


def test_one_message_of_a_batch_that_breaks_leaves_the_others_alone(door: Knocks) -> None:
    door.workflows.fails = OutsideFailed("states:StartExecution failed")
    breaks = signed(typed("open gpu 1 because of the exam", "U0INSTRUCT"))
    stranger = message(b"x", {})
    looks = [signed(typed("status", user)) for user in ("U0STUDENT", "U0INSTRUCT")]

    assert door.take(looks[0], breaks, stranger, looks[1]) == Outcome(1, (breaks["messageId"],))
    assert len(door.sent) == 2


def test_what_fails_outside_is_one_clear_line(door: Knocks) -> None:
    door.workflows.fails = OutsideFailed(
        "states:StartExecution on arn:secret:place failed: x", "states:StartExecution"
    )
    request = signed(typed("open gpu 1 because of the exam", "U0INSTRUCT"))
    # The message comes again, and a command that was given after all is given once. At the last try it is told.
    assert [len(door.take(request).failed), len(door.sent)] == [1, 0]
    request["attributes"]["ApproximateReceiveCount"] = str(TRIES)
    assert [len(door.take(request).failed), len(door.sent)] == [1, 1]
    [(_, said)] = door.sent
    assert "states:StartExecution" in said["text"]
    assert "arn:secret:place" not in said["text"]


def test_a_fault_of_ours_is_told_at_once_and_is_not_tried_again(door: Knocks) -> None:
    assert "could not do this" in door.type("open at 9999-12-31 23:59 for 3h")["text"]
    assert not door.workflows.starts


def test_an_answer_that_slack_does_not_take_now_is_given_when_the_message_comes_again(door: Knocks) -> None:
    looks = signed(typed("status", "U0STUDENT"))
    door.lab.slack.fails.append(OutsideFailed("no answer"))
    assert door.take(looks) == Outcome(0, (looks["messageId"],))
    assert len(door.answers(looks)) == 1


@pytest.mark.parametrize("text", ["status", "open 1", "extend 1h", "dance"])
def test_a_message_that_comes_again_is_not_answered_again(door: Knocks, text: str) -> None:
    again = signed(typed(text, "U0INSTRUCT"))
    assert len(door.answers(again)) == 1
    assert door.answers(again) == []


def test_a_slow_decision_is_owed_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow = knocks(monkeypatch, tmp_path, silent)
    assert slow.answers(signed(typed("open 1 for 90m", "U0INSTRUCT"))) == []
    [command] = slow.workflows.commands
    owed = slow.lab.ledger.owed(command.id)
    assert owed is not None
    assert owed.ordered == command.to_json()
    assert "until 21:30 (Asia/Seoul)" in owed.understood


def test_an_approval_that_comes_too_late_leaves_the_ask_to_the_next(door: Knocks) -> None:
    door.press(buttons(door.type("open", "U0STUDENT"))["ask"], "U0STUDENT")
    approve, _ = approver_buttons(door)
    waiting = signed(pressed(approve, "U0INSTRUCT", "waiting"))
    door.lab.at(15)
    assert "was good until" in door.told(waiting)["text"]
    assert not door.workflows.starts
    assert "Granted" in door.press(approve, "U0INSTRUCT")["text"]


def test_a_decline_that_comes_late_declines(door: Knocks) -> None:
    door.press(buttons(door.type("open", "U0STUDENT"))["ask"], "U0STUDENT")
    approve, decline = approver_buttons(door)
    waiting = [
        signed(pressed(button, "U0INSTRUCT", name)) for name, button in (("no", decline), ("yes", approve))
    ]
    door.lab.at(15)
    assert door.told(waiting[0])["text"].startswith("Declined.")
    assert "Declined by" in door.told(waiting[1])["text"]


class Killed(BaseException):
    """Lambda ends a function that takes too long."""


def test_a_run_that_dies_before_its_command_starts_starts_it_when_the_message_comes_again(
    door: Knocks,
) -> None:
    request = signed(typed("open 1", "U0INSTRUCT"))
    door.workflows.fails = Killed()  # type: ignore[assignment]
    with pytest.raises(Killed):
        door.take(request)
    assert not door.workflows.starts

    door.workflows.fails = None
    assert ["Granted" in said["text"] for said in door.answers(request)] == [True]
    assert len(door.workflows.starts) == 1


def test_of_two_who_approve_at_once_each_hears_once_and_one_lease_opens(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    roles = {"staff": {"members": ["U0INSTRUCT", "U0OTHER"], "may": ["open"]}}
    door = knocks(monkeypatch, tmp_path, silent, slack={"roles": roles})
    refused = door.type("open", "U0STUDENT")
    door.press(buttons(refused)["ask"], "U0STUDENT")
    approve, _ = approver_buttons(door)
    assert door.answers(signed(pressed(approve, "U0INSTRUCT"))) == []
    [second] = door.answers(signed(pressed(approve, "U0OTHER")))
    assert "The lab is deciding" in second["text"]

    [command] = door.workflows.commands
    agreeing(door.workflows, command)
    before = len(door.sent)
    door.lab.tell()
    assert len([said for _, said in door.sent[before:] if "Granted" in str(said["text"])]) == 1
