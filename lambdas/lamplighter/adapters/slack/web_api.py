"""The calls of Slack's Web API that the lab makes: messages, and reading people and groups.

Errors name the call: TryLater where Slack limits the rate, Unanswered where it is unknown whether a message was posted,
OutsideFailed where Slack refused. slack_sdk is imported on first use.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import URLError

from lamplighter.domain.slack.message import Message
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.reasons.reason import Said, reason

if TYPE_CHECKING:
    from slack_sdk import WebClient

    from lamplighter.adapters.slack.secret import Secrets, SlackSecret

BASE_URL = "https://slack.com/api/"
PATIENCE_SECONDS = 10
SLOW_DOWN, SERVER_ERROR = 429, 500
TOO_MANY = frozenset({"ratelimited", "rate_limited"})
"""All calls, and the messages of chat.postMessage (https://docs.slack.dev/reference/methods/chat.postMessage#errors)."""
TOKEN_ERRORS = frozenset({"invalid_auth", "not_authed", "token_expired", "token_revoked", "account_inactive"})
MOVING = frozenset({"team_added_to_org", "org_login_required"})
"""The workspace moves into an enterprise organisation."""
MENDABLE = TOKEN_ERRORS | MOVING | {"missing_scope", "service_unavailable", "request_timeout"}
"""Slack does not take the call now. It may take it later, or when somebody has mended the app."""
PERHAPS_DONE = frozenset({"internal_error", "fatal_error"})
"""Some of the call may have worked (https://docs.slack.dev/reference/methods/chat.postEphemeral#errors)."""
LOST = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "channel_not_found"})
"""An update of such a message will never be taken."""


class Unanswered(OutsideFailed):
    """Slack did not answer the call. It may have been carried out, or not."""


class Declined(OutsideFailed):
    """Slack refused the call. It would refuse the same call again."""


class MessageGone(Declined):
    """The message that should be updated no longer exists."""


class WebApi:
    """The Web API with the app's bot token; `SLACK_API_URL` names another address."""

    def __init__(self, secret: "SlackSecret", base_url: str | None = None) -> None:
        self._secret = secret
        self._base_url = base_url or os.environ.get("SLACK_API_URL") or BASE_URL

    def post(self, channel: str, message: Message, thread: str | None = None) -> str:
        """Post a new message, in a thread or not; returns its timestamp, which is its id in the channel."""
        more = {"thread_ts": thread} if thread else {}
        reply = self._call(
            "chat.postMessage",
            reason("slack.api.channel", channel=channel),
            {"channel": channel, **message.to_json(), "unfurl_links": False, "unfurl_media": False, **more},
        )
        return str(reply.get("ts") or "")

    def update(self, channel: str, ts: str, message: Message) -> None:
        """Replace the content of a posted message. It may be repeated."""
        said = message.to_json()
        # Left out, blocks would stay as they were.
        said.setdefault("blocks", [])
        self._call(
            "chat.update",
            reason("slack.api.channel", channel=channel),
            {"channel": channel, "ts": ts, **said},
        )

    def whisper(self, channel: str, user: str, message: Message) -> None:
        """Post a message in a channel that only one person sees."""
        self._call(
            "chat.postEphemeral",
            reason("slack.api.channel", channel=channel),
            {"channel": channel, "user": user, **message.to_json()},
        )

    def profile(self, user: str, patience_seconds: float = PATIENCE_SECONDS) -> Mapping[str, object]:
        """What Slack knows of a person: `name`, `real_name`, `tz`."""
        found = self._call(
            "users.info", reason("slack.api.user", user=user), {"user": user}, patience_seconds
        ).get("user")
        return found if isinstance(found, Mapping) else {}

    def members(self, group: str, patience_seconds: float = PATIENCE_SECONDS) -> frozenset[str]:
        """The members of a user group."""
        asked = {"usergroup": group}
        users = self._call(
            "usergroups.users.list", reason("slack.api.group", group=group), asked, patience_seconds
        ).get("users")
        return frozenset(map(str, users)) if isinstance(users, list) else frozenset()

    def _call(
        self, call: str, subject: Said, said: Mapping[str, object], patience_seconds: float = PATIENCE_SECONDS
    ) -> Mapping[str, Any]:
        """One call; where Slack no longer takes the token, once again with a fresh one."""
        secrets = self._secret.get()  # where it fails, Slack was asked nothing
        with _outside(call, subject):
            try:
                return self._asked(secrets, call, said, patience_seconds)
            except _refusals() as refused:
                fresh = self._secret.renewed() if _code(refused) in TOKEN_ERRORS else None
                if fresh is None:
                    raise
                return self._asked(fresh, call, said, patience_seconds)

    def _asked(
        self, secrets: "Secrets", call: str, said: Mapping[str, object], patience_seconds: float
    ) -> Mapping[str, Any]:
        client = _client(secrets.bot_token, self._base_url, patience_seconds)
        # Reads take a form only; messages are JSON.
        if call.startswith("chat."):
            reply = client.api_call(call, json=dict(said))
        else:
            reply = client.api_call(call, http_verb="GET", params=dict(said))
        data = reply.data
        return data if isinstance(data, Mapping) else {}


def _client(token: str, base_url: str, patience_seconds: float) -> "WebClient":
    from slack_sdk import WebClient  # noqa: PLC0415 -- on first use

    # No automatic retries: a message that was posted without an answer would be posted twice.
    return WebClient(
        token=token,
        base_url=base_url,
        timeout=patience_seconds,  # type: ignore[arg-type]  # urllib takes parts of a second
        retry_handlers=[],
    )


@contextmanager
def _outside(call: str, subject: Said) -> Iterator[None]:
    """Turns the errors of slack_sdk into ours, which name the call and its object, and never a token."""
    try:
        yield
    except _refusals() as refused:
        raise _error(refused, call, subject) from None
    except URLError as error:
        # Slack never got the whole request: urllib wraps only what goes wrong before that.
        text = str(error.reason)
        raise OutsideFailed(
            reason("slack.api.unreachable", call=call, subject=subject, error=text), call
        ) from None
    except (OSError, HTTPException, ValueError) as error:
        raise Unanswered(
            reason("slack.api.unanswered", call=call, subject=subject, error=str(error)), call
        ) from None


def _error(refused: Exception, call: str, subject: Said) -> OutsideFailed | TryLater:
    """Our error for an answer in which Slack refuses a call."""
    code, status = _code(refused), _status(refused)
    if status == SLOW_DOWN or code in TOO_MANY:
        wait = _headers(refused).get("retry-after", "")
        if wait:
            return TryLater(reason("slack.api.slow-down.seconds", call=call, subject=subject, seconds=wait))
        return TryLater(reason("slack.api.slow-down", call=call, subject=subject))
    if status >= SERVER_ERROR or not code:
        failed = reason("slack.api.failed", call=call, subject=subject, status=str(status))
        return OutsideFailed(failed, call)
    refusal = reason("slack.api.refused", call=call, subject=subject, error=code)
    if code in PERHAPS_DONE:
        return Unanswered(refusal, call)
    if code in MENDABLE:
        return OutsideFailed(refusal, call)
    gone = call == "chat.update" and code in LOST
    return MessageGone(refusal, call) if gone else Declined(refusal, call)


def _refusals() -> type[Exception]:
    from slack_sdk.errors import SlackClientError  # noqa: PLC0415 -- evaluated only while an exception passes

    return SlackClientError


def _code(refused: Exception) -> str:
    said = _answer(refused, "data")
    return str(said.get("error") or "") if isinstance(said, Mapping) else ""


def _status(refused: Exception) -> int:
    found = _answer(refused, "status_code")
    return found if isinstance(found, int) else 0


def _headers(refused: Exception) -> dict[str, str]:
    found = _answer(refused, "headers")
    return {str(name).lower(): str(value) for name, value in dict(found or {}).items()}


def _answer(refused: Exception, name: str) -> Any:  # noqa: ANN401
    """A field of the response in slack_sdk's error. An unreadable response is a plain mapping there."""
    response: Any = getattr(refused, "response", None)
    if isinstance(response, Mapping):
        return response.get({"status_code": "status", "data": "body"}.get(name, name))
    return getattr(response, name, None)
