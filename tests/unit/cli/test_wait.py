"""`--wait` has a value or stands alone, wherever it stands among the words."""

from typing import Any

import pytest
from typer.exceptions import TyperException
from typer.main import get_command

from cli import main
from cli.usage import message
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
        ("open --wait open-lab 1", Opening.OPEN, ["open-lab", "1"]),
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


@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        (
            "open gpu 1 --wait grantd",
            "--wait: 'grantd' is not one of granted, open; did you mean granted?",
        ),
        ("open --wait opne gpu 1", "--wait: 'opne' is not one of granted, open; did you mean open?"),
        ("close --wait=close gpu", "--wait: 'close' is not one of granted, closed; did you mean closed?"),
        (
            "events put extend --for 1h --wait grant",
            "--wait: 'grant' is not one of granted; did you mean granted?",
        ),
        (
            "events put open --wait grantd",
            "--wait: 'grantd' is not one of granted, open; did you mean granted?",
        ),
    ],
)
def test_a_mistyped_value_is_no_pool_and_is_answered_with_the_nearest(line: str, refusal: str) -> None:
    with pytest.raises(TyperException) as refused:
        _read(line)
    assert message(refused.value) == refusal
