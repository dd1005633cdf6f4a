"""The HTTP codes for Slack's requests, in the contract's order; a signed request is always answered."""

import base64
import threading
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lamplighter import clock
from lamplighter.adapters.slack.secret import Secrets
from lamplighter.application.slack.deadline import Deadline
from lamplighter.application.slack.receiving import RequestHandler, SignedRequest
from lamplighter.domain.slack.asked import signature
from lamplighter.errors import OutsideFailed
from tests.steady.hang import HANG_SECONDS
from tests.unit.slack.requests import SECRET, Keys, Knocks, event, knocks, signed, silent, typed

SECOND = timedelta(seconds=1)
#: Seconds until Slack gives an answer up, and what a request and its answer may take on their way, with a cold start.
SLACK_WAITS, ON_THE_WAY = 3, 0.5


def code(door: Knocks, event: Mapping[str, Any]) -> object:
    return door.door.answer_event(event)["statusCode"]


def nothing_happened(door: Knocks) -> bool:
    return not (door.workflows.starts or door.lab.moved or door.sent)


def test_a_signed_command_is_answered_with_a_response_type_and_a_text(door: Knocks) -> None:
    said = door.type("status")
    assert "gpu" in said["text"]


def test_an_unsigned_request_gets_401_and_nothing_happens(door: Knocks) -> None:
    body = typed("open", "U0INSTRUCT")
    stamp = str(int(clock.now().timestamp()))
    forged = signature.signed("another secret", stamp, body)
    for headers in (
        {},
        {"x-slack-request-timestamp": stamp},
        {"x-slack-signature": signature.signed(SECRET, stamp, body)},
        {"x-slack-request-timestamp": stamp, "x-slack-signature": forged},
        {"x-slack-request-timestamp": stamp, "x-slack-signature": "v0=nonsense"},
    ):
        assert code(door, event(body, headers)) == 401
    changed = signed(body) | {"body": base64.b64encode(body + b"&text=close").decode()}
    assert code(door, changed) == 401
    for away in (-301, 5):
        assert code(door, signed(body, clock.now() + away * SECOND)) == 401
    assert nothing_happened(door)


def test_16_kib_are_read_and_no_byte_more_and_nothing_is_computed_of_more(door: Knocks) -> None:
    body = typed("help", "U0STUDENT")
    exactly = body + b"&x=" + b"y" * (16384 - len(body) - 3)
    assert code(door, signed(exactly)) == 200
    asked = door.keys.asked
    assert code(door, signed(exactly + b"y")) == 413
    assert code(door, event(b"z" * 10**6, {})) == 413
    assert code(door, event(b"", {}) | {"body": "z" * 16385, "isBase64Encoded": False}) == 413
    assert door.keys.asked == asked


@pytest.mark.parametrize(
    "body", [b"command=%2Fgpu&text=\xff", b"\xc3\x28", b"command=%2Fgpu&user_id=U1&text=%ff%fe"]
)
def test_what_is_not_utf_8_gets_400(door: Knocks, body: bytes) -> None:
    assert code(door, signed(body)) == 400
    assert code(door, event(body, {})) == 401
    assert nothing_happened(door)


def test_other_methods_and_paths_are_no_knock(door: Knocks) -> None:
    good = signed(typed("open", "U0INSTRUCT"))
    for method in ("GET", "PUT", "DELETE", "OPTIONS"):
        assert code(door, good | {"requestContext": {"http": {"method": method}}}) == 405
    assert code(door, good | {"rawPath": "/"}) == 404
    assert code(door, {}) == 405
    assert nothing_happened(door)


def test_a_body_comes_as_text_or_in_base64_and_means_the_same(door: Knocks) -> None:
    body = typed("help", "U0STUDENT")
    plain = signed(body) | {"body": body.decode(), "isBase64Encoded": False}
    assert door.door.answer_event(plain) == door.door.answer_event(signed(body))
    assert code(door, signed(body) | {"body": "not base64!"}) == 400
    assert code(door, signed(b"") | {"body": None, "isBase64Encoded": False}) == 200


@pytest.mark.parametrize("body", [b"", b"payload=[]", b"command=%2Fgpu", b"&" * 300])
def test_signed_nonsense_is_answered_and_does_nothing(door: Knocks, body: bytes) -> None:
    assert door.told(door.door.answer_event(signed(body)))["text"]
    assert nothing_happened(door)


def test_slack_may_look_whether_the_door_is_there(door: Knocks) -> None:
    assert code(door, signed(b"ssl_check=1&token=x")) == 200


def test_a_new_secret_is_used_without_a_deploy(door: Knocks) -> None:
    door.keys.renewed_to = "rotated"
    fresh = signed(typed("help", "U0STUDENT"), secret="rotated")
    assert code(door, fresh) == 200
    assert code(door, signed(typed("help", "U0STUDENT"))) == 401


def test_an_unfilled_secret_lets_nobody_in(door: Knocks) -> None:
    door.keys.secret = ""
    assert code(door, signed(typed("open", "U0INSTRUCT"), secret="")) == 401


def test_without_its_secret_the_door_says_so_and_does_nothing(door: Knocks) -> None:
    door.keys.fails = OutsideFailed("secretsmanager:GetSecretValue failed")
    said = door.type("open")
    assert "secret" in said["text"]
    assert nothing_happened(door)


def test_what_breaks_inside_is_one_clear_line(door: Knocks, caplog: pytest.LogCaptureFixture) -> None:
    door.workflows.fails = ValueError("the text of open for the exam")
    assert door.type("open gpu 1 because of the exam")["text"]
    door.workflows.fails = OutsideFailed(
        "states:StartExecution on arn:secret:place failed: x", "states:StartExecution"
    )
    said = door.type("open gpu 1 because of the exam")
    assert "states:StartExecution" in said["text"]
    assert "arn:secret:place" not in said["text"]


@pytest.mark.once_flaky("real seconds of an answer were compared with a limit")
def test_a_lab_that_hangs_is_not_waited_for(door: Knocks) -> None:
    def hangs(*_: object) -> Mapping[str, object]:
        door.time.until_let_go()
        return {}

    reply = RequestHandler(Keys(), hangs).answer_event(signed(typed("open", "U0INSTRUCT")))
    assert 0 < door.time.seconds <= SLACK_WAITS - ON_THE_WAY
    assert reply["statusCode"] == 200
    assert "started nothing more" in str(reply["body"])
    door.time.let_go.set()


def test_a_secret_that_does_not_come_is_not_waited_for(door: Knocks) -> None:
    class Hanging(Keys):
        def get(self) -> Secrets:
            door.time.until_let_go()
            return super().get()

    reply = RequestHandler(Hanging(), door.door.answer).answer_event(signed(typed("open", "U0INSTRUCT")))
    assert 0 < door.time.seconds <= SLACK_WAITS - ON_THE_WAY
    assert reply["statusCode"] == 200
    assert "cannot tell who asks" in str(reply["body"])
    assert nothing_happened(door)
    door.time.let_go.set()


def test_what_was_given_up_begins_nothing(door: Knocks) -> None:
    over = threading.Event()

    def late(letter: SignedRequest, deadline: Deadline) -> Mapping[str, object]:
        door.time.until_let_go()
        try:
            return door.door.answer(letter, deadline)
        finally:
            over.set()

    RequestHandler(Keys(), late).answer_event(signed(typed("open", "U0INSTRUCT")))
    door.time.let_go.set()
    assert over.wait(HANG_SECONDS)
    assert nothing_happened(door)


@pytest.mark.once_flaky("real seconds of an answer were compared with a limit")
def test_a_slow_decision_is_left_to_the_board(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    slow = knocks(monkeypatch, tmp_path, silent)
    said = slow.type("open 1 for 90m")
    assert 1 < slow.time.seconds <= SLACK_WAITS - ON_THE_WAY
    assert "The answer comes here" in said["text"]
    [command] = slow.workflows.commands
    owed = slow.lab.ledger.owed(command.id)
    assert owed is not None
    assert owed.ordered == command.to_json()
    assert "until 21:30 (Asia/Seoul)" in owed.understood
