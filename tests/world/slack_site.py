"""Slack: its Web API under the app's own client, and the addresses that take late answers.

It keeps what was said: in channels, in threads, to one person alone, and at a response_url.
"""

import http.client
import io
import itertools
import json
from contextlib import ExitStack
from email.message import Message
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch
from urllib.error import HTTPError
from urllib.parse import parse_qsl
from urllib.request import Request

from slack_sdk.web import base_client

from tests.world.outside import Passage

Json = dict[str, Any]
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
CHANNEL = "C0GPU"


class SlackSite:
    """One workspace with the lab's app."""

    def __init__(self, cross: Passage) -> None:
        self._cross = cross
        self._stamps = itertools.count(1)
        self.posts: dict[str, Json] = {}
        """Messages in channels and threads, by their `ts`."""
        self.told: list[Json] = []
        """What one person alone was told: in a channel, or at a response_url."""

    def install(self, stack: ExitStack) -> None:
        stack.enter_context(patch.object(base_client, "urlopen", self._opened))
        stack.enter_context(patch.object(http.client, "HTTPSConnection", self._connection))

    def forget(self) -> None:
        self.posts.clear()
        self.told.clear()

    @property
    def said(self) -> list[str]:
        """The texts of everything, in order."""
        return sorted(str(each.get("text")) for each in (*self.posts.values(), *self.told))

    def _opened(self, request: Request, **_settings: object) -> Any:
        """In the place of urlopen."""
        call, body = request.full_url.rpartition("/")[2], cast("bytes", request.data).decode()
        given = json.loads(body) if body.startswith("{") else dict(parse_qsl(body))
        status, said = self._cross(
            "slack", call, lambda: (200, self._answer(call, given)), lambda: json.dumps(given)
        )
        text = io.BytesIO((said if isinstance(said, str) else json.dumps(said)).encode())
        if status >= 400:
            raise HTTPError(request.full_url, status, "refused", Message(), text)
        return SimpleNamespace(headers=Message(), code=status, read=text.read)

    def _answer(self, call: str, given: Json) -> Json:
        match call:
            case "chat.postMessage":
                ts = f"1795000000.{next(self._stamps):06}"
                self.posts[ts] = given
                return {"ok": True, "channel": given["channel"], "ts": ts}
            case "chat.update" if given["ts"] in self.posts:
                self.posts[given["ts"]] |= given
                return {"ok": True, "ts": given["ts"]}
            case "chat.update":
                return {"ok": False, "error": "message_not_found"}
            case "chat.postEphemeral":
                self.told.append(given)
                return {"ok": True}
            case "users.info":
                user = given["user"]
                return {"ok": True, "user": {"id": user, "name": user.lower(), "tz": "Etc/UTC"}}
            case "usergroups.users.list":
                return {"ok": True, "users": ["UTOM"]}
        return {"ok": False, "error": "unknown_method"}

    def _connection(self, _host: str, _port: int | None, **_settings: object) -> Any:
        """In the place of HTTPSConnection: an address takes one answer."""
        sent: list[Json] = []

        def took() -> tuple[int, Json]:
            self.told.extend(sent)
            return 200, {}

        def answered() -> Any:
            status, _ = self._cross("slack", "response_url", took, lambda: json.dumps(sent))
            return SimpleNamespace(status=status, read=lambda _most: b"ok")

        return SimpleNamespace(
            request=lambda _method, _path, body, _headers: sent.append(json.loads(body)),
            getresponse=answered,
            close=lambda: None,
        )
