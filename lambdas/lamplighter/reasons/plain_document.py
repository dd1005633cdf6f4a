"""A kept document with its reasons as text, for JSON that people and other programs read."""

from collections.abc import Mapping

from lamplighter.reasons.document import read
from lamplighter.reasons.reason import Reason, Sentences
from lamplighter.values.json_value import JsonValue


def in_english(kept: object) -> JsonValue:
    """The same document. Wherever `document` or `one_line` kept a reason, it has the reason's English text."""
    if isinstance(kept, str):
        return str(read(kept))
    if isinstance(kept, Mapping):
        if kept.keys() in ({"code", "values"}, {"sentences"}) and isinstance(
            reason := read(kept), Reason | Sentences
        ):
            return str(reason)
        return {str(key): in_english(value) for key, value in kept.items()}
    if isinstance(kept, list | tuple):
        return [in_english(value) for value in kept]
    if kept is None or isinstance(kept, bool | int | float):
        return kept
    return str(kept)
