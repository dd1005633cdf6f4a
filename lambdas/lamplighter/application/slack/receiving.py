"""Requests from Slack, as their queue hands them over: what Slack has not signed is dropped, what it has is answered.

API Gateway puts every request into the queue, whoever sends it. Rules that cost nothing come first, then the signature,
and only then is a body read. Nothing of a dropped request is logged. answering.py answers words and buttons.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from lamplighter.adapters.slack.secret import Secrets
from lamplighter.application.slack.log import failed
from lamplighter.domain.slack.asked import request, signature
from lamplighter.domain.slack.asked.request import Request
from lamplighter.errors import BadInput

LARGEST = 16 * 1024
AT_ONCE = 10
"""Requests of a batch that are answered side by side: each waits for AWS and for Slack, and computes little."""
TRIES = 5
"""How often the queue hands out a message; after that it is a dead letter."""
SIGNATURE, STAMP = "signature", "timestamp"
"""The attributes of a message, which hold Slack's two headers."""


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
    came: datetime
    """When the lab's address took it."""
    last_try: bool = False
    """Whether its message does not come again."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A request whose signature is not verified yet."""

    stamp: str
    body: bytes
    given: str
    made: datetime
    came: datetime


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a batch."""

    dropped: int
    """Messages that Slack has not signed, or that hold nothing which it would send."""
    failed: tuple[str, ...]
    """The ids of the messages that are to come again."""


@dataclass(frozen=True)
class RequestHandler:
    """Handles the requests from Slack to one lab."""

    keys: Keys
    respond: Callable[[SignedRequest], None]

    def take(self, messages: Sequence[Mapping[str, object]]) -> Outcome:
        """Handles a batch: whatever becomes of one message, the others are handled."""
        signed: dict[str, SignedRequest] = {}
        again: list[str] = []
        dropped, secret = 0, True
        for message in messages:
            name = str(message["messageId"])
            try:
                read = self._read(message) if secret else None
            except Exception as error:  # noqa: BLE001 -- whatever it is, the messages come again
                # It is asked for once a batch: each time may take a second.
                failed(error)
                secret = False
            if not secret:
                again.append(name)
            elif read is None:
                dropped += 1
            else:
                signed[name] = read
        with ThreadPoolExecutor(AT_ONCE) as side_by_side:
            done = side_by_side.map(self._responded, signed.values())
        again += [name for name, well in zip(signed, done, strict=True) if not well]
        return Outcome(dropped, tuple(again))

    def _responded(self, signed: SignedRequest) -> bool:
        try:
            self.respond(signed)
        except Exception as error:  # noqa: BLE001 -- a fault of ours over one request is not the others' failure
            failed(error)
            return False
        return True

    def _read(self, message: Mapping[str, object]) -> SignedRequest | None:
        """The request in a message of the queue; None where it is to be dropped.

        OutsideFailed or TryLater where the signing secret cannot be read: then nobody can tell whose request it is.
        """
        envelope = _envelope(message)
        if envelope is None or not self._signed(envelope):
            return None
        try:
            asked = request.read(envelope.body.decode("utf-8"))
        except UnicodeDecodeError:
            return None
        except BadInput as error:
            failed(error)
            return None
        key = signature.key_of(envelope.stamp, envelope.body)
        return SignedRequest(asked, key, envelope.made, envelope.came, _tries(message) >= TRIES)

    def _signed(self, envelope: Envelope) -> bool:
        if self._fits(self.keys.get(), envelope):
            return True
        again = self.keys.renewed()
        return again is not None and self._fits(again, envelope)

    @staticmethod
    def _fits(secrets: Secrets, envelope: Envelope) -> bool:
        return signature.fits(secrets.signing_secret, envelope.stamp, envelope.body, envelope.given)


def _envelope(message: Mapping[str, object]) -> Envelope | None:
    """The request, if it may be Slack's. Its age is what it had when it came, however long it waited since."""
    body, came = message.get("body"), _came(message)
    stamp, given = _attribute(message, STAMP), _attribute(message, SIGNATURE)
    if not isinstance(body, str) or came is None or len(body) > LARGEST:
        return None
    raw = body.encode("utf-8", "surrogatepass")
    made = signature.fresh(stamp, came)
    if made is None or not signature.well_formed(given) or len(raw) > LARGEST:
        return None
    return Envelope(stamp, raw, given, made, came)


def _came(message: Mapping[str, object]) -> datetime | None:
    """When SQS took the message: milliseconds since 1970
    (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html)."""
    sent = _inner(message, "attributes").get("SentTimestamp")
    if not isinstance(sent, str) or not sent.isascii() or not sent.isdigit():
        return None
    try:
        return datetime.fromtimestamp(int(sent[:16]) / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _tries(message: Mapping[str, object]) -> int:
    """How often the message was handed out, as SQS counts."""
    try:
        return int(str(_inner(message, "attributes").get("ApproximateReceiveCount"))[:9])
    except ValueError:
        return 1


def _attribute(message: Mapping[str, object], name: str) -> str:
    value = _inner(_inner(message, "messageAttributes"), name).get("stringValue")
    return value if isinstance(value, str) else ""


def _inner(of: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = of.get(key)
    return value if isinstance(value, Mapping) else {}
