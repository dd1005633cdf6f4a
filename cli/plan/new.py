"""`lamplighter new`: a folder that `cdk deploy` takes, for people who have installed the command and no checkout."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli import files, printing
from cli.options import AsJson
from cli.reference.example import example
from cli.summaries import ROOT
from lamplighter.errors import BadInput, Refused

HEAD = """\
# Every key of a lab file with its default: `name` alone would be the same lab.
# `lamplighter check` reports every problem; `lamplighter check --schema` prints the JSON Schema, for editors.
"""
APP = '''"""Lab file -> stacks: `cdk` runs this file. The stacks are those of the installed lamplighter[deploy]."""

import lamplighter_home

lamplighter_home.synth()
'''


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Left out: this folder.", show_default=False)
    ] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write what a deploy needs into a folder: lab.yaml, app.py and cdk.json.

    A folder that does not exist is made. Nothing is overwritten: exit code 1 if one of the files exists.

    \b
    Examples:
      lamplighter new my-lab
      cd my-lab && npx aws-cdk@2 deploy --all
    """
    texts = {"lab.yaml": example(HEAD), "app.py": APP, "cdk.json": settings(folder)}
    existing = [name for name in texts if os.path.lexists(folder / name)]
    if existing:
        raise Refused(f"{folder / existing[0]} exists and stays as it is: name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"FOLDER: {folder} cannot be made ({error.strerror}), name another") from None
    for name, text in texts.items():
        files.write("FOLDER", folder / name, text)
    if as_json:
        printing.as_json({"folder": str(folder.resolve()), "files": list(texts)})
        return
    printing.say_each(f"wrote {folder / name}" for name in texts)


def settings(folder: Path) -> str:
    """The text of cdk.json: this Python synthesises, named from the folder where its environment is in there."""
    python, home = Path(sys.executable), folder.resolve()
    if python.is_relative_to(home):
        python = python.relative_to(home)
    document = json.loads((ROOT / "cdk.json").read_text("utf-8"))
    del document["watch"]  # of the checkout's own code
    return json.dumps({**document, "app": f'"{python}" app.py'}, indent=2) + "\n"
