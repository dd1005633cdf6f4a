"""Finds the known name that is nearest to a mistyped one."""

import difflib
from collections.abc import Iterable

SIMILAR = 0.6
"""How alike two names must be, from 0 to 1."""


def nearest(name: str, known: Iterable[str], similar: float = SIMILAR) -> str | None:
    """The known name that is most like it; None where none is like it."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=similar)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean gpu?`, the end of an error about the name; empty where no known name is like it."""
    found = nearest(name, known)
    return f"; did you mean {found}?" if found else ""
