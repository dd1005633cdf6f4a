"""Words typed in Slack are read as people mean them; an unclear command is answered with a question, never guessed."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from lamplighter.domain.commands.words import OpenWords
from lamplighter.domain.slack.asked import buttons, understand
from lamplighter.domain.slack.asked.buttons import Carried
from lamplighter.domain.slack.asked.understand import NotUnderstood, Understood, Word, WordContext
from lamplighter.errors import BadInput

NOW = datetime(2026, 12, 1, 10, 0, tzinfo=UTC)  # a Tuesday, 19:00 in Seoul
MINUTE = timedelta(minutes=1)
TWO = WordContext(["gpu", "Big"], ["evening", "night"], NOW, ZoneInfo("Asia/Seoul"))


def seoul(hour: int, minute: int = 0, day: int = 1) -> datetime:
    return datetime(2026, 12, day, hour, minute, tzinfo=ZoneInfo("Asia/Seoul")).astimezone(UTC)


def read(text: str, place: WordContext = TWO) -> Understood:
    return understand.typed(text, place)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("open", OpenWords()),
        ("open 2 for 90m", OpenWords(nodes=2, duration=90 * MINUTE)),
        ("OPEN   2  For 90 Min.", OpenWords(nodes=2, duration=90 * MINUTE)),
        ("open GPU 1 until 22.30!", OpenWords(pool="gpu", nodes=1, closes=seoul(22, 30))),
        ("open big until 10:30 pm", OpenWords(pool="Big", closes=seoul(22, 30))),
        ("open until 22", OpenWords(closes=seoul(22))),
        ("open till 22:30", OpenWords(closes=seoul(22, 30))),
        ("open for an hour", OpenWords(duration=60 * MINUTE)),
        ("open for half an hour", OpenWords(duration=30 * MINUTE)),
        ("start \u201cgpu\u201d 1", OpenWords(pool="gpu", nodes=1)),
        ("open at fri 8pm until 11pm", OpenWords(opens=seoul(20, day=4), closes=seoul(23, day=4))),
        ("open\u00a0gpu\u20031", OpenWords(pool="gpu", nodes=1)),
        (
            "open because it\u2019s \u201clate\u201d, for real",
            OpenWords(because="it\u2019s \u201clate\u201d, for real"),
        ),
        ("open 1 because a &lt; b &amp; c", OpenWords(nodes=1, because="a < b & c")),
        ("open 90m", OpenWords(duration=90 * MINUTE)),
        ("open 2 90 m", OpenWords(nodes=2, duration=90 * MINUTE)),
        ("open 90m gpu 2 because of it", OpenWords("gpu", 2, duration=90 * MINUTE, because="of it")),
        ("open two nodes for 1h30", OpenWords(nodes=2, duration=90 * MINUTE)),
        ("open a node for 1 hour and 30 minutes", OpenWords(nodes=1, duration=90 * MINUTE)),
        ("open until 22:30 tomorrow", OpenWords(closes=seoul(22, 30, day=2))),
        ("open until midnight", OpenWords(closes=seoul(0, day=2))),
        ("open at 20:00 on Friday for 3h", OpenWords(opens=seoul(20, day=4), duration=180 * MINUTE)),
        ("open on friday at 8pm for 3h", OpenWords(opens=seoul(20, day=4), duration=180 * MINUTE)),
        ("open fri 20:00 for 3h", OpenWords(opens=seoul(20, day=4), duration=180 * MINUTE)),
        ("open at 20:00 until on friday 22:30", OpenWords(opens=seoul(20), closes=seoul(22, 30, day=4))),
        ("open until friday at 22:30", OpenWords(closes=seoul(22, 30, day=4))),
        ("open from 20:00 to 22:30", OpenWords(opens=seoul(20), closes=seoul(22, 30))),
    ],
)
def test_open_is_read_forgivingly(text: str, said: OpenWords) -> None:
    assert read(text) == Understood(Word.OPEN, said)


@pytest.mark.parametrize(
    ("text", "what", "said"),
    [
        ("extend 1 h", None, OpenWords(duration=60 * MINUTE)),
        ("extend by 1h", None, OpenWords(duration=60 * MINUTE)),
        ("extend gpu 1h", "gpu", OpenWords(duration=60 * MINUTE)),
        ("extend for 30m because slow", None, OpenWords(duration=30 * MINUTE, because="slow")),
        ("extend slack-1a2b until 23:00", "slack-1a2b", OpenWords(closes=seoul(23))),
        ("extend", None, OpenWords()),
        ("extend gpu", "gpu", OpenWords()),
        ("extend because slow", None, OpenWords(because="slow")),
        ("extend to 23:00", None, OpenWords(closes=seoul(23))),
        ("extend until 11 pm today", None, OpenWords(closes=seoul(23))),
    ],
)
def test_extend_names_a_pool_a_lease_or_nothing(text: str, what: str | None, said: OpenWords) -> None:
    assert read(text) == Understood(Word.EXTEND, said, what)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("close", Understood(Word.CLOSE)),
        ("stop now.", Understood(Word.CLOSE)),
        ("close slack-1a2b", Understood(Word.CLOSE, what="slack-1a2b")),
        ("close slack-1a2b YES", Understood(Word.CLOSE, what="slack-1a2b", confirmed=True)),
        ("close because done", Understood(Word.CLOSE, OpenWords(because="done"))),
        ("keep", Understood(Word.KEEP)),
        ("skip evening 2026-12-01", Understood(Word.SKIP, window="evening", date="2026-12-01")),
        ("skip Evening because exam", Understood(Word.SKIP, OpenWords(because="exam"), window="evening")),
        ("unskip evening", Understood(Word.UNSKIP, window="evening")),
        ("pause", Understood(Word.PAUSE)),
        ("pause for 2h because x", Understood(Word.PAUSE, OpenWords(duration=120 * MINUTE, because="x"))),
        ("resume", Understood(Word.RESUME)),
        ("", Understood(Word.STATUS)),
        ("  Status ", Understood(Word.STATUS)),
        ("windows", Understood(Word.WINDOWS)),
        ("window", Understood(Word.WINDOWS)),
        ("Window?", Understood(Word.WINDOWS)),
        ("free", Understood(Word.FREE)),
        ("free 2h", Understood(Word.FREE, OpenWords(duration=120 * MINUTE))),
        ("free gpu 2 for 3h", Understood(Word.FREE, OpenWords("gpu", 2, duration=180 * MINUTE))),
        ("skip window evening", Understood(Word.SKIP, window="evening")),
        ("leases", Understood(Word.LEASES)),
        ("cost?", Understood(Word.COST)),
        ("help", Understood(Word.HELP)),
        ("?", Understood(Word.HELP)),
    ],
)
def test_the_other_words(text: str, meant: Understood) -> None:
    assert read(text) == meant


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("opne 2", Word.OPEN),
        ("stauts", Word.STATUS),
        ("extned 1h", Word.EXTEND),
        ("dance", None),
        ("\U0001f600", None),
    ],
)
def test_an_unknown_word_is_answered_with_the_nearest(text: str, nearest: Word | None) -> None:
    with pytest.raises(NotUnderstood) as refused:
        read(text)
    assert refused.value.nearest is nearest


@pytest.mark.parametrize("text", ["approve", "tell-me", "decline x"])
def test_what_only_buttons_do_cannot_be_typed(text: str) -> None:
    with pytest.raises(NotUnderstood):
        read(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("open 0", "cannot be opened"),
        ("open lots", "neither a pool nor a number"),
        ("open for ever", "is no duration"),
        ("open at teatime", "is no time"),
        ("extend 1d", "is no duration"),
        ("skip", "names no window"),
        ("skip evening tomorrow", "is no date"),
        ("pause 2h", "was not expected"),
        ("experiment run driver", "only on the command line"),
    ],
)
def test_what_cannot_be_meant_says_what_would_be_right(text: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        read(text)


def test_a_name_in_the_lab_is_no_other_word_for_a_number_or_a_time() -> None:
    odd = WordContext(["two", "noon", "90m"], ["midnight", "monday"], NOW, ZoneInfo("Asia/Seoul"))
    assert read("open two 3", odd).said == OpenWords(pool="two", nodes=3)
    assert read("open 90m 2h", odd).said == OpenWords(pool="90m", duration=120 * MINUTE)
    assert read("open noon", odd).said == OpenWords(pool="noon")
    assert read("skip midnight", odd).window == "midnight"
    assert read("skip monday 2026-12-07", odd).window == "monday"


def test_until_is_by_the_askers_own_clock() -> None:
    berlin = WordContext(["gpu"], [], NOW, ZoneInfo("Europe/Berlin"))
    assert read("open until 22:30", berlin).said.closes == datetime(2026, 12, 1, 21, 30, tzinfo=UTC)


@pytest.mark.parametrize("value", ["", "{}", '{"p":1,"n":"2","s":-5,"u":true,"o":1e99}'])
def test_a_value_that_says_nothing_useful_carries_nothing(value: str) -> None:
    assert buttons.read(value) == Carried()


@pytest.mark.parametrize("value", ["x", "[]", "1", "null"])
def test_a_value_that_is_none_of_ours_is_said(value: str) -> None:
    with pytest.raises(BadInput, match="cannot read this button"):
        buttons.read(value)
