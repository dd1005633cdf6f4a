"""A reason is kept short by cutting names and foreign words, never a text of the catalogue."""

from datetime import UTC, datetime

import pytest

from lamplighter.reasons.reason import Said, Sentences, reason
from lamplighter.reasons.shortened import shortened

AT = datetime(2026, 11, 20, 11, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "short"),
    [
        (" a\n  b ", "a b"),
        ("abcdef", "abcd…"),
        ("abcde", "abcde"),
        ("", ""),
        (
            reason("x.y", words="abcdef", count=1234567, at=AT, names=("abcdef", "b")),
            reason("x.y", words="abcd…", count=1234567, at=AT, names=("abcd…", "b")),
        ),
        (reason("x.y", why=reason("x.z", words="abcdef")), reason("x.y", why=reason("x.z", words="abcd…"))),
        (Sentences(("abcdef", reason("x.y"))), Sentences(("abcd…", reason("x.y")))),
        (Sentences(("abcdef",), whole=True), Sentences(("abcd…",), whole=True)),
    ],
)
def test_only_the_words_of_others_are_cut(said: Said, short: Said) -> None:
    assert shortened(said, 5) == short
