"""The documents are true where a program can tell: generated pages, links, and every command that they show."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from cli import main
from docs.generate import ROOT, of_the_programs

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
GENERATED = of_the_programs()
COMMAND = re.compile(r"(?:^|[\s|(])(?:\.venv/bin/)?lamplighter (.+)")
TEST = re.compile(r"(tests/[a-z_/]+\.py)::(\w+)")
TARGETS = re.compile(r"^\.?([a-z-]+):", re.MULTILINE)


def prose(document: Path) -> str:
    """Without blocks of code, in which brackets mean something else."""
    return re.sub(r"```.*?```", "", document.read_text("utf-8"), flags=re.DOTALL)


def blocks(document: Path) -> list[str]:
    """The lines of its console blocks, comments away; what follows a pipe or goes into a file is not ours."""
    text = document.read_text("utf-8")
    lines = [
        line
        for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL)
        for line in block.replace("\\\n", " ").splitlines()
    ]
    return [re.split(r"\s[>|#]\s?", line)[0].strip() for line in lines]


def spans(document: Path) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`\n]+)`", prose(document))


def commands(document: Path) -> list[str]:
    """What it tells people to type after `lamplighter`, in blocks and in sentences."""
    shown = [found[1] for line in [*blocks(document), *spans(document)] if (found := COMMAND.search(line))]
    return [command.partition(')"')[0] for command in shown]  # as in eval "$(…)"


def anchors(document: Path) -> set[str]:
    """Its headings as GitHub links to them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.fixture(scope="module")
def program() -> TyperGroup:
    found = typer.main.get_command(main.whole())
    assert isinstance(found, TyperGroup)
    return found


@pytest.mark.parametrize("path", GENERATED, ids=str)
def test_a_generated_page_is_up_to_date(path: Path) -> None:
    assert (ROOT / path).read_text("utf-8") == GENERATED[path], "run make docs"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(document)):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target), f"{link}: {path} has no such heading"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_shown_is_one_that_the_program_takes(document: Path, program: TyperGroup) -> None:
    for command in commands(document):
        words = shlex.split(command)
        group: TyperGroup = program
        while words and isinstance(found := group.commands.get(words[0]), TyperGroup):
            group, words = found, words[1:]
        if not words or words[0] == "--version":
            continue
        verb = group.commands.get(words[0])
        assert verb is not None, f"lamplighter {command}: there is no such verb"
        known = {option for parameter in verb.params for option in parameter.opts} | {"--help"}
        given = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert given <= known, f"lamplighter {command}: {verb.name} has no {', '.join(given - known)}"


def test_every_make_target_shown_is_one() -> None:
    targets = set(TARGETS.findall((ROOT / "Makefile").read_text("utf-8")))
    for document in DOCUMENTS:
        shown = re.findall(r"\bmake ([a-z-]+)\b", " ".join([*blocks(document), *spans(document)]))
        assert set(shown) <= targets, f"{document.name}: make has no {set(shown) - targets}"


def test_every_test_named_is_one() -> None:
    named = {name for document in DOCUMENTS for span in spans(document) for name in TEST.findall(span)}
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text("utf-8"), f"{path} has no {test}"
    assert len(named) > 10


def test_the_readme_says_what_the_cost_page_says() -> None:
    page = (ROOT / "docs" / "reference" / "cost.md").read_text("utf-8")
    controller, cluster = re.findall(r"\*\*(\d+\.\d\d)\*\*", page)
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"| {controller}, computed from the templates |" in readme
    assert f"| {cluster.partition('.')[0]}, windows or not |" in readme


def test_the_readings_of_this_test_find_something(program: TyperGroup) -> None:
    """A pattern that finds nothing would make every test above pass."""
    assert len(commands(ROOT / "docs" / "reference" / "commands.md")) >= len(program.commands)
    assert "status" in commands(ROOT / "README.md")
