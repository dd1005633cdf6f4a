"""Tables in a file or a pipe: nothing is cut, and people's words are printed as they are. Reasons become English."""

import json
from collections.abc import Iterator
from zoneinfo import ZoneInfo

import pytest

from cli import endings, printing
from lamplighter.errors import Refused
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import reason
from tests.builders.leases import EIGHT


def test_a_table_in_a_pipe_is_as_wide_as_it_must_be(capsys: pytest.CaptureFixture[str]) -> None:
    printing.table(("owner", "why"), [("[bold]alice[/]", "x" * 300), ("야간반", "")], "Leases")
    assert capsys.readouterr().out.splitlines() == [
        "Leases", "owner           why", "──────────────  " + "─" * 300, "[bold]alice[/]  " + "x" * 300,
        "야간반", "",
    ]  # fmt: skip


def test_what_people_wrote_is_no_markup_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    printing.table(("owner",), [("[bold]alice[/]",), ("[/unopened]",)])
    said = capsys.readouterr().out
    assert "[bold]alice[/]" in said
    assert "[/unopened]" in said


@pytest.fixture
def in_seoul() -> Iterator[ZoneInfo]:
    """The reader's lab is in Seoul."""
    seoul = ZoneInfo("Asia/Seoul")
    printing.show_instants_in(seoul)
    yield seoul
    printing.show_instants_in(ZoneInfo("UTC"))


ENDS = reason("lease.justifies", lease=reason("lease.of-window", window="evening"), nodes=2, until=EIGHT)


@pytest.mark.usefixtures("in_seoul")
@pytest.mark.parametrize("kept", [ENDS, document(ENDS)], ids=["a reason", "as the ledger keeps it"])
def test_a_reason_in_a_document_is_english_by_the_labs_clock(
    kept: object, capsys: pytest.CaptureFixture[str]
) -> None:
    printing.as_json([{"reason": kept, "nodes": 2}])
    [row] = json.loads(capsys.readouterr().out)
    assert row == {"reason": printing.drawn(ENDS, ZoneInfo("Asia/Seoul")), "nodes": 2}
    assert "05:00 on 2026-11-21 (Asia/Seoul)" in row["reason"]


def test_an_error_names_instants_by_the_labs_clock(in_seoul: ZoneInfo) -> None:
    assert endings.ending(Refused(ENDS)) == (printing.drawn(ENDS, in_seoul), 1)
