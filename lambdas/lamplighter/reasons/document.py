"""A reason as JSON and back, as the ledger, the workflows and the notifications keep it.

What was kept before reasons had codes is a sentence: it is read as such, and shown as it is.
"""

import json
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal

from lamplighter.reasons.reason import Reason, Said, Sentences, Value
from lamplighter.values import instant
from lamplighter.values.json_value import JsonValue

_BEGINS = '{"code":'


def document(said: Said) -> JsonValue:
    """A string as it is; a reason as `{"code": …, "values": {…}}`."""
    return _written(said)


def one_line(said: Said) -> str:
    """For places that hold a string only; `read` takes it back."""
    return (
        said
        if isinstance(said, str)
        else json.dumps(document(said), ensure_ascii=False, separators=(",", ":"))
    )


def read(kept: object) -> Said:
    """What `document` or `one_line` wrote; a text is read as it is, nothing as an empty one."""
    if kept is None:
        return ""
    if isinstance(kept, str):
        return _of_line(kept)
    found = _read(kept)
    return found if isinstance(found, Reason | Sentences | str) else str(found)


def in_words(kept: object, drawn: Callable[[Said], str] = str) -> object:
    """A kept document, such as a receipt, with a text in place of each reason, in English by default."""
    if isinstance(kept, Mapping):
        if set(kept) in ({"code", "values"}, {"sentences"}):
            return drawn(read(kept))
        return {name: in_words(value, drawn) for name, value in kept.items()}
    if isinstance(kept, list | tuple):
        return [in_words(value, drawn) for value in kept]
    return kept


def _of_line(line: str) -> Said:
    if not line.startswith((_BEGINS, '{"sentences":')):
        return line
    try:
        found = _read(json.loads(line))
    except (ValueError, TypeError, KeyError):
        return line
    return found if isinstance(found, Reason | Sentences) else line


def _written(value: Value) -> JsonValue:  # noqa: PLR0911 -- a line each kind
    match value:
        case Reason():
            return {
                "code": value.code,
                "values": {name: _written(part) for name, part in value.values.items()},
            }
        case Sentences():
            return {"sentences": [_written(part) for part in value.sentences]}
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
        return Sentences(tuple(_said(part) for part in kept["sentences"]))
    if "at" in kept:
        return instant.read(str(kept["at"]))
    if "date" in kept:
        return date.fromisoformat(str(kept["date"]))
    return timedelta(seconds=int(str(kept["seconds"])))


def _said(kept: object) -> Said:
    found = _read(kept)
    return found if isinstance(found, Reason | Sentences | str) else str(found)
