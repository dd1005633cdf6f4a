"""Slack's requests become values, field by field; a request that Slack would never send is refused with a hint."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from lamplighter.domain.slack.asked.request import MOST_FIELDS, Press, SlashCommand, SslCheck, read
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason

TYPED = {
    "team_id": "T0", "user_id": "U0MINJI", "user_name": "minji", "channel_id": "C0", "command": "/gpu",
    "text": "open 2", "response_url": "https://hooks.slack.com/1",
}  # fmt: skip
PRESSED: dict[str, Any] = {
    "type": "block_actions",
    "team": {"id": "T0"},
    "user": {"id": "U0MINJI", "username": "minji", "name": "Minji", "team_id": "T1"},
    "channel": {"id": "C0"},
    "container": {"channel_id": "C1", "message_ts": "1.1", "thread_ts": "1.0"},
    "actions": [{"action_id": "open", "value": "{}"}, {"action_id": "close", "value": "{1}"}],
    "response_url": "https://hooks.slack.com/1",
}
WHOLE = Press("T0", "U0MINJI", "minji", "C0", "open", "{}", "https://hooks.slack.com/1", "1.1", "1.0")


def pressed(**more: Any) -> Press:
    made = read(urlencode({"payload": json.dumps({**PRESSED, **more})}))
    assert isinstance(made, Press)
    return made


def test_typed_words_are_read_field_by_field() -> None:
    assert read(urlencode(TYPED)) == SlashCommand(
        "T0", "U0MINJI", "minji", "C0", "/gpu", "open 2", "https://hooks.slack.com/1"
    )
    assert read("command=/gpu&user_id=W0&response_url=&text=") == SlashCommand(
        "", "W0", "", "", "/gpu", "", None
    )


def test_a_command_without_a_word_is_one_all_the_same() -> None:
    assert read("command=&user_id=W0") == SlashCommand("", "W0", "", "", "", "", None)


def test_a_pressed_button_is_the_first_of_its_actions() -> None:
    assert pressed() == WHOLE


@pytest.mark.parametrize(
    ("more", "field", "value"),
    [
        ({"team": None}, "team", "T1"),
        ({"user": {"id": "U0MINJI", "name": "Minji"}}, "user_name", "Minji"),
        ({"channel": {}}, "channel", "C1"),
        ({"response_url": None}, "response_url", None),
        ({"response_url": ""}, "response_url", None),
        ({"container": 1}, "message", None),
        ({"container": {"thread_ts": ""}}, "thread", None),
        ({"actions": [{"action_id": "keep-until", "selected_option": {"value": "{2}"}}]}, "value", "{2}"),
        ({"actions": [{"action_id": 7}]}, "action", ""),
    ],
)
def test_what_a_press_leaves_out_is_found_elsewhere_or_empty(
    more: dict[str, Any], field: str, value: str | None
) -> None:
    assert getattr(pressed(**more), field) == value


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"type": "view_submission"}, "slack.not-a-button"),
        ({"actions": {}}, "slack.no-button"),
        ({"actions": []}, "slack.no-button"),
        ({"actions": ["open"]}, "slack.no-button"),
        ({"actions": ["open", {"action_id": "open"}]}, "slack.no-button"),
        ({"user": {}}, "slack.no-user"),
        ({"user": {"id": 7}}, "slack.no-user"),
        ({"user": {"id": "minji"}}, "slack.no-user"),
    ],
)
def test_what_nobody_could_have_pressed_is_refused(more: dict[str, Any], code: str) -> None:
    with pytest.raises(BadInput) as refused:
        pressed(**more)
    assert refused.value.said == reason(code)


@pytest.mark.parametrize("payload", ["{", "[" * 100_000, "[]", "null"])
def test_a_payload_that_is_no_document_is_refused(payload: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(urlencode({"payload": payload}))
    assert refused.value.said in {reason("slack.no-command"), reason("slack.not-a-button")}


def test_slack_may_look_whether_somebody_is_there() -> None:
    assert read("ssl_check=1&token=x") == SslCheck()


@pytest.mark.parametrize("body", ["", "ssl_check=0", "a=b", "&".join(["a=b"] * 101)])
def test_what_holds_no_command_is_refused(body: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(body)
    assert refused.value.said == reason("slack.no-command")


def test_a_hundred_fields_are_read_and_what_is_no_text_is_told_apart() -> None:
    assert MOST_FIELDS == 100
    assert read("&".join(["ssl_check=1", *["a=b"] * 99])) == SslCheck()
    with pytest.raises(UnicodeDecodeError):
        read("command=%ff")
