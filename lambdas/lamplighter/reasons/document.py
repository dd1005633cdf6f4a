"""A reason as JSON and back, as the ledger, the workflows and the notifications keep it.

A reason is an object, words are a string. A string is never read as a reason: a person may have typed it. What older
releases kept is a sentence, so it is read as words and shown as it is.
"""

import json
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from lamplighter.data.texts import Texts
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import Clock, Reason, Said, Sentences, Value, draw
from lamplighter.values import instant
from lamplighter.values.json_value import JsonValue

UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, BadInput)


def document(said: Said) -> JsonValue:
    """A string as it is; a reason as `{"code": …, "values": {…}}`."""
    return _written(said)


def read(kept: object) -> Said:
    """Reads what `document` wrote: a string is words, None is empty.

    What this release cannot read, a newer one wrote: it is text, as it is.
    """
    if kept is None:
        return ""
    try:
        value = _read(kept)
    except UNREADABLE:
        return json.dumps(kept, ensure_ascii=False, default=str)
    return value if isinstance(value, Reason | Sentences | str) else str(value)


def one_line(said: Reason | Sentences) -> str:
    """A reason as text, where a workflow takes text only. `read_line` reads it."""
    return json.dumps(document(said), ensure_ascii=False, separators=(",", ":"))


def read_line(line: object) -> Said:
    """Reads what `one_line` wrote; any other text is words.

    Use it only for a text that no person can write, such as the failure of a step in a workflow.
    """
    try:
        kept = json.loads(str(line or ""))
        found = _read(kept) if isinstance(kept, dict) and _is_reason(kept) else None
    except (*UNREADABLE, RecursionError):
        return str(line or "")
    return found if isinstance(found, Reason | Sentences) else str(line or "")


def _is_reason(kept: Mapping[str, object]) -> bool:
    """By the keys that `document` writes: JSON of AWS or Kubernetes, such as a Status with a `code`, has others."""
    return set(kept) in ({"code", "values"}, {"sentences"}, {"sentences", "whole"})


def drawn(kept: object, texts: Texts, clock: Clock) -> Any:  # noqa: ANN401 -- as it came, with texts for reasons
    """A kept JSON document, such as a receipt, with every reason in it drawn."""
    if isinstance(kept, list | tuple):
        return [drawn(part, texts, clock) for part in kept]
    if not isinstance(kept, Mapping):
        return kept
    if _is_reason(kept):
        return draw(read(kept), texts, clock)
    return {name: drawn(part, texts, clock) for name, part in kept.items()}


def _written(value: Value) -> JsonValue:  # noqa: PLR0911 -- a line each kind
    match value:
        case Reason():
            return {
                "code": value.code,
                "values": {name: _written(part) for name, part in value.values.items()},
            }
        case Sentences():
            sentences: dict[str, JsonValue] = {"sentences": [_written(part) for part in value.sentences]}
            return sentences | {"whole": True} if value.whole else sentences
        case datetime():
            return {"at": instant.written(value)}
        case date():
            return {"date": value.isoformat()}
        case timedelta():
            return {"seconds": int(value.total_seconds())}
        case tuple():
            return [_written(part) for part in value]
        case _:
            return value


def _read(kept: object) -> Value:  # noqa: PLR0911 -- a line each kind
    if isinstance(kept, list | tuple):
        return tuple(_read(part) for part in kept)
    if isinstance(kept, Decimal):
        return int(kept)
    if not isinstance(kept, Mapping):
        return kept if isinstance(kept, int) else str(kept)
    if "code" in kept:
        values = kept.get("values") or {}
        return Reason(str(kept["code"]), {str(name): _read(part) for name, part in values.items()})
    if "sentences" in kept:
        sentences = tuple(_said(part) for part in kept["sentences"])
        return Sentences(sentences, whole=bool(kept.get("whole")))
    if "at" in kept:
        return instant.read(str(kept["at"]))
    if "date" in kept:
        return date.fromisoformat(str(kept["date"]))
    return timedelta(seconds=int(str(kept["seconds"])))


def _said(kept: object) -> Said:
    found = _read(kept)
    return found if isinstance(found, Reason | Sentences | str) else str(found)
