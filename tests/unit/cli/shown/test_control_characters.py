"""What other people wrote cannot write a terminal: control characters in it are shown, and it begins no line."""

import json
from pathlib import Path

import pytest

from cli import endings, printing
from lamplighter.errors import BadInput, Refused
from lamplighter.reasons.reason import reason
from tests import snapshots
from tests.programs import lamplighter

ERASES = "\x1b[2K\x1b[1A\x1b]52;c;cm0gLXJmIC8=\x07"
SHOWN = r"\x1b[2K\x1b[1A\x1b]52;c;cm0gLXJmIC8=\x07"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x00\x08\x1b[2K", r"\x00\x08\x1b[2K"),
        ("C1 \x9b2J, DEL \x7f", r"C1 \x9b2J, DEL \x7f"),
        ("bidi \u202etxt\u202c \u2066a\u2069 \u200f", r"bidi \u202etxt\u202c \u2066a\u2069 \u200f"),
        ("lines\u2028\u2029\x85\x0b\x0c\r", r"lines\u2028\u2029\x85\x0b\x0c\r"),
        ("two\nlines\r\n", r"two\nlines\r\n"),
        ("a\ttab, 야간반, é, 👩‍🔬 and \\x1b", "a\ttab, 야간반, é, 👩‍🔬 and \\x1b"),
    ],
)
def test_a_line_shows_every_character_that_moves_or_reorders(
    written: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    printing.say(written)
    printing.say_on_stderr(written)
    assert capsys.readouterr() == (f"{shown}\n", f"{shown}\n")


def test_a_document_keeps_its_own_lines(capsys: pytest.CaptureFixture[str]) -> None:
    printing.document(f"BEGIN:VCALENDAR\r\nSUMMARY:{ERASES}\ra\r\n\tb\n")
    assert capsys.readouterr().out == f"BEGIN:VCALENDAR\r\nSUMMARY:{SHOWN}\\ra\r\n\tb\n"


def test_json_shows_the_same_characters_and_keeps_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    moving = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F)))
    moving += "".join(map(chr, (*range(0x2028, 0x202F), *range(0x2066, 0x206A))))
    said = {f"key {ERASES}": moving, "reads": "야간반, é, 👩‍🔬 and \\x9b"}

    printing.as_json(said)

    printed = capsys.readouterr().out
    assert json.loads(printed) == said
    assert [mark for mark in moving if mark in printed] == ["\n"]
    assert "야간반, é, 👩‍🔬 and \\\\x9b" in printed
    assert r"\u009b" in printed


def test_a_table_in_a_pipe_has_a_line_for_each_row(capsys: pytest.CaptureFixture[str]) -> None:
    printing.table(("owner", "why"), [(f"a{ERASES}", "x\nforged  row")], "Leases")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[3] == rf"a{SHOWN}  x\nforged  row"


def test_a_table_on_a_terminal_keeps_its_own_style_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    printing.table(("owner",), [(f"a{ERASES}\nb",)])
    said = capsys.readouterr().out
    assert rf"a{SHOWN}\nb" in said
    assert ERASES not in said
    assert "\x1b[1m" in said, "the head is bold"


def test_a_diagnosis_shows_what_a_pod_and_an_event_say(tmp_path: Path) -> None:
    document = snapshots.healthy()
    pod = snapshots.pod("evil", "lab", 0, gpus=1, phase="Pending")
    message = f'Back-off pulling image "x"{ERASES}\nEverything that was expected is there and healthy.'
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": message}}
    pod["status"]["containerStatuses"] = [
        {"name": "c", "image": "x", "restartCount": 0, "ready": False, "state": waiting}
    ]
    document["kubernetes"]["pods"].append(pod)
    (tmp_path / "snapshot.json").write_text(json.dumps(document), "utf-8")

    said = lamplighter("diagnose", "--snapshot", "snapshot.json", cwd=tmp_path)

    assert said.returncode == 0
    assert SHOWN in said.stdout
    assert "\x1b" not in said.stdout
    assert not any(line.startswith("Everything") for line in said.stdout.splitlines())


def test_an_error_shows_them_too() -> None:
    said = lamplighter("diagnose", "--snapshot", f"x{ERASES}")
    assert said.returncode == 2
    assert SHOWN in said.stderr
    assert "\x1b" not in said.stderr


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Refused("leaked: x\nforged"), r"leaked: x\nforged"),
        (BadInput(reason("lease.closed-by", by="x\nforged")), r"x\nforged closed it"),
        (OSError("x\nforged"), r"the operating system refused: x\nforged"),
        (BadInput("lab.yaml:1: a\nlab.yaml:2: b"), "lab.yaml:1: a\nlab.yaml:2: b"),
    ],
)
def test_only_the_problems_of_a_lab_file_are_several_lines(error: Exception, message: str) -> None:
    assert endings.ending(error)[0] == message
