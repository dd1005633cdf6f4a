"""A played Slack: the few calls of its Web API that the lab makes, and the addresses of response_urls.

It keeps every call, readable at PATH, and can be made to fail. The program that plays a person calls the lab's own
address with a signature. https://docs.slack.dev/reference/methods
"""

import itertools
import json
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from local.aws.api.server import Request, Response
from local.aws.functions.runtime import SLACK
from local.clock import VirtualClock

#: Below PATH: /api/METHOD, /reply/ANY-ID, and for the program that plays people, /people, /groups and /trouble.
PATH = SLACK
#: A response_url accepts this many answers, for this many seconds after the command or the press
#: (https://docs.slack.dev/interactivity/handling-user-interaction#message_responses).
REPLIES, REPLY_SECONDS = 5, 1800.0
TEAM = {"team": "Lamplighter", "team_id": "T0LAMPLIGHT", "user": "gpu-lab", "user_id": "U0LAMPLIGHT"}
REPLY = "response_url"
"""The name, among the calls, of an answer to a response_url."""

Document = dict[str, Any]


@dataclass
class _Trouble:
    """What goes wrong with a call: `throttled`, `failed` (HTTP 500) or an error of Slack by name."""

    how: str
    times: int | None


@dataclass
class Workspace:
    """One workspace with one app in it."""

    clock: VirtualClock
    bot_token: str
    #: The people. Any other id is a person with that id as name, in this zone.
    zone: str = "Asia/Seoul"
    people: dict[str, Document] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    told: list[Document] = field(default_factory=list)
    _messages: dict[tuple[str, str], Document] = field(default_factory=dict)
    #: By the end of a response_url: since when it is valid, and how many answers it has taken.
    _given: dict[str, float] = field(default_factory=dict)
    _replies: Counter[str] = field(default_factory=Counter)
    _trouble: dict[str, _Trouble] = field(default_factory=dict)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def messages(self, channel: str | None = None) -> list[Document]:
        """The present messages, oldest first: channel, ts, thread_ts, text, blocks, updates."""
        with self._lock:
            return [dict(one) for one in self._messages.values() if channel in (None, one["channel"])]

    def replies(self, address: str | None = None) -> list[Document]:
        """The answers to response_urls, oldest first; `address` is the end of the response_url."""
        with self._lock:
            found = [one for one in self.told if one["call"] == REPLY and one["answer"]["ok"]]
            return [one["said"] for one in found if address in (None, one["address"])]

    def give(self, address: str) -> None:
        """Slack gives an app a response_url with this end now. Without this, its time begins with the first answer."""
        with self._lock:
            self._given[address] = self.clock.time()

    def fail(self, call: str, how: str, times: int | None = None) -> None:
        """From now on a call (or `response_url`, or `*`) fails, this many times or until `heal`.

        `how`: throttled, failed, or the name of an error of Slack, such as channel_not_found.
        """
        with self._lock:
            self._trouble[call] = _Trouble(how, times)

    def heal(self) -> None:
        """Ends all failures."""
        with self._lock:
            self._trouble.clear()

    def answer(self, request: Request) -> Response:
        """The page at PATH."""
        where, _, rest = request.path.strip("/").partition("/")
        with self._lock:
            match where, request.method:
                case "api", "GET" | "POST":
                    return self._api(rest, request)
                case "reply", "POST":
                    return self._reply(rest, request)
                case "people" | "groups" | "trouble", "POST":
                    return self._arrange(where, request)
                case "", "GET":
                    kept = {"messages": self.messages(), "replies": self.replies(), "told": self.told}
                    return _json(kept)
        return Response(404)

    def _api(self, method: str, request: Request) -> Response:
        said = _said(request)
        answer, status = self._trouble_with(method)
        if answer is None:
            authorised = request.headers.get("authorization") == f"Bearer {self.bot_token}"
            called = _CALLS.get(method)
            if not authorised:
                answer = {"ok": False, "error": "invalid_auth"}
            elif called is None:
                answer = {"ok": False, "error": "unknown_method"}
            else:
                answer = called(self, said)
        self._keep(method, said, answer)
        return _json(answer, status)

    def _reply(self, address: str, request: Request) -> Response:
        said = _said(request)
        answer, status = self._trouble_with(REPLY)
        if answer is None:
            now = self.clock.time()
            age = now - self._given.setdefault(address, now)
            if self._replies[address] >= REPLIES or age > REPLY_SECONDS:
                answer, status = {"ok": False, "error": "expired_url"}, 404
            else:
                self._replies[address] += 1
                answer = {"ok": True}
        self._keep(REPLY, said, answer, address=address)
        return _json(answer, status)

    def _arrange(self, what: str, request: Request) -> Response:
        """For the program that plays people: sets the people, the members of groups, and the failures."""
        try:
            wish = json.loads(request.body)
            if what == "people":
                self.people.update({str(user): dict(known) for user, known in wish.items()})
            elif what == "groups":
                self.groups.update({str(group): list(members) for group, members in wish.items()})
            elif wish:
                self.fail(str(wish["call"]), str(wish["how"]), wish.get("times"))
            else:
                self.heal()
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return _json({"ok": False, "error": str(error)}, 400)
        return _json({"ok": True})

    def _trouble_with(self, call: str) -> tuple[Document | None, int]:
        """The failure of this call now, and its HTTP status; None without a failure."""
        name = call if call in self._trouble else "*"
        trouble = self._trouble.get(name)
        if trouble is None:
            return None, 200
        if trouble.times is not None:
            trouble.times -= 1
            if trouble.times <= 0:
                del self._trouble[name]
        status = {"throttled": HTTPStatus.TOO_MANY_REQUESTS, "failed": HTTPStatus.INTERNAL_SERVER_ERROR}
        error = "ratelimited" if trouble.how == "throttled" else trouble.how
        return {"ok": False, "error": error}, int(status.get(trouble.how, HTTPStatus.OK))

    def _keep(self, call: str, said: Document, answer: Document, **more: str) -> None:
        at = self.clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.told.append({"at": at, "call": call, "said": said, "answer": answer, **more})

    def _stamp(self) -> str:
        """A message's id: its second and a number, never the same twice."""
        return f"{int(self.clock.time())}.{next(self._numbers):06d}"

    def _post(self, said: Document) -> Document:
        channel, thread = said.get("channel"), said.get("thread_ts")
        if not channel:
            return {"ok": False, "error": "channel_not_found"}
        if not said.get("text") and not said.get("blocks"):
            return {"ok": False, "error": "no_text"}
        if thread and (channel, thread) not in self._messages:
            return {"ok": False, "error": "thread_not_found"}
        ts = self._stamp()
        shown = {key: said[key] for key in ("text", "blocks") if said.get(key)}
        self._messages[channel, ts] = {
            "channel": channel,
            "ts": ts,
            **({"thread_ts": thread} if thread else {}),
            **shown,
            "updates": 0,
        }
        return {"ok": True, "channel": channel, "ts": ts, "message": shown}

    def _update(self, said: Document) -> Document:
        message = self._messages.get((str(said.get("channel")), str(said.get("ts"))))
        if message is None:
            return {"ok": False, "error": "message_not_found"}
        if not said.get("text") and not said.get("blocks"):
            return {"ok": False, "error": "no_text"}
        message.update({key: said[key] for key in ("text", "blocks") if key in said})
        message["updates"] += 1
        return {
            "ok": True,
            "channel": message["channel"],
            "ts": message["ts"],
            "text": message.get("text", ""),
        }

    def _whisper(self, said: Document) -> Document:
        if not said.get("channel") or not said.get("user"):
            return {"ok": False, "error": "user_not_in_channel"}
        return {"ok": True, "message_ts": self._stamp()}

    def _user(self, said: Document) -> Document:
        user = str(said.get("user") or "")
        if user[:1] not in {"U", "W"}:
            return {"ok": False, "error": "user_not_found"}
        name = user.lower()
        somebody = {"name": name, "real_name": name, "tz": self.zone, **self.people.get(user, {})}
        return {"ok": True, "user": {"id": user, **somebody}}

    def _members(self, said: Document) -> Document:
        return {"ok": True, "users": self.groups.get(str(said.get("usergroup")), [])}

    def _whoami(self, _said: Document) -> Document:
        return {"ok": True, "url": "https://lamplighter.slack.example/", **TEAM}


_CALLS = {
    "auth.test": Workspace._whoami,  # noqa: SLF001 (its own)
    "chat.postEphemeral": Workspace._whisper,  # noqa: SLF001
    "chat.postMessage": Workspace._post,  # noqa: SLF001
    "chat.update": Workspace._update,  # noqa: SLF001
    "usergroups.users.list": Workspace._members,  # noqa: SLF001
    "users.info": Workspace._user,  # noqa: SLF001
}


def _said(request: Request) -> Document:
    """The parameters from JSON, a form or a query. Any other text is kept as it came."""
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            found = json.loads(request.body)
        except ValueError:
            return {"unreadable": request.body.decode("utf-8", "replace")}
        return found if isinstance(found, dict) else {"unreadable": found}
    form = parse_qs(request.query) | parse_qs(request.body.decode("utf-8", "replace"))
    return {name: values[-1] for name, values in form.items()}


def _json(document: Mapping[str, Any], status: int = 200) -> Response:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        headers["Retry-After"] = "1"
    return Response(status, json.dumps(document).encode(), headers)
