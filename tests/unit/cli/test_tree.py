"""Every verb and group has help with examples that can be typed, and every verb has --json."""

import inspect
import shlex
from collections.abc import Iterator

import pytest
import typer
from typer.core import TyperCommand, TyperGroup

from cli import main
from cli.summaries import summary

#: Verbs whose output is a document or a program already.
NO_JSON = {
    "lamplighter completion": "prints a shell's program",
    "lamplighter events schema": "prints a JSON Schema",
    "lamplighter slack manifest": "prints what is pasted into Slack",
}


def walk(node: TyperGroup | TyperCommand, called: str) -> Iterator[tuple[str, TyperGroup | TyperCommand]]:
    yield called, node
    if isinstance(node, TyperGroup):
        for name, child in node.commands.items():
            assert isinstance(child, (TyperGroup, TyperCommand))
            yield from walk(child, f"{called} {name}")


ROOT = typer.main.get_command(main.whole())
assert isinstance(ROOT, TyperGroup)
NODES = dict(walk(ROOT, "lamplighter"))
VERBS = {called: node for called, node in NODES.items() if not isinstance(node, TyperGroup)}


def examples(node: TyperGroup | TyperCommand) -> list[str]:
    """The lines that help shows under Examples."""
    _, _, shown = inspect.cleandoc(node.help or "").partition("\nExamples:\n")
    return [line.strip() for line in shown.splitlines() if line.strip()]


@pytest.mark.parametrize("called", NODES)
def test_help_shows_examples(called: str) -> None:
    shown = examples(NODES[called])
    assert any(line.startswith(called) for line in shown), f"{called} --help shows no example"


@pytest.mark.parametrize("called", NODES)
def test_help_says_what_it_is_in_a_line(called: str) -> None:
    assert len((NODES[called].help or "").split("\n\n")[0]) > 20


@pytest.mark.parametrize("called", NODES)
def test_examples_can_be_typed(called: str) -> None:
    for line in examples(NODES[called]):
        if not line.startswith("lamplighter"):
            continue
        words = shlex.split(line, comments=True)
        ends = [at for at, word in enumerate(words) if word in {"|", ">", ">>", "<", "&&", ";"}]
        parsed(words[1 : min(ends, default=len(words))])


def parsed(words: list[str]) -> None:
    """Parse the words as the program does, with its usage errors."""
    called = "lamplighter"
    node = NODES[called]
    while isinstance(node, TyperGroup) and words and words[0] in node.commands:
        node, words = NODES[f"{called} {words[0]}"], words[1:]
        called = f"{called} {node.name}"
    assert words == ["--help"] or not isinstance(node, TyperGroup), f"no such verb: {words}"
    if words != ["--help"]:
        node.make_context("lamplighter", words)


@pytest.mark.parametrize("called", [called for called in VERBS if called not in NO_JSON])
def test_answers_can_be_had_as_json(called: str) -> None:
    options = [name for parameter in VERBS[called].params for name in parameter.opts]
    assert "--json" in options, f"{called} has no --json"


@pytest.mark.parametrize("name", [*main.MODULES])
def test_help_without_imports_says_the_same(name: str) -> None:
    module = main.MODULES[name]
    assert summary(module) == " ".join((NODES[f"lamplighter {name}"].help or "").split("\n\n")[0].split())
