"""The command line prints in one place, which shows the control characters of other people's words."""

import ast
from collections.abc import Iterator

from tests.checkout import ROOT

PRINTS = "cli/printing.py"
HARMLESS = {"flush", "isatty", "fileno"}
"""What a module may ask of stdout and stderr."""
BESIDE = {"print", "echo", "secho", "echo_via_pager", "Console", "get_console"}
"""Other ways to print, of Python, typer and rich. A question of typer's must be one of our own texts."""


def streams(tree: ast.AST) -> Iterator[ast.AST]:
    """The places that may write to stdout or stderr."""
    asked = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in HARMLESS
    }
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="sys"), attr=name) if "std" in name and "in" not in name:
                if id(node) not in asked:
                    yield node
            case ast.Attribute(value=ast.Attribute(attr="file"), attr="write"):  # of rich's console
                yield node
            case ast.ImportFrom(module="sys") | ast.Attribute(value=ast.Name(id="os"), attr="write"):
                yield node


def other_ways(tree: ast.AST) -> Iterator[ast.AST]:
    """The uses of another way to print."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in BESIDE:
                yield node
            case ast.Attribute(value=ast.Name(id="typer" | "click" | "rich"), attr=name) if name in BESIDE:
                yield node
            case ast.ImportFrom(module=str(module), names=names) if module.startswith(
                ("rich", "typer", "click")
            ):
                yield from (name for name in names if name.name in BESIDE)


def prints(source: str) -> list[int]:
    """The lines of a module that print."""
    tree = ast.parse(source)
    return [getattr(node, "lineno", 0) for node in (*streams(tree), *other_ways(tree))]


def test_no_module_of_the_command_line_prints_past_the_one_that_escapes() -> None:
    files = {file.relative_to(ROOT).as_posix(): file for file in (ROOT / "cli").rglob("*.py")}

    printing = {name: lines for name, file in files.items() if (lines := prints(file.read_text("utf-8")))}

    assert printing.pop(PRINTS)
    assert printing == {}


def test_every_way_to_print_is_noticed() -> None:
    ways = (
        "sys.stdout.write(x)", "sys.stderr.write(x)", "out = sys.stdout", "sys.__stdout__.write(x)",
        "from sys import stdout", "print(x)", "os.write(1, x)", "console.file.write(x)", "typer.echo(x)",
        "rich.print(x)", "from rich.console import Console", "from typer import secho",
    )  # fmt: skip
    assert [way for way in ways if not prints(way)] == []
    assert prints("sys.stdout.flush(); sys.stdin.read(); sys.stdout.isatty(); printing.Console()") == []
