"""A conversation with the lab as Slack carries it: forms and payloads with every field that Slack sends, signed.

Shapes: https://docs.slack.dev/interactivity/implementing-slash-commands and
https://docs.slack.dev/reference/interaction-payloads/block_actions-payload. The embedded cloud plays Slack's own side
(local/slack): the calls to it and its messages.
"""

import hashlib
import hmac
import itertools
import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from local.clock import VirtualClock
from local.cloud import Cloud
from local.slack.workspace import PATH
from tests.block_kit import faults
from tests.steady.hang import HANG_SECONDS

TEAM, CHANNEL, APP = "T0123456789", "C0123456789", "A0123456789"
NAMES = {"U0INSTRUCT": "sora", "U0STUDENT": "minji", "U0JUN": "jun", "U0HANA": "hana"}
SHARED = {"id": CHANNEL, "name": "gpu-lab"}
#: The direct message channel of the app and one person.
ALONE = {"id": "D0123456789", "name": "directmessage"}
HEADERS = {
    "Content-Type": "application/x-www-form-urlencoded",
    "Accept": "application/json,*/*",
    "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
}
#: A person takes this long for a message, and waits that long for its answer.
TYPING_SECONDS, PATIENCE_SECONDS = 1.0, 120.0


@dataclass(frozen=True)
class Answer:
    """The lab's answer at the response_url."""

    said: Mapping[str, Any]

    @property
    def text(self) -> str:
        return str(self.said["text"])


@dataclass
class Talk:
    """People in one channel; every answer is judged by Block Kit's limits."""

    cloud: Cloud
    sent: list[tuple[bytes, Mapping[str, str]]] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    """By request, where its answers go; the last one belongs to the last request."""
    _numbers: Any = field(default_factory=itertools.count)

    @property
    def clock(self) -> VirtualClock:
        return self.cloud.clock

    def __post_init__(self) -> None:
        people = {user: {"name": name, "real_name": name, "tz": "UTC"} for user, name in NAMES.items()}
        self.cloud.slack.people.update(people)

    def types(self, who: str, text: str) -> Answer:
        """Somebody types `/gpu` and these words, and waits for the answer."""
        self.clock.sleep(TYPING_SECONDS)
        self.sends(who, text)
        return self._answer()

    def sends(self, who: str, text: str) -> str:
        """Somebody types `/gpu` and these words; the end of the response_url, where the answer goes."""
        return self._post(
            {
                "token": "XXYYZZ",
                "team_id": TEAM,
                "team_domain": "example",
                "channel_id": CHANNEL,
                "channel_name": "gpu-lab",
                "user_id": who,
                "user_name": NAMES.get(who, who.lower()),
                "command": "/gpu",
                "text": text,
                "api_app_id": APP,
                "is_enterprise_install": "false",
                "response_url": self._response_url(),
                "trigger_id": f"13345224609.738474920.{next(self._numbers)}",
            }
        )

    def presses(
        self,
        who: str,
        element: Mapping[str, Any],
        ts: str,
        *,
        ephemeral: bool = False,
        channel: Mapping[str, str] = SHARED,
    ) -> Answer:
        """Somebody presses a button of the message of that timestamp. Slack itself handles its confirmation."""
        container = {
            "type": "message",
            "message_ts": ts,
            "channel_id": channel["id"],
            "is_ephemeral": ephemeral,
        }
        action = {
            key: element[key] for key in ("type", "action_id", "text", "value", "style") if key in element
        }
        payload: dict[str, object] = {
            "type": "block_actions",
            "user": {"id": who, "username": NAMES[who], "name": NAMES[who], "team_id": TEAM},
            "api_app_id": APP,
            "token": "XXYYZZ",
            "container": container,
            "trigger_id": f"12321423423.333649436676.{next(self._numbers)}",
            "team": {"id": TEAM, "domain": "example"},
            "enterprise": None,
            "is_enterprise_install": False,
            "channel": channel,
            "state": {"values": {}},
            "response_url": self._response_url(),
            "actions": [{**action, "block_id": "b1", "action_ts": f"{self.cloud.clock.time():.6f}"}],
        }
        self.clock.sleep(TYPING_SECONDS)
        self._post({"payload": json.dumps(payload)})
        return self._answer()

    def again(self, number: int = -1) -> int:
        """Slack delivers a request once more, by default the last one, unchanged; the HTTP code."""
        return self._send(*self.sent[number])

    def forged(self, text: str) -> int:
        """A request of somebody who does not know the secret; the HTTP code."""
        body = urlencode({"command": "/gpu", "text": text, "user_id": "U0INSTRUCT", "team_id": TEAM}).encode()
        return self._send(body, self._signed(body, "not-the-secret"))

    def heard(self) -> Sequence[Mapping[str, Any]]:
        """The answers to the last request, at its response_url."""
        return self.cloud.slack.replies(self.addresses[-1])

    def _response_url(self) -> str:
        self.addresses.append(f"{TEAM}-{next(self._numbers)}")
        self.cloud.slack.give(self.addresses[-1])
        return f"{self.cloud.aws.endpoint}{PATH}/reply/{self.addresses[-1]}"

    def _post(self, form: Mapping[str, str]) -> str:
        body = urlencode(form).encode()
        secret = self.cloud.endpoints().signing_secret
        assert secret is not None
        self.sent.append((body, self._signed(body, secret)))
        assert self._send(*self.sent[-1]) == 200
        return self.addresses[-1]

    def _answer(self) -> Answer:
        self.clock.wait_until(self.clock.time() + PATIENCE_SECONDS, lambda: bool(self.heard()))
        assert self.heard(), f"no answer to {self.sent[-1]}"
        [said] = self.heard()
        judged = {name: value for name, value in said.items() if name in {"text", "blocks"}}
        assert faults(judged) == [], said
        return Answer(said)

    def _signed(self, body: bytes, secret: str) -> Mapping[str, str]:
        stamp = str(int(self.cloud.clock.time()))
        base = b"v0:" + stamp.encode() + b":" + body
        signature = "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
        return {**HEADERS, "X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature}

    def _send(self, body: bytes, headers: Mapping[str, str]) -> int:
        url = self.cloud.endpoints().slack_url
        assert url is not None
        request = urllib.request.Request(url, data=body, headers=dict(headers), method="POST")
        try:
            with urllib.request.urlopen(request, timeout=HANG_SECONDS) as answer:
                assert answer.read() == b""
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            return refused.code


def button(said: Mapping[str, Any], action: str) -> Mapping[str, Any]:
    rows = [block["elements"] for block in said.get("blocks", []) if block["type"] == "actions"]
    found: Mapping[str, Any] = next(each for row in rows for each in row if each["action_id"] == action)
    return found
