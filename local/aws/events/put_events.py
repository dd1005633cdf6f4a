"""PutEvents: the checks of a request and of its entries, and the event of an entry.

AWS refuses a request with too many or too large entries as a whole. It refuses a bad entry alone: the answer is a
success that names this entry. Rules and targets belong to `events.py`, permissions to `local/aws/authorization`.

Sources: EventBridge API reference, PutEvents, PutEventsRequestEntry and PutEventsResultEntry; user guide, "Sending
events with PutEvents" and "Calculating PutEvents event entry size"; the sentences of the refusals as AWS gave them to
the tests of localstack (test_events.snapshot.json).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

from moto.events.exceptions import ValidationException
from moto.moto_api._internal import mock_random

from local.aws.api.own_services import Document

MOST_ENTRIES = 10
#: The entries of a request together have fewer bytes.
LIMIT_BYTES = 1024 * 1024
TIME_BYTES = 14
MOST_LEVELS = 1000
LONGEST_DETAIL_TYPE = 128
#: The sources of AWS's own services begin with it. AWS refuses it to every caller.
RESERVED = "aws."
_REQUIRED = ("Source", "DetailType", "Detail")


def check(entries: Sequence[Document]) -> None:
    """Raises ValidationException if AWS refuses the whole request."""
    if not 1 <= len(entries) <= MOST_ENTRIES:
        bound = "less than or equal to 10" if entries else "greater than or equal to 1"
        raise ValidationException(
            "1 validation error detected: Value '[PutEventsRequestEntry]' at 'entries' failed to satisfy constraint:"
            f" Member must have length {bound}"
        )
    if sum(map(size, entries)) >= LIMIT_BYTES:
        raise ValidationException("Total size of the entries in the request is over the limit.")


def size(entry: Document) -> int:
    """Bytes of an entry, as AWS counts them."""
    texts = [*(entry.get(name) or "" for name in _REQUIRED), *(entry.get("Resources") or [])]
    return (TIME_BYTES if entry.get("Time") else 0) + sum(len(text.encode()) for text in texts)


def refusal(entry: Document) -> Document | None:
    """The answer for an entry that AWS refuses, with its error code. None for an entry that AWS accepts."""
    for name in _REQUIRED:
        if not entry.get(name):
            return _bad(name, f"{name} is a required argument.")
    if entry["Source"].startswith(RESERVED):
        return {
            "ErrorCode": "NotAuthorizedForSourceException",
            "ErrorMessage": "Not authorized for the source.",
        }
    if len(entry["DetailType"]) > LONGEST_DETAIL_TYPE:
        return _bad("DetailType", f"DetailType has more than {LONGEST_DETAIL_TYPE} characters.")
    if not _is_object(entry["Detail"]):
        return {"ErrorCode": "MalformedDetail", "ErrorMessage": "Detail is malformed."}
    return None


def _bad(parameter: str, reason: str) -> Document:
    message = f"Parameter {parameter} is not valid. Reason: {reason}"
    return {"ErrorCode": "InvalidArgument", "ErrorMessage": message}


def _is_object(text: str) -> bool:
    try:
        detail = json.loads(text, parse_constant=_no_json)
    except (ValueError, RecursionError):
        return False
    return isinstance(detail, dict) and all(level <= MOST_LEVELS for level in _levels(detail))


def _no_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _levels(document: Any) -> Iterator[int]:
    """How deep each object and list of a document lies."""
    left = [(document, 1)]
    while left:
        value, level = left.pop()
        if isinstance(value, Mapping | list):
            yield level
            inner = value.values() if isinstance(value, Mapping) else value
            left += [(each, level + 1) for each in inner]


def event(entry: Document, account: str, region: str, now: float) -> Document:
    """The event of an entry, with its own id. The time is the caller's if the entry has one, to the second."""
    given = entry.get("Time")
    return {
        "version": "0",
        "id": str(mock_random.uuid4()),
        "detail-type": entry["DetailType"],
        "source": entry["Source"],
        "account": account,
        "time": instant(now) if given is None else given if isinstance(given, str) else instant(given),
        "region": region,
        "resources": list(entry.get("Resources") or []),
        "detail": json.loads(entry["Detail"]),
    }


def instant(epoch: float) -> str:
    """As EventBridge writes it."""
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
