"""What Slack sends, as values: a slash command as a form, a pressed button as a payload in a form.

Sources: https://docs.slack.dev/interactivity/implementing-slash-commands and
https://docs.slack.dev/reference/interaction-payloads/block_actions-payload. Only shapes are looked at here; what
words and buttons mean is understand.py's.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason

MOST_FIELDS = 100
_USER = re.compile(r"[UW][A-Z0-9]{1,30}", re.ASCII)
_NO_COMMAND = reason("slack.no-command")


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """Words that somebody typed after the slash command."""

    team: str
    user: str
    user_name: str
    channel: str
    command: str
    text: str
    response_url: str | None


@dataclass(frozen=True, slots=True)
class Press:
    """A button that somebody pressed, or a choice they made, under one of our messages."""

    team: str
    user: str
    user_name: str
    channel: str
    action: str
    value: str
    response_url: str | None
    message: str | None = None
    """The `ts` of the message with the button."""
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class SslCheck:
    """Slack looks whether the address is there; nobody asked for anything."""


Request = SlashCommand | Press | SslCheck


def read(body: str) -> Request:
    """What a signed body asks; BadInput where it is nothing that Slack would send.

    UnicodeDecodeError where what it encodes is not UTF-8.
    """
    try:
        form = dict(parse_qsl(body, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS))
    except UnicodeDecodeError:
        raise
    except ValueError:
        raise BadInput(_NO_COMMAND) from None
    if "payload" in form:
        return _press(form["payload"])
    if "command" in form:
        return SlashCommand(
            team=form.get("team_id", ""),
            user=_user(form.get("user_id")),
            user_name=form.get("user_name", ""),
            channel=form.get("channel_id", ""),
            command=form["command"],
            text=form.get("text", ""),
            response_url=form.get("response_url") or None,
        )
    if form.get("ssl_check") == "1":
        return SslCheck()
    raise BadInput(_NO_COMMAND)


def _press(payload: str) -> Press:
    try:
        said = json.loads(payload)
    except (ValueError, RecursionError):
        raise BadInput(_NO_COMMAND) from None
    if not isinstance(said, dict) or said.get("type") != "block_actions":
        raise BadInput(reason("slack.not-a-button"))
    actions = said.get("actions")
    if not isinstance(actions, list) or not actions or not isinstance(actions[0], dict):
        raise BadInput(reason("slack.no-button"))
    action: Mapping[str, object] = actions[0]
    user, container = _inner(said, "user"), _inner(said, "container")
    return Press(
        team=_text(_inner(said, "team"), "id") or _text(user, "team_id"),
        user=_user(user.get("id")),
        user_name=_text(user, "username") or _text(user, "name"),
        channel=_text(_inner(said, "channel"), "id") or _text(container, "channel_id"),
        action=_text(action, "action_id"),
        value=_text(action, "value") or _text(_inner(action, "selected_option"), "value"),
        response_url=_text(said, "response_url") or None,
        message=_text(container, "message_ts") or None,
        thread=_text(container, "thread_ts") or None,
    )


def _user(said: object) -> str:
    if isinstance(said, str) and _USER.fullmatch(said):
        return said
    raise BadInput(reason("slack.no-user"))


def _inner(said: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = said.get(key)
    return value if isinstance(value, dict) else {}


def _text(said: Mapping[str, object], key: str) -> str:
    value = said.get(key)
    return value if isinstance(value, str) else ""
