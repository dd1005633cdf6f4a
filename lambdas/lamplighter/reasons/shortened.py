"""Keeps a reason short: its names and foreign words on one line each, and cut at a length.

Only words that somebody else wrote are cut. A text of the catalogue is never cut.
"""

from dataclasses import replace

from lamplighter.reasons.reason import Reason, Said, Sentences, Value


def shortened(said: Said, longest: int) -> Said:
    """The same reason, in which no string is longer than `longest` characters or has a line break."""
    if isinstance(said, str):
        return _one_line(said, longest)
    if isinstance(said, Sentences):
        return replace(said, sentences=tuple(shortened(sentence, longest) for sentence in said.sentences))
    return Reason(said.code, {name: _value(value, longest) for name, value in said.values.items()})


def _value(value: Value, longest: int) -> Value:
    if isinstance(value, str | Reason | Sentences):
        return shortened(value, longest)
    if isinstance(value, tuple):
        return tuple(_value(part, longest) for part in value)
    return value


def _one_line(words: str, longest: int) -> str:
    line = " ".join(words.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
