"""Slack's Web API and response_urls over HTTP: refusals, rate limits, silence; and no token in any error."""

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lamplighter.adapters.slack import reply
from lamplighter.adapters.slack.people import SlackPeople
from lamplighter.adapters.slack.secret import SlackSecret
from lamplighter.adapters.slack.web_api import Declined, MessageGone, Unanswered, WebApi
from lamplighter.domain.people.person import Person
from lamplighter.domain.slack.blocks import plain, section
from lamplighter.domain.slack.message import Message
from lamplighter.errors import LamplighterError, OutsideFailed, TryLater
from tests.steady.hang import HANG_SECONDS, await_value
from tests.stopped_clock import stop_at
from tests.unit.slack.recording import EIGHT, MINUTE

#: The server reads a request and never answers it.
SILENCE = 0
SAID = Message(plain("hello"), [section(plain("hello"))], "d")
Answer = tuple[int, Mapping[str, str], object]


@dataclass
class Slack:
    """An HTTP server that answers as it is told to."""

    url: str
    answers: list[Answer] = field(default_factory=list)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    """Path, token and body of every request."""

    def says(self, status: int = 200, headers: Mapping[str, str] | None = None, **body: object) -> None:
        self.answers.append((status, headers or {}, body))


@pytest.fixture
def slack() -> Iterator[Slack]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            known.asked.append((self.path, self.headers.get("Authorization", ""), body.decode()))
            status, headers, said = known.answers.pop(0) if known.answers else (200, {}, {"ok": True})
            if said is None:
                self.close_connection = True
                if status == SILENCE:
                    over.wait(HANG_SECONDS)
                return
            raw = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None: ...

    over = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known = Slack(f"http://127.0.0.1:{server.server_port}/api/")
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield known
    over.set()
    server.shutdown()
    server.server_close()


class Secrets:
    """Secrets Manager, which has a newer token by now."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)

    def get_secret_value(self, **_: str) -> dict[str, str]:
        return {"SecretString": json.dumps({"signing_secret": "s", "bot_token": self.tokens.pop(0)})}


def api(slack: Slack, *tokens: str) -> WebApi:
    now = iter(EIGHT + number * 2 * MINUTE for number in range(9))
    secret = SlackSecret("arn", Secrets(*(tokens or ("xoxb-1",))), lambda: next(now))  # type: ignore[arg-type]
    return WebApi(secret, slack.url)


def test_a_post_gives_its_timestamp_and_says_text_blocks_and_thread(slack: Slack) -> None:
    slack.says(ok=True, ts="1.2")
    assert api(slack).post("C1", SAID, thread="1.1") == "1.2"
    [(path, token, body)] = slack.asked
    assert (path, token) == ("/api/chat.postMessage", "Bearer xoxb-1")
    said = json.loads(body)
    assert said["thread_ts"] == "1.1"
    assert said["text"] == "hello"
    assert said["blocks"][0]["type"] == "section"


def test_slack_that_asks_for_patience_is_asked_later(slack: Slack) -> None:
    slack.says(429, {"Retry-After": "30"}, ok=False, error="ratelimited")
    with pytest.raises(TryLater, match=r"chat.postMessage on channel C1; try again in 30 s"):
        api(slack).post("C1", SAID)
    assert len(slack.asked) == 1


def test_slack_that_took_too_many_messages_is_asked_later(slack: Slack) -> None:
    slack.says(ok=False, error="rate_limited")
    with pytest.raises(TryLater, match=r"chat.postMessage on channel C1"):
        api(slack).post("C1", SAID)


def test_a_refusal_names_the_call_and_the_code_and_no_token(slack: Slack) -> None:
    slack.says(ok=False, error="channel_not_found")
    with pytest.raises(
        Declined, match=r"Slack refused chat.postMessage on channel C1: channel_not_found"
    ) as no:
        api(slack, "xoxb-secret").post("C1", SAID)
    assert "xoxb" not in str(no.value)
    assert no.value.__cause__ is None


@pytest.mark.parametrize(
    "code", ["service_unavailable", "request_timeout", "team_added_to_org", "missing_scope", "token_revoked"]
)
def test_a_refusal_that_may_pass_or_that_somebody_can_mend_is_none_for_good(slack: Slack, code: str) -> None:
    for _ in range(2):
        slack.says(ok=False, error=code)
    with pytest.raises(OutsideFailed, match=code) as refused:
        api(slack, "xoxb-1", "xoxb-2").whisper("C1", "U1", SAID)
    assert not isinstance(refused.value, Declined | Unanswered)


@pytest.mark.parametrize("code", ["internal_error", "fatal_error"])
def test_an_error_of_slacks_own_leaves_open_whether_it_was_posted(slack: Slack, code: str) -> None:
    slack.says(ok=False, error=code)
    with pytest.raises(Unanswered, match=code):
        api(slack).whisper("C1", "U1", SAID)


def test_a_message_that_is_gone_is_told_apart(slack: Slack) -> None:
    slack.says(ok=False, error="message_not_found")
    with pytest.raises(MessageGone):
        api(slack).update("C1", "1.2", SAID)


@pytest.mark.parametrize("body", [b"<html>oops</html>", b""])
def test_a_failure_at_slack_is_one_of_the_outside_and_known_not_to_have_worked(
    slack: Slack, body: bytes
) -> None:
    slack.answers.append((503, {"Content-Type": "text/html"}, body))
    with pytest.raises(OutsideFailed) as failed:
        api(slack).post("C1", SAID)
    assert not isinstance(failed.value, Unanswered)


@pytest.mark.once_flaky("a client gave up before the server had read its request")
def test_silence_leaves_open_whether_it_was_posted_and_is_not_tried_again(
    slack: Slack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamplighter.adapters.slack.web_api.PATIENCE_SECONDS", 0.2)
    slack.answers.append((SILENCE, {}, None))
    with pytest.raises(Unanswered):
        api(slack).profile("U1", 0.2)
    await_value("the server has read the request", lambda: slack.asked)
    assert len(slack.asked) == 1


def test_slack_that_hangs_up_without_a_word_is_not_asked_again(slack: Slack) -> None:
    slack.answers.append((200, {}, None))
    with pytest.raises(Unanswered):
        api(slack).post("C1", SAID)
    assert len(slack.asked) == 1


def test_where_nobody_listens_nothing_was_posted() -> None:
    with pytest.raises(OutsideFailed) as failed:
        api(Slack("http://127.0.0.1:1/api/")).post("C1", SAID)
    assert not isinstance(failed.value, Unanswered)


def test_a_token_that_was_rotated_is_read_again(slack: Slack) -> None:
    slack.says(ok=False, error="token_revoked")
    slack.says(ok=True, ts="1.2")
    assert api(slack, "xoxb-old", "xoxb-new").post("C1", SAID) == "1.2"
    assert [token for _, token, _ in slack.asked] == ["Bearer xoxb-old", "Bearer xoxb-new"]


# --- response_urls --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.slack.com.evil.example/x",
        "https://evil.example/hooks.slack.com",
        "http://hooks.slack.com/commands/1",
        "https://hooks.slack.com@evil.example/x",
        "https://hooks.slack.com:8443/x",
        "https://user:pw@hooks.slack.com/x",
        "http://127.0.0.1:1234/x",
        "http://169.254.169.254/latest",
        "file:///etc/passwd",
        "https://hooks.slack.com/\r\nHost: evil",
        "https://[::1",
        "",
        None,
    ],
)
def test_an_address_that_is_not_slacks_is_called_by_nobody(url: str | None) -> None:
    assert not reply.allowed(url)


def test_slacks_own_and_a_played_slack_on_loopback_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reply.allowed("https://hooks.slack.com/commands/T0/1/abc")
    monkeypatch.setenv("SLACK_REPLY_HOSTS", "hooks.slack.com,127.0.0.1,slack.example")
    assert reply.allowed("http://127.0.0.1:1234/reply/1")
    assert not reply.allowed("http://slack.example/x")


def test_answers_tell_apart_what_is_over_and_what_may_still_work(
    slack: Slack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_REPLY_HOSTS", "127.0.0.1")
    reply.send(slack.url, {"text": "hi"})
    assert json.loads(slack.asked[0][2]) == {"text": "hi", "replace_original": False}
    for status, error in (
        (404, reply.NoLonger),
        (302, reply.NoLonger),
        (429, TryLater),
        (500, OutsideFailed),
    ):
        slack.says(status, {"Location": "http://127.0.0.1:1/"})
        with pytest.raises(error):
            reply.send(slack.url, {"text": "hi"})


# --- people ---------------------------------------------------------------------------------------


class Memory:
    def __init__(self) -> None:
        self.people: dict[str, tuple[Person, Any]] = {}

    def know(self, person: Person, at: Any) -> None:
        self.people[person.id] = (person, at)

    def known(self, user: str) -> tuple[Person, Any] | None:
        return self.people.get(user)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    def stop(minutes: float) -> None:
        stop_at(tmp_path / "clock", EIGHT + timedelta(minutes=minutes))

    monkeypatch.setenv("LAMPLIGHTER_INSTANT", str(tmp_path / "clock"))
    stop(0)
    return stop


def minji(slack: Slack) -> None:
    slack.says(
        ok=True, user={"name": "minji", "tz": "America/New_York", "profile": {"display_name": "Minji"}}
    )
    slack.says(ok=True, users=["U0MINJI", "U0OTHER"])
    slack.says(ok=True, users=["U0OTHER"])


def test_slack_says_who_somebody_is_and_is_asked_again_after_ten_minutes(slack: Slack, at: Any) -> None:
    people = SlackPeople(api(slack), Memory())
    minji(slack)
    found = people.person("U0MINJI", "minji", ["S1", "S2"], 1)
    assert (found.name, found.zone, found.groups, found.known) == (
        "Minji",
        "America/New_York",
        frozenset({"S1"}),
        True,
    )
    assert people.person("U0MINJI", "minji", ["S1", "S2"], 1) == found
    assert len(slack.asked) == 3
    at(11)
    minji(slack)
    people.person("U0MINJI", "minji", ["S1", "S2"], 1)
    assert len(slack.asked) == 6


def test_another_worker_knows_them_from_the_ledger(slack: Slack, at: Any) -> None:
    memory = Memory()
    minji(slack)
    found = SlackPeople(api(slack), memory).person("U0MINJI", "minji", ["S1", "S2"], 1)
    assert SlackPeople(api(slack), memory).person("U0MINJI", "minji", ["S1", "S2"], 1) == found
    assert len(slack.asked) == 3


def test_where_slack_does_not_answer_nobody_is_in_a_group(slack: Slack, at: Any) -> None:
    memory = Memory()
    minji(slack)
    SlackPeople(api(slack), memory).person("U0MINJI", "minji", ["S1", "S2"], 1)
    at(30)
    slack.says(500)
    found = SlackPeople(api(slack), memory).person("U0MINJI", "minji", ["S1"], 1)
    assert (found.zone, found.groups, found.known) == ("America/New_York", frozenset(), False)


def test_a_ledger_that_fails_keeps_nobody_waiting(slack: Slack, at: Any) -> None:
    class Broken(Memory):
        def know(self, *_: object) -> None:
            raise LamplighterError("no")

        def known(self, *_: object) -> Any:
            raise LamplighterError("no")

    minji(slack)
    assert SlackPeople(api(slack), Broken()).person("U0MINJI", "minji", ["S1", "S2"], 1).known
