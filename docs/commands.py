"""The reference page of the `lamplighter` command, from the program's own help."""

import inspect
import re
from collections.abc import Iterator

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from cli import main

HEAD = """# Commands

Generated from the program by `make docs`. Every verb shows the same with `--help`.

Every verb has the same exit codes. 0: done. 1: the answer is no. 2: bad input, with one line on stderr for each
problem. 3: the outside world failed, and stderr names the call and its object. The verbs for a deployed lab use AWS's
usual settings (profile, region, `AWS_ENDPOINT_URL`). They find the lab by its tag. They take the time from AWS, never
from the machine.

A verb that removes something shows it first and asks, if there is a terminal. `--yes` answers the question.
`lamplighter completion` prints a script with which a shell completes verbs, options and names. The names come from the
user's cache folder, as the verbs last read them. `LAMPLIGHTER_NAMES` names another file; an empty value switches the
names off. `LAMPLIGHTER_TRACEBACK=1` shows the traceback of a bug in the program.
"""
#: Click keeps a paragraph's line breaks after this mark. In our help it comes before the examples.
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
