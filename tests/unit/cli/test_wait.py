"""`--wait` has a value or stands alone, wherever it stands among the words."""

from typing import Any

import pytest
from typer.main import get_command

from cli import main
from cli.use.wait import Closing, Extending, Opening

ROOT = get_command(main.whole())


def _read(line: str) -> dict[str, Any]:
    """The parsed words, by name."""
    node: Any = ROOT
    words = line.split()
    while hasattr(node, "commands"):
        node = node.commands[words.pop(0)]
    read: dict[str, Any] = node.make_context(node.name, words).params
    return read


@pytest.mark.parametrize(
    ("line", "wait", "words"),
    [
        ("open gpu 1", None, ["gpu", "1"]),
        ("open gpu 1 for 1h --wait", Opening.OPEN, ["gpu", "1", "for", "1h"]),
        ("open --wait gpu 1", Opening.OPEN, ["gpu", "1"]),
        ("open --wait open gpu 1", Opening.OPEN, ["gpu", "1"]),
        ("open gpu --wait granted 1", Opening.GRANTED, ["gpu", "1"]),
        ("open gpu --wait=granted --add", Opening.GRANTED, ["gpu"]),
        ("close --wait gpu", Closing.CLOSED, "gpu"),
        ("close gpu --wait granted", Closing.GRANTED, "gpu"),
    ],
)
def test_the_words_keep_their_place(line: str, wait: object, words: object) -> None:
    read = _read(line)
    assert read["wait"] == wait
    assert (read.get("words") or read.get("what")) == words


@pytest.mark.parametrize(
    ("line", "wait"),
    [
        ("events put open --wait --for 1h", Opening.OPEN),
        ("events put open --wait granted", Opening.GRANTED),
        ("events put extend --for 1h --wait", Extending.GRANTED),
        ("events put close --yes --wait", Closing.CLOSED),
    ],
)
def test_requests_on_the_bus_have_the_same(line: str, wait: object) -> None:
    assert _read(line)["wait"] == wait
