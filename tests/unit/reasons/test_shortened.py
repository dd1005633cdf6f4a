"""A reason is kept short, and a kept document is written in English, without a text of the catalogue being cut."""

from datetime import UTC, datetime

import pytest

from lamplighter.reasons.document import document, one_line
from lamplighter.reasons.plain_document import in_english
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
    ],
)
def test_only_the_words_of_others_are_cut(said: Said, short: Said) -> None:
    assert shortened(said, 5) == short


def test_a_kept_document_is_written_with_its_reasons_as_english_text() -> None:
    said = reason("lease.of-owner", owner="alice")

    assert in_english(
        {
            "reason": document(said),
            "line": one_line(said),
            "both": document(Sentences((said, "why"))),
            "rows": [{"why": document(said), "count": 2, "ok": True, "none": None}],
            "code": "words",
        }
    ) == {
        "reason": "alice's lease",
        "line": "alice's lease",
        "both": "alice's lease; why",
        "rows": [{"why": "alice's lease", "count": 2, "ok": True, "none": None}],
        "code": "words",
    }
