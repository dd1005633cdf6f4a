"""The reference page of the `lamplighter` command, from the program itself: its help is the one source."""

import inspect
import re
from collections.abc import Iterator

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from cli import main

HEAD = """# Commands

Generated from the program by `make docs`. Every verb says the same with `--help`.

Exit codes of every verb: 0 done; 1 the answer is no; 2 bad input, one line on stderr for each problem; 3 the outside
world failed, and which call on what. The verbs that work on a deployed lab use AWS's usual settings (profile, region,
`AWS_ENDPOINT_URL`), find the lab by its tag, and take the time from AWS, never from the machine.

What takes something away is shown first and asks, where a person can be asked; `--yes` has agreed. `lamplighter
completion` prints what makes a shell complete verbs, options and names; the names are those that were last seen, kept
in the user's cache folder (`LAMPLIGHTER_NAMES` names another file, or, empty, none). `LAMPLIGHTER_TRACEBACK=1` shows
where a fault of the program's own came from.
"""
#: Click keeps a paragraph's line breaks behind this mark; ours stands before the examples.
KEEP_LINES = "\b"


def page() -> str:
    """The whole page."""
    root = typer.main.get_command(main.whole())
    assert isinstance(root, TyperGroup)  # noqa: S101 (it has verbs)
    return "\n".join([HEAD, *_verbs(root, "lamplighter")]).rstrip() + "\n"


def _verbs(group: TyperGroup, called: str) -> Iterator[str]:
    for name, verb in group.commands.items():
        if isinstance(verb, TyperGroup):
            yield from _verbs(verb, f"{called} {name}")
        elif isinstance(verb, TyperCommand):
            yield from _verb(verb, f"{called} {name}")


def _verb(verb: TyperCommand, called: str) -> Iterator[str]:
    context = typer.Context(verb, info_name=called)
    text, _, examples = inspect.cleandoc(verb.help or "").partition(KEEP_LINES)
    yield f"## {called}\n\n{text.strip()}\n"
    yield f"```text\n{called} {' '.join(verb.collect_usage_pieces(context))}\n```\n"
    rows = [row for row in (_row(parameter, context) for parameter in verb.params) if row]
    if rows:
        yield "\n".join(["| argument or option | meaning |", "|---|---|", *rows, ""])
    lines = [line.strip() for line in examples.splitlines() if line.strip() not in {"", "Examples:"}]
    if lines:
        yield "\n".join(["```console", *lines, "```", ""])


def _row(parameter: object, context: typer.Context) -> str:
    if not isinstance(parameter, (TyperArgument, TyperOption)):
        return ""
    record = parameter.get_help_record(context)
    if record is None:
        return ""
    names = re.sub(r" <[a-z]+(\[[a-z]+\])?>$", "", record[0])  # the type of an argument is text, always
    return f"| `{_cell(names)}` | {_cell(record[1])} |"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()
