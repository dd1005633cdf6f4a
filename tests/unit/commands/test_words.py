"""The words of `open`, read as a person means them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from lamplighter.domain.commands.words import (
    OpenWords,
    date_and_reason,
    duration,
    extend_words,
    is_duration,
    open_words,
    pause_words,
    reason_given,
)
from lamplighter.errors import BadInput

SEOUL = ZoneInfo("Asia/Seoul")
NOW = datetime(2026, 12, 1, 10, 0, tzinfo=UTC)  # a Tuesday, 19:00 in Seoul


def read(text: str, *, zone: ZoneInfo = SEOUL, now: datetime = NOW) -> OpenWords:
    return open_words(text.split(), ["gpu", "big"], now, zone)


def test_nothing_said_leaves_everything_open() -> None:
    assert read("") == OpenWords()


def test_a_full_sentence_is_understood() -> None:
    said = read("gpu 2 at fri 20:00 for 1h30m because the exam is on Friday")
    assert said == OpenWords(
        pool="gpu",
        nodes=2,
        opens=datetime(2026, 12, 4, 11, 0, tzinfo=UTC),
        duration=timedelta(minutes=90),
        because="the exam is on Friday",
    )


@pytest.mark.parametrize(
    ("text", "length"),
    [("3h", 180), ("90m", 90), ("1h30m", 90), ("1 h 30 min", 90), ("2 hours", 120), ("45 Minutes", 45)],
)
def test_durations_are_read_forgivingly(text: str, length: int) -> None:
    assert duration(text) == timedelta(minutes=length)


@pytest.mark.parametrize("text", ["", "0h", "3", "h", "-1h", "3d", "1.5h", "three hours"])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadInput, match="write"):
        duration(text)


@pytest.mark.parametrize(
    ("text", "day", "hour", "minute"),
    [
        ("until 22:30", 1, 13, 30),
        ("until 08:00", 1, 23, 0),
        ("until 24:00", 1, 15, 0),
        ("until 2026-12-01T22:30:00+09:00", 1, 13, 30),
        ("at fri 22:00 until 01:00", 4, 16, 0),
    ],
)
def test_until_is_the_next_such_time_after_the_opening(text: str, day: int, hour: int, minute: int) -> None:
    assert read(text).closes == datetime(2026, 12, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize("minute", ["00", "01", "10", "30", "50", "59"])
def test_every_time_in_a_spring_gap_moves_to_its_end(minute: str) -> None:
    evening_before = datetime(2026, 3, 8, 3, 0, tzinfo=UTC)
    said = read(f"until 02:{minute}", zone=ZoneInfo("America/New_York"), now=evening_before)
    assert said.closes == datetime(2026, 3, 8, 7, 0, tzinfo=UTC)


def test_a_spring_gap_of_a_zone_without_an_offset_in_winter_ends_as_well() -> None:
    evening_before = datetime(2026, 3, 28, 20, 0, tzinfo=UTC)
    said = read("until 01:20", zone=ZoneInfo("Europe/London"), now=evening_before)
    assert said.closes == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)


def test_an_ambiguous_time_is_the_first_of_the_two() -> None:
    evening_before = datetime(2026, 11, 1, 3, 0, tzinfo=UTC)
    said = read("until 01:30", zone=ZoneInfo("America/New_York"), now=evening_before)
    assert said.closes == datetime(2026, 11, 1, 5, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("gpx 2", "gpx"),
        ("2 3", "'3'"),
        pytest.param("9" * 5000, "nodes cannot be opened", id="more digits than a number may have"),
        ("for", "nothing follows 'for'"),
        ("for 1h for 2h", "said twice"),
        ("for 1h until 20:00", "keep one"),
        ("until 25:00", "25:00"),
        ("until today 18:00", "has passed"),
        ("at someday 20:00", "someday"),
        ("until 2026-12-01T22:30:00", "no time zone"),
        ("until 9999-12-31T23:59:59-01:00", "9999-12-31T23:59:59-01:00"),
        ("until 9999-12-31 24:00", "9999-12-31"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, named: str) -> None:
    with pytest.raises(BadInput, match=named):
        read(text)


@pytest.mark.parametrize("text", ["30x", "30x because slow", "1:30"])
def test_a_length_that_cannot_be_read_is_no_name(text: str) -> None:
    with pytest.raises(BadInput, match="is no duration"):
        extend_words(text.split(), NOW, SEOUL)


@pytest.mark.parametrize(("text", "nodes"), [("1", 1), ("2", 2), ("100", 100), ("000000001", 1)])
def test_so_many_nodes_may_be_asked_for(text: str, nodes: int) -> None:
    assert read(text) == OpenWords(nodes=nodes)


@pytest.mark.parametrize("text", ["0", "101", "0000000001"])
def test_so_many_nodes_may_not_be_asked_for(text: str) -> None:
    with pytest.raises(BadInput, match=rf"^'{text}' nodes cannot be opened; write a number from 1 to 100$"):
        read(text)


@pytest.mark.parametrize(
    ("text", "day", "hour"),
    [
        # It is 19:00 on a Tuesday in Seoul: a time is ahead only after that minute.
        ("19:00", 2, 19),
        ("19:01", 1, 19),
        ("today 24:00", 2, 0),
        ("tonight 23:00", 1, 23),
        ("tomorrow 09:00", 2, 9),
        ("mon 09:00", 7, 9),
        ("monday 09:00", 7, 9),
        ("tue 18:00", 8, 18),
        ("tue 19:00", 8, 19),
        ("tue 20:00", 1, 20),
        ("wed 19:00", 2, 19),
        ("sunday 9:00", 6, 9),
        ("2026-12-03 09:00", 3, 9),
    ],
)
def test_a_day_and_a_time_are_the_first_such_instant_ahead(text: str, day: int, hour: int) -> None:
    found = read(f"at {text}").opens
    assert found is not None
    assert (found.astimezone(SEOUL).day, found.astimezone(SEOUL).hour) == (day, hour)


@pytest.mark.parametrize("day", ["monx", "day", "ond"])
def test_a_word_that_only_resembles_a_day_is_none(day: str) -> None:
    with pytest.raises(BadInput, match=rf"^'{day}' is no day; write mon to sun, tomorrow or a date like"):
        read(f"at {day} 20:00")


def test_a_skip_names_a_date_and_a_reason_or_neither() -> None:
    assert date_and_reason([]) == (None, None)
    assert date_and_reason(["2026-12-01"]) == ("2026-12-01", None)
    assert date_and_reason(["BECAUSE", "it", "rains"]) == (None, "it rains")
    assert date_and_reason(["2026-12-01", "because", "it", "rains"]) == ("2026-12-01", "it rains")
    with pytest.raises(BadInput, match=r"^'someday' is no date; write it like 2026-12-01$"):
        date_and_reason(["someday", "because", "2026-12-01"])


def test_a_reason_follows_its_word() -> None:
    assert reason_given([]) is None
    assert reason_given(["because", "of", "the", "exams"]) == "of the exams"
    assert reason_given(["because", "exams"]) == "exams"
    with pytest.raises(BadInput, match=r"^'why' was not expected; write 'because' before a reason$"):
        reason_given(["why", "because"])
    with pytest.raises(BadInput, match=r"^nothing follows 'because'; write the reason after it$"):
        reason_given(["because"])


def test_a_pause_begins_now_and_says_how_long_and_why() -> None:
    def pause(text: str) -> OpenWords:
        return pause_words(text.split(), NOW, SEOUL)

    assert pause("") == OpenWords()
    assert pause("For 2h") == OpenWords(duration=timedelta(hours=2))
    assert pause("until 23:00 because exams") == OpenWords(
        closes=datetime(2026, 12, 1, 14, 0, tzinfo=UTC), because="exams"
    )
    with pytest.raises(
        BadInput, match=r"^'gpu' was not expected: a pause begins now and is for the whole lab, "
    ):
        pause("gpu for")
    with pytest.raises(BadInput, match=r"^'at' was not expected: a pause begins now$"):
        pause("for 2h at 20:00")


def test_a_reason_may_have_every_word_in_it() -> None:
    said = read("for 1h because it is for the exam at noon, not until then because of that")
    assert said == OpenWords(
        duration=timedelta(hours=1), because="it is for the exam at noon, not until then because of that"
    )


@pytest.mark.parametrize("text", ["gpu big", "2 gpu big"])
def test_a_second_pool_is_not_understood(text: str) -> None:
    with pytest.raises(
        BadInput, match=r"^'big' is neither a pool nor a number of nodes; the pools are gpu, big,"
    ):
        read(text)


@pytest.mark.parametrize(("text", "reads"), [("", False), ("1h", True), ("x", False)])
def test_some_text_reads_like_a_duration(text: str, *, reads: bool) -> None:
    assert is_duration(text) is reads


@pytest.mark.parametrize(
    ("text", "what", "said"),
    [
        ("1h 30m", None, OpenWords(duration=timedelta(minutes=90))),
        ("1 h", None, OpenWords(duration=timedelta(minutes=60))),
        ("gpu 1 h 30 min", "gpu", OpenWords(duration=timedelta(minutes=90))),
        ("4gpu 1h", "4gpu", OpenWords(duration=timedelta(minutes=60))),
        (
            "2026-physics-2026-12-01 for 30m",
            "2026-physics-2026-12-01",
            OpenWords(duration=timedelta(minutes=30)),
        ),
        ("For 30m", None, OpenWords(duration=timedelta(minutes=30))),
        ("Until 23:00", None, OpenWords(closes=datetime(2026, 12, 1, 14, 0, tzinfo=UTC))),
        ("gpu until 23:00", "gpu", OpenWords(closes=datetime(2026, 12, 1, 14, 0, tzinfo=UTC))),
        ("30m because exams", None, OpenWords(duration=timedelta(minutes=30), because="exams")),
    ],
)
def test_a_length_or_an_end_follows_what_is_extended(text: str, what: str | None, said: OpenWords) -> None:
    assert extend_words(text.split(), NOW, SEOUL) == (what, said)


@pytest.mark.parametrize("text", ["", "gpu", "evening-1"])
def test_extending_needs_a_length_or_an_end(text: str) -> None:
    with pytest.raises(
        BadInput, match=r"^say how much longer, or until when: extend 30m, or extend until 23:00$"
    ):
        extend_words(text.split(), NOW, SEOUL)
