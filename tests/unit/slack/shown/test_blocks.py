"""Whatever anybody writes, a message is one that Slack takes: judged by Slack's own limits, not by ours."""

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
