"""A reason is a value: it is drawn in every language, and kept as JSON without loss."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.adapters.aws.ledger import items
from lamplighter.data.texts import Texts, catalogue
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.errors import Refused
from lamplighter.reasons.document import document, drawn, one_line, read, read_line
from lamplighter.reasons.reason import (
    Reason,
    Said,
    Sentences,
    Value,
    draw,
    first_of,
    in_english,
    paragraph,
    reason,
)
from lamplighter.reasons.shortened import shortened
from lamplighter.values.json_value import JsonValue

AT = datetime(2026, 11, 20, 11, tzinfo=UTC)
ASKED = Command("1", Verb.OPEN, "gpu", "alice", "alice", "cli", AT, AT + timedelta(minutes=15))
SEOUL = ZoneInfo("Asia/Seoul")


def seoul(at: datetime) -> str:
    return f"{at.astimezone(SEOUL):%H:%M}"


def test_a_reason_is_drawn_in_the_readers_language_and_time_zone() -> None:
    moved = reason("words.clock", time="20:00", zone=reason("lease.of-window", window="evening"))
    assert draw(moved, Texts("en"), seoul) == "20:00 (the evening lease)"
    assert draw(moved, Texts("ko"), seoul) == "20:00 (evening 일정의 대여)"


def test_values_are_written_by_their_kind() -> None:
    def written(value: Value) -> str:
        return draw(reason("words.reason", reason=value), Texts("en"), seoul)

    assert written(AT) == "20:00"
    assert written(date(2026, 11, 20)) == "2026-11-20"
    assert written(timedelta(minutes=90)) == "1h30m"
    assert written(3) == "3"
    assert written(("a", "b", "c")) == "a, b and c"
    assert written(tuple("abcdefg")) == "a, b, c, d, e and 2 more"
    assert written(Sentences(("it is full", "nobody waits"))) == "it is full; nobody waits"
    assert written(Sentences(tuple("abcdefg"))) == "a; b; c; d; e; and 2 more like these"


def test_a_paragraph_is_made_of_whole_sentences() -> None:
    said = paragraph(reason("lease.of-owner", owner="민지"), "", None, "it is full", "Is it?")
    assert draw(said, Texts("en"), seoul) == "민지's lease. It is full. Is it?"
    assert draw(said, Texts("ko"), seoul) == "민지 님의 대여. it is full. Is it?"


def test_words_of_a_person_stay_as_they_are() -> None:
    assert draw("needed for {class}", Texts("ko"), seoul) == "needed for {class}"
    assert draw(None, Texts("ko"), seoul) == ""


def test_an_error_carries_its_reason_and_says_it_in_english() -> None:
    error = Refused(reason("lease.of-owner", owner="alice"))
    assert str(error) == "alice's lease"
    assert error.said == reason("lease.of-owner", owner="alice")


plain = st.text(max_size=20) | st.sampled_from(
    ['{"code":"lease.lab-destroyed"}', '{"sentences":["a"]}', '{"code": half', '"quoted"', "[]", "null"]
)
values: st.SearchStrategy[Value] = st.recursive(
    plain
    | st.integers(-(10**12), 10**12)
    | st.dates()
    | st.integers(0, 2**31).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
    | st.integers(0, 10**6).map(lambda seconds: timedelta(seconds=seconds)),
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(lambda named: Reason("x.y", named))
    ),
    max_leaves=6,
)
said: st.SearchStrategy[Said] = (
    plain
    | st.dictionaries(st.sampled_from("abc"), values, max_size=3).map(lambda named: Reason("x.y", named))
    | st.tuples(st.lists(plain, max_size=3).map(tuple), st.booleans()).map(lambda made: Sentences(*made))
)


@given(said)
def test_what_is_kept_is_read_again(kept: Said) -> None:
    assert read(document(kept)) == kept


@given(said)
def test_a_reason_on_one_line_is_read_again(kept: Said) -> None:
    if not isinstance(kept, str):
        assert read_line(one_line(kept)) == kept


@given(plain | said.map(lambda kept: kept if isinstance(kept, str) else one_line(kept)))
def test_a_persons_words_are_never_read_as_a_reason(words: str) -> None:
    command = replace(ASKED, because=words)
    item = items.audit_item(Entry(AT, "gpu", "refused", "alice", words, words))
    assert read(document(words)) == words
    assert Command.from_json(json.loads(json.dumps(command.to_json()))).because == (words or None)
    assert read(items.audit_entry("gpu", item).why) == words


def test_the_reasons_in_a_document_are_drawn() -> None:
    kept: dict[str, JsonValue] = {
        "at": "2026",
        "rows": [{"why": document(reason("words.reason", reason=AT))}, 7],
    }
    assert drawn(kept, Texts("en"), seoul) == {"at": "2026", "rows": [{"why": "20:00"}, 7]}
    assert drawn({"why": document(paragraph("it is full"))}, Texts("en"), seoul) == {"why": "It is full."}


def test_what_an_older_release_kept_is_read_as_the_sentence_that_it_is() -> None:
    assert read("the evening lease ended at 14:00 UTC on 2026-11-20") == (
        "the evening lease ended at 14:00 UTC on 2026-11-20"
    )
    assert read_line('{"code": half') == '{"code": half'
    assert read_line("the GPUs failed") == "the GPUs failed"
    assert read_line(None) == ""
    assert read(None) == ""


def test_an_older_sentence_is_shown_with_its_instants_in_the_readers_zone() -> None:
    assert draw("it ended at 14:00 UTC on 2026-11-20", Texts("en"), seoul) == "it ended at 23:00"


@pytest.mark.parametrize(
    "words",
    [
        '{"kind":"Status","status":"Failure","message":"forbidden","code":403}',
        '{"at":"soon"}',
        '{"code":"lease.of-owner","values":["alice"]}',
        '{"sentences":[{"at":"soon"}]}',
        "[1]",
        "403",
    ],
)
def test_json_of_aws_or_kubernetes_stays_as_it_is(words: str) -> None:
    """A close after a failure reads its cause: it must neither fail on it nor lose its message."""
    assert read_line(words) == words


def test_names_that_were_counted_before_are_drawn_like_all_names() -> None:
    assert first_of("abcde") == tuple("abcde")
    for names in ("abcdef", "abcdefg"):
        kept = read(document(reason("words.reason", reason=first_of(names))))
        assert in_english(kept) == in_english(reason("words.reason", reason=tuple(names)))


def test_english_needs_no_more_than_the_reason() -> None:
    assert in_english(reason("words.reason", reason=AT)) == "11:00 UTC on 2026-11-20"
    assert "words.reason" in catalogue("en")


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


@pytest.mark.parametrize(
    "kept",
    [
        {"currency": "USD", "amount": "1.50"},
        {"code": "lease.over", "values": ["lease"]},
        {"at": "2026-13-01T00:00:00Z"},
        {"seconds": "9" * 5000},
        {"sentences": None},
    ],
)
def test_what_a_newer_release_kept_is_shown_as_it_is(kept: object) -> None:
    assert read(kept) == json.dumps(kept)
