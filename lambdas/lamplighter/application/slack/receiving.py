"""Requests from Slack: the signature is checked first, and a signed request is answered within 3 seconds.

Owns the codes: 413 over 16 KiB before anything is computed; 401 for an unsigned, stale or future request; 400 where
the body is not UTF-8; 404 and 405 for another path or method; always 200 for a signed request. Nothing of an unsigned
request is logged. answering.py answers words and buttons.
"""

import base64
import binascii
import json
import queue
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from lamplighter import clock
from lamplighter.adapters.slack.secret import Secrets
from lamplighter.application.slack.answering import answer
from lamplighter.application.slack.context import slack_services
from lamplighter.application.slack.deadline import Deadline
from lamplighter.application.slack.log import failed
from lamplighter.data.texts import ENGLISH, Texts
from lamplighter.domain.slack.asked import request, signature
from lamplighter.domain.slack.asked.request import Request
from lamplighter.errors import BadInput, LamplighterError
from lamplighter.reasons.reason import Said, as_sentence, draw, reason
from lamplighter.values.clock_time import clock_time

LARGEST = 16 * 1024
IN_BASE64 = (LARGEST + 2) // 3 * 4
SECONDS = 2.2
"""Of Slack's 3 seconds. A cold start and the network take the rest."""
OK, BAD, UNAUTHORIZED, NOT_FOUND, NOT_ALLOWED, TOO_LARGE = 200, 400, 401, 404, 405, 413
_CANNOT_TELL = reason("slack.cannot-tell")
_NOT_NOW = reason("slack.not-now")


Reply = dict[str, object]


class Keys(Protocol):
    """Where the signing secret comes from."""

    def get(self) -> Secrets: ...

    def renewed(self) -> Secrets | None: ...


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A request that Slack has signed."""

    request: Request
    key: str
    """Names the request: the same request has the same key again."""
    made: datetime
    """When it was made, by its stamp."""


Answers = Callable[[SignedRequest, Deadline], Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Envelope:
    """A request whose signature is not verified yet."""

    stamp: str
    body: bytes
    given: str
    made: datetime


class Rejected(Exception):
    """The request gets an HTTP code; only with 200 a sentence."""

    def __init__(self, code: int, said: Said = "") -> None:
        super().__init__(code)
        self.code, self.said = code, said


@dataclass(frozen=True)
class RequestHandler:
    """Answers the requests from Slack to one lab."""

    keys: Keys
    answer: Answers
    """Answers a signed request; a failure becomes an answer, never an exception."""
    texts: Callable[[], Texts] = lambda: ENGLISH
    """The lab's language; asked only for an answer in words, since the lab's model takes time to load."""
    now: Callable[[], datetime] = clock.now

    def answer_event(self, event: Mapping[str, object], seconds: float = SECONDS) -> Reply:
        """The HTTP answer to an event of API Gateway (payload format 2.0), within about so many seconds.

        Work that takes longer is abandoned and begins nothing more.
        """
        deadline = Deadline(seconds, lambda: self._words(_CANNOT_TELL))
        try:
            envelope = self._looked_at(event)
        except Rejected as rejected:
            return self._rejected(rejected)
        told: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        threading.Thread(target=self._work, args=(envelope, deadline, told), daemon=True).start()
        while left := deadline.left():
            with suppress(queue.Empty):
                return told.get(timeout=left)
        deadline.give_up()
        return _said(OK, deadline.last_word())

    def _looked_at(self, event: Mapping[str, object]) -> Envelope:
        """The request, if it may be Slack's: cheap rules only, in the order of the contract."""
        _is_ours(event)
        body = _body(event)
        if len(body) > LARGEST:
            raise Rejected(TOO_LARGE)
        headers = _headers(event)
        stamp = headers.get("x-slack-request-timestamp", "")
        given = headers.get("x-slack-signature", "")
        made = signature.fresh(stamp, self.now())
        if made is None or not signature.well_formed(given):
            raise Rejected(UNAUTHORIZED)
        return Envelope(stamp, body, given, made)

    def _work(self, envelope: Envelope, deadline: Deadline, told: "queue.SimpleQueue[Reply]") -> None:
        try:
            signed = self._opened(envelope)
            deadline.say_at_the_end(self._words(_NOT_NOW))
            told.put(_said(OK, self.answer(signed, deadline)))
        except Rejected as rejected:
            told.put(self._rejected(rejected))
        except BaseException as error:  # noqa: BLE001 -- whatever it is, Slack is answered
            _log_failure(error)
            told.put(_said(OK, deadline.last_word()))

    def _opened(self, envelope: Envelope) -> SignedRequest:
        """The request, once Slack's signature is verified."""
        if not self._signed(envelope.stamp, envelope.body, envelope.given):
            raise Rejected(UNAUTHORIZED)
        try:
            asked = request.read(envelope.body.decode("utf-8"))
        except UnicodeDecodeError:
            raise Rejected(BAD) from None
        except BadInput as error:
            raise Rejected(OK, error.said) from None
        return SignedRequest(asked, signature.key_of(envelope.stamp, envelope.body), envelope.made)

    def _signed(self, stamp: str, body: bytes, given: str) -> bool:
        try:
            known = self.keys.get()
        except LamplighterError as error:
            _log_failure(error)
            raise Rejected(OK, _CANNOT_TELL) from None
        if signature.fits(known.signing_secret, stamp, body, given):
            return True
        try:
            again = self.keys.renewed() or self.keys.get()
        except LamplighterError as error:
            _log_failure(error)
            return False
        return signature.fits(again.signing_secret, stamp, body, given)

    def _rejected(self, rejected: Rejected) -> Reply:
        return _said(rejected.code, self._words(rejected.said) if rejected.code == OK else {})

    def _words(self, said: Said) -> Mapping[str, object]:
        """A sentence for the asker alone."""
        texts = self.texts()
        text = as_sentence(draw(said, texts, clock_time), texts)
        return {"response_type": "ephemeral", "text": text}


def behind(signed: SignedRequest, deadline: Deadline) -> Mapping[str, object]:
    return answer(signed.request, signed.key, signed.made, deadline, slack_services())


def _is_ours(event: Mapping[str, object]) -> None:
    around = event.get("requestContext")
    http = around.get("http") if isinstance(around, Mapping) else None
    asked = http if isinstance(http, Mapping) else {}
    if asked.get("method") != "POST":
        raise Rejected(NOT_ALLOWED)
    if not str(event.get("rawPath", "")).endswith("/slack"):
        raise Rejected(NOT_FOUND)


def _body(event: Mapping[str, object]) -> bytes:
    """The raw bytes of the request; a body that is too large is not decoded."""
    said = event.get("body") or ""
    if not isinstance(said, str):
        raise Rejected(BAD)
    if not event.get("isBase64Encoded"):
        if len(said) > LARGEST:
            raise Rejected(TOO_LARGE)
        return said.encode("utf-8", "surrogatepass")
    if len(said) > IN_BASE64:
        raise Rejected(TOO_LARGE)
    try:
        return base64.b64decode(said, validate=True)
    except (binascii.Error, ValueError):
        raise Rejected(BAD) from None


def _headers(event: Mapping[str, object]) -> Mapping[str, str]:
    said = event.get("headers")
    if not isinstance(said, Mapping):
        return {}
    return {str(name).lower(): value for name, value in said.items() if isinstance(value, str)}


def _said(code: int, body: Mapping[str, object]) -> Reply:
    text = json.dumps(body, ensure_ascii=False) if code == OK else ""
    headers = {"content-type": "application/json; charset=utf-8", "cache-control": "no-store"}
    return {"statusCode": code, "headers": headers, "body": text, "isBase64Encoded": False}


def _log_failure(error: BaseException) -> None:
    """Logs an error on our side."""

    failed(error)
