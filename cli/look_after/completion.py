"""`lamplighter completion`: prints the program by which a shell completes verbs, options and names.

Names are those that were last seen in the deployed lab: pressing Tab asks AWS for nothing.
"""

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined] # as typer itself does

from cli import printing

COMPLETING = "_LAMPLIGHTER_COMPLETE"
"""Set by those programs while they ask what could follow."""


class Shell(StrEnum):
    """The shells that have one."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def command(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="The shell that you type in.")],
) -> None:
    """Print what makes a shell complete verbs, options, and the names of pools, windows and leases.

    Names are those that your last calls have seen. `lamplighter` must be on the PATH.

    \b
    Examples:
      lamplighter completion bash >> ~/.bashrc
      lamplighter completion zsh > "${fpath[1]}/_lamplighter"
      lamplighter completion fish > ~/.config/fish/completions/lamplighter.fish
    """
    printing.say(get_completion_script(prog_name="lamplighter", complete_var=COMPLETING, shell=shell.value))


def typed(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The words after the program's name that a shell wants completed, the one begun left out."""
    if "COMP_WORDS" in environment:
        words, begun = environment["COMP_WORDS"].split(), environment.get("COMP_CWORD", "")
        return words[1 : int(begun)] if begun.isdecimal() else words[1:]
    line = environment.get("_TYPER_COMPLETE_ARGS", "")
    words = line.split()
    return words[1:] if line.endswith(" ") else words[1:-1]
