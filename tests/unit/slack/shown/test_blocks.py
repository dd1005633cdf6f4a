"""Blocks as Slack is given them, at both sides of each of its limits, whatever anybody writes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.slack import blocks
from lamplighter.domain.slack.blocks import Button, Confirm, Marked, plain
from lamplighter.domain.slack.message import Message
from lamplighter.lab.model import Lab
from lamplighter.labfile.file import parse
from tests.block_kit import faults
from tests.unit.slack.recording import evening, lab_in_slack

WRITTEN = st.text(st.sampled_from('a&<>`*_~|@!#😀\n \t"\\'), max_size=80)
LONG = st.builds(lambda text, times: text * times, WRITTEN, st.integers(0, 300))


@given(LONG, LONG, st.integers(0, 70))
def test_any_text_and_any_number_of_blocks_make_a_message(said: str, more: str, number: int) -> None:
    button = Button("why", said, "{}", confirm=Confirm(said, more, said, more))
    made = [
        blocks.header(said),
        blocks.section(blocks.joined([plain(said), blocks.code(more)])),
        blocks.context(*[plain(more)] * number),
        *blocks.actions(button),
        *[blocks.divider()] * number,
        blocks.section(blocks.link("https://example.com/" + "x" * number, more)),
    ]
    assert faults(Message(Marked(plain(said) or "x"), made).to_json()) == []


@given(
    st.lists(
        st.sampled_from(
            [plain("&&"), blocks.mention("U0A"), blocks.code("x"), blocks.link("https://e.com/a", "b")]
        )
    )
)
def test_what_is_cut_is_cut_between_marks(parts: list[Marked]) -> None:
    said = blocks.joined(parts * 40, " ")
    for long in (20, 50, 3000):
        short = blocks.cut(said, long)
        assert len(short) <= long
        assert faults({"text": short or "x"}) == []


def test_nobody_is_mentioned_by_what_somebody_wrote() -> None:
    assert plain("<!channel> & <@U0A>") == "&lt;!channel&gt; &amp; &lt;@U0A&gt;"
    assert blocks.mention("U0A> <!channel") == "U0A&gt; &lt;!channel"
    assert blocks.mention("S0GROUP") == "<!subteam^S0GROUP>"


@given(who=WRITTEN, because=LONG, reason=LONG)
def test_whatever_people_call_themselves_the_leases_message_can_be_sent(
    who: str, because: str, reason: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        lab = lab_in_slack(patch, tmp_path_factory.getbasetemp())
        owner = f"{who} (U0MINJI)"
        lab.put(evening(owner=owner, by=owner, because=because, window=None, missing=1))
        lab.note("announced", reason, 0, "evening-2026-11-20", notice="degraded")
        lab.note("warned", reason, 0, "evening-2026-11-20", notice="warned")
        lab.tell()
    assert lab.slack.in_channel
    assert len(lab.slack.pings) == 1


def test_a_pool_says_how_it_is_used_in_a_thousand_characters_at_most() -> None:
    def pool(text: str) -> object:
        return parse(f'name: x\npools: {{gpu: {{how_to_use: "{text}"}}}}', "f")

    found = pool("x" * 1000)
    assert isinstance(found, Lab)
    assert Lab.from_json(found.to_json()).pools["gpu"].how_to_use == "x" * 1000
    assert "write at most 1000 characters" in str(pool("x" * 1001))
    assert "is empty" in str(pool(""))


MARKED = Marked("x")


def words(text: str) -> dict[str, object]:
    return {"type": "plain_text", "text": text, "emoji": True}


def test_each_kind_of_block_is_this() -> None:
    assert blocks.header("A lease") == {"type": "header", "text": words("A lease")}
    # Slack makes no mention out of words by itself.
    small = {"type": "mrkdwn", "text": "x", "verbatim": True}
    assert blocks.section(MARKED) == {"type": "section", "text": small}
    assert blocks.context(MARKED, Marked(""), Marked("x")) == {"type": "context", "elements": [small, small]}
    assert blocks.context() == {"type": "context", "elements": [{**small, "text": "…"}]}
    assert blocks.section(Marked("")) == {"type": "section", "text": {**small, "text": "…"}}
    assert blocks.divider() == {"type": "divider"}
    assert blocks.header("  ") == {"type": "header", "text": words("…")}


@pytest.mark.parametrize(("long", "text"), [(150, "a" * 150), (151, "a" * 149 + "…")])
def test_words_are_cut_behind_the_last_that_fits(long: int, text: str) -> None:
    assert blocks.header("a" * long) == {"type": "header", "text": words(text)}


def test_a_question_and_a_button_have_limits_of_their_own() -> None:
    made: Any = Button(
        "why", "b" * 76, "{}", confirm=Confirm("t" * 101, "x" * 301, "y" * 31, "n" * 31)
    ).to_json()

    assert made == {
        "type": "button",
        "action_id": "why",
        "text": words("b" * 74 + "…"),
        "value": "{}",
        "confirm": {
            "title": words("t" * 99 + "…"),
            "text": words("x" * 299 + "…"),
            "confirm": words("y" * 29 + "…"),
            "deny": words("n" * 29 + "…"),
        },
    }
    whole = Confirm("t" * 100, "x" * 300, "y" * 30, "n" * 30).to_json()
    assert list(whole.values()) == [words("t" * 100), words("x" * 300), words("y" * 30), words("n" * 30)]


def test_a_value_or_a_name_that_is_too_long_is_a_fault_and_an_address_is_left_out() -> None:
    assert Button("a" * 255, "b", "x" * 2000).to_json()["value"] == "x" * 2000
    for fault in (Button("a", "b", "x" * 2001), Button("a" * 256, "b", "{}")):
        with pytest.raises(ValueError, match="Slack takes 2000"):
            fault.to_json()
    assert Button("a", "b", "{}", url="u" * 3000).to_json()["url"] == "u" * 3000
    assert "url" not in Button("a", "b", "{}", url="u" * 3001).to_json()


def test_of_more_than_ten_pieces_of_small_print_the_rest_is_in_the_tenth() -> None:
    def pieces(number: int) -> list[str]:
        made: Any = blocks.context(*(Marked(str(each)) for each in range(number)))
        return [element["text"] for element in made["elements"]]

    assert pieces(10) == [*"0123456789"]
    assert pieces(12) == [*"012345678", "9 · 10 · 11"]


@pytest.mark.parametrize(
    ("number", "rows"), [(0, []), (1, [1]), (25, [25]), (26, [25, 1]), (51, [25, 25, 1])]
)
def test_buttons_stand_in_rows_of_twenty_five(number: int, rows: list[int]) -> None:
    made: Any = blocks.actions(*[Button("why", "Why", "{}")] * number)
    assert [len(row["elements"]) for row in made] == rows
    assert all(row["type"] == "actions" for row in made)


def test_of_more_than_fifty_blocks_the_last_says_that_more_was_said() -> None:
    fifty = [blocks.section(Marked(str(number))) for number in range(50)]
    assert blocks.whole(fifty) == fifty
    assert blocks.whole([*fifty, blocks.divider()]) == [*fifty[:49], blocks.context(Marked("…"))]


@pytest.mark.parametrize(
    ("text", "long", "short"),
    [
        ("a" * 20, 20, "a" * 20),
        ("a" * 21, 20, "a" * 16 + "…"),
        ("a" * 12 + "&amp;" + "a" * 9, 20, "a" * 12 + "…"),
        ("a" * 11 + "&amp;" + "a" * 9, 20, "a" * 11 + "&amp;…"),
        ("a" * 9 + "<@U0A>" + "a" * 9, 20, "a" * 9 + "<@U0A>a…"),
        ("a" * 9 + "<@U0ABCDE>" + "a" * 9, 20, "a" * 9 + "…"),
        ("```" + "a" * 30, 20, "```" + "a" * 13 + "…```"),
        ("```a```" + "a" * 30, 20, "```a```" + "a" * 9 + "…"),
    ],
)
def test_a_marked_text_is_cut_before_what_it_would_halve(text: str, long: int, short: str) -> None:
    assert blocks.cut(Marked(text), long) == short


@pytest.mark.parametrize(
    ("member", "mention"),
    [
        ("U0A", "<@U0A>"),
        ("W0A", "<@W0A>"),
        ("S0A", "<!subteam^S0A>"),
        ("X0A", "X0A"),
        ("u0a", "u0a"),
        ("Ü0A", "Ü0A"),
        ("U 0", "U 0"),
    ],
)
def test_only_what_looks_like_an_id_is_a_mention(member: str, mention: str) -> None:
    assert blocks.mention(member) == mention


def test_fences_that_somebody_wrote_are_no_fences_and_the_owner_s_are_where_they_end() -> None:
    assert blocks.plain("a ```b``` & c") == "a '''b''' &amp; c"
    assert blocks.written("a ```b``` > c") == "a ```b``` &gt; c"
    assert blocks.written("a ```b") == "a '''b"
    assert (blocks.bold("a"), blocks.code("a```b")) == ("*a*", "```a'''b```")


def test_a_link_breaks_neither_out_of_its_address_nor_out_of_its_text() -> None:
    assert blocks.link("https://e.com/a|b>", "c|d<") == "<https://e.com/a%7Cb&gt;|c/d&lt;>"
    assert blocks.link("u" * 3000, "c") == f"<{'u' * 3000}|c>"
    assert blocks.link("u" * 3001, "c<") == "c&lt;"


def test_a_message_of_text_alone_has_no_blocks_and_its_text_has_a_limit() -> None:
    assert Message(MARKED).to_json() == {"text": "x"}
    assert Message(MARKED, [blocks.divider()]).to_json() == {"text": "x", "blocks": [{"type": "divider"}]}
    long: Any = Message(Marked("a" * 4001)).to_json()["text"]
    assert (len(long), len(blocks.fallback(Marked("a" * 4000)))) == (3997, 4000)
