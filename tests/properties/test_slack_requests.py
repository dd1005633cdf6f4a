"""Requests as somebody else sends them: forged, replayed, stale, oversized, malformed, non-UTF-8.

Whatever comes: only what Slack signed is taken, nothing of anything else is logged, written or started,
and a request that comes again changes nothing and is not answered again.
"""

import json
import logging
import string
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamplighter import clock
from lamplighter.application.logs import logger
from lamplighter.application.slack.receiving import SIGNATURE, STAMP, Outcome
from lamplighter.domain.slack.asked import signature
from lamplighter.errors import OutsideFailed
from tests.unit.slack.requests import SECRET, Knocks, knocks, message, pressed, typed

LARGEST = 16 * 1024
USERS = ("U0INSTRUCT", "U0STUDENT", "U0THIRD")
HIDDEN = "hidden-word-of-the-body"
"""In every body: no log may ever show it where the request was not signed."""
WORDS = ["open", "extend", "close", "status", "why", "help", "skip", "pause", "gpu", "evening", "yes"]
WORDS += [
    "2", "for", "90m", "until", "22:30", "at", "fri", "20:00", "because", "\u201cnow\u201d", "1h", "\x00",
]  # fmt: skip
TEXTS = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join))
ACTIONS = [
    "open", "add", "extend", "keep-until", "close", "confirm", "keep", "why", "ask", "approve", "tell-me",
    "book", "book:2", "take", "x",
]  # fmt: skip
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
VALUES = st.one_of(
    st.text(max_size=40),
    st.dictionaries(st.sampled_from("plnsoubvac"), JSON_VALUES, max_size=5).map(json.dumps),
)
PAYLOADS = st.dictionaries(
    st.sampled_from(["type", "user", "team", "actions", "container", "response_url"]), JSON_VALUES, max_size=6
)
BODIES = st.one_of(
    st.binary(max_size=200),
    st.builds(lambda text, user: typed(text, user, HIDDEN), TEXTS, st.sampled_from(USERS)),
    st.builds(
        lambda action, value, user: pressed(
            {"action_id": action, "type": "button", "value": value}, user, HIDDEN
        ),
        st.sampled_from(ACTIONS),
        VALUES,
        st.sampled_from(USERS),
    ),
    PAYLOADS.map(lambda payload: b"payload=" + json.dumps({"type": "block_actions", **payload}).encode()),
    st.integers(0, 3).map(lambda more: b"text=" + b"x" * (LARGEST - 6 + more)),
    st.binary(min_size=1, max_size=8).map(lambda raw: b"command=%2Fgpu&text=" + raw),
)
AGES = st.one_of(st.sampled_from([0, 1, 299, 300, 301, -1, -2, -60, 86400]), st.integers(-(10**6), 10**6))


@dataclass(frozen=True)
class Sent:
    """A request, and what is true of it."""

    message: Mapping[str, Any]
    body: bytes
    age: int
    honest: bool


@st.composite
def requests(draw: st.DrawFn) -> Sent:
    """A request as somebody sends it: signed by Slack, or nearly."""
    body, age = draw(BODIES), draw(AGES)
    stamp = str(int(clock.now().timestamp()) - age)
    given = {STAMP: stamp, SIGNATURE: signature.signed(SECRET, stamp, body)}
    wrong = draw(st.sampled_from([None, None, "secret", "body", "stamp", "missing", "noise"]))
    shown = body
    match wrong:
        case "secret":
            given[SIGNATURE] = signature.signed(draw(st.text(max_size=40)) + "!", stamp, body)
        case "body":
            shown = body + draw(st.binary(min_size=1, max_size=4))
        case "stamp":
            given[STAMP] = draw(st.text(max_size=12).filter(lambda text: text != stamp))
        case "missing":
            del given[draw(st.sampled_from(sorted(given)))]
        case "noise":
            given[SIGNATURE] = draw(st.text(string.printable, max_size=80))
    return Sent(message(shown, given), shown, age, wrong is None)


def taken(sent: Sent) -> bool:
    """Whether the contract lets it in, worked out apart from the product."""
    if len(sent.body) > LARGEST or not sent.honest or not -1 <= sent.age <= 300:
        return False
    try:
        sent.body.decode()
        for field in sent.body.split(b"&")[:100]:
            unquote_to_bytes(field.replace(b"+", b" ")).decode()
    except UnicodeDecodeError:
        return False
    return True


@contextmanager
def listening() -> Iterator[list[str]]:
    """Every line that is logged meanwhile, whole."""
    lines: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.getMessage()} {record.__dict__}")

    ear = Ear(level=logging.DEBUG)
    heard = [logging.getLogger(), logging.getLogger(logger().name)]
    for each in heard:
        each.addHandler(ear)
    try:
        yield lines
    finally:
        for each in heard:
            each.removeHandler(ear)


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[pytest.MonkeyPatch, Path]]:
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("door")
    knocks(patch, folder)  # the clock stands still from here
    yield patch, folder
    patch.undo()


def nothing_happened(door: Knocks) -> bool:
    return not (door.workflows.starts or door.lab.moved or door.sent)


def fresh(outside: tuple[pytest.MonkeyPatch, Path]) -> Knocks:
    made = knocks(*outside)
    made.lab.moved.clear()
    return made


@settings(deadline=timedelta(seconds=5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_only_what_slack_signed_does_anything_and_nothing_else_is_logged(
    outside: tuple[pytest.MonkeyPatch, Path], data: st.DataObject
) -> None:
    door, sent = fresh(outside), data.draw(requests())
    if data.draw(st.booleans()):
        door.workflows.fails = data.draw(st.sampled_from([OutsideFailed("no answer"), ValueError(HIDDEN)]))

    with listening() as lines:
        outcome = door.take(sent.message)

    said = "\n".join(lines)
    assert SECRET not in said
    assert "hooks.slack.com" not in said
    assert HIDDEN not in said
    if not taken(sent):
        assert outcome == Outcome(1, ())
        assert not lines
        assert nothing_happened(door)
        return
    assert SECRET not in str(door.sent)
    if outcome.dropped:
        # Slack would not send it.
        assert nothing_happened(door)
    # Whatever Slack asks, the function writes into the conversation's own part of the ledger alone.
    decided = {start.command.id for start in door.workflows.starts}
    for pk, sk in door.lab.moved:
        assert pk.startswith("SLACK") or sk.removeprefix("COMMAND#") in decided or sk.startswith("LEASE#")


@settings(deadline=timedelta(seconds=5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=st.lists(st.tuples(TEXTS, st.sampled_from(USERS), st.integers(1, 3)), min_size=1, max_size=4))
def test_requests_that_come_again_change_nothing_and_are_answered_once(
    outside: tuple[pytest.MonkeyPatch, Path], asked: list[tuple[str, str, int]]
) -> None:
    once, often = fresh(outside), fresh(outside)
    stamp = str(int(clock.now().timestamp()))
    for number, (text, user, times) in enumerate(asked):
        body = typed(text, user, f"{number}.{HIDDEN}")
        request = message(body, {STAMP: stamp, SIGNATURE: signature.signed(SECRET, stamp, body)})
        first = once.answers(request)
        assert len(first) == 1
        assert [often.answers(request) for _ in range(times)] == [first, *([[]] * (times - 1))]
    assert often.lab.dynamodb.items == once.lab.dynamodb.items
    assert [start.name for start in often.workflows.starts] == [start.name for start in once.workflows.starts]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.dictionaries(
        st.sampled_from(["body", "attributes", "messageAttributes", "eventSource"]), JSON_VALUES
    )
)
def test_any_shape_is_turned_away(outside: tuple[pytest.MonkeyPatch, Path], said: dict[str, object]) -> None:
    door = fresh(outside)
    for shape in ({"messageId": "1", **said}, {**message(b"x", {}), **said}):
        assert door.take(shape) == Outcome(1, ())
    assert nothing_happened(door)
