"""Tables in a file or a pipe: nothing is cut, and people's words are printed as they are."""

import pytest

from cli import printing


def test_a_table_in_a_pipe_is_as_wide_as_it_must_be(capsys: pytest.CaptureFixture[str]) -> None:
    printing.table(("owner", "why"), [("[bold]alice[/]", "x" * 300), ("야간반", "")], "Leases")
    assert capsys.readouterr().out.splitlines() == [
        "Leases",
        "owner           why",
        "──────────────  " + "─" * 300,
        "[bold]alice[/]  " + "x" * 300,
        "야간반",
        "",
    ]


def test_what_people_wrote_is_no_markup_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    printing.table(("owner",), [("[bold]alice[/]",), ("[/unopened]",)])
    said = capsys.readouterr().out
    assert "[bold]alice[/]" in said
    assert "[/unopened]" in said
