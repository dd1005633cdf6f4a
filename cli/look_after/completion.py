"""`lamplighter completion`: prints the program with which a shell completes verbs, options and names.

The names are those last seen in the deployed lab: pressing Tab does not call AWS.
"""

import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined] # as typer itself does

from cli import printing

COMPLETING = "_LAMPLIGHTER_COMPLETE"
"""The shell's program sets it when it asks for completions."""


class Shell(StrEnum):
    """The supported shells."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def command(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")],
) -> None:
    """Print the program with which your shell completes verbs, options and the names of pools, windows and leases.

    The names come from your last commands. `lamplighter` must be on the PATH.

    \b
    Examples:
      lamplighter completion bash >> ~/.bashrc
      lamplighter completion zsh > "${fpath[1]}/_lamplighter"
      lamplighter completion fish > ~/.config/fish/completions/lamplighter.fish
    """
    script = get_completion_script(prog_name="lamplighter", complete_var=COMPLETING, shell=shell.value)
    printing.document(f"{script}\n")


def typed(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The complete words after the program's name; the word that is being typed is left out."""
    if "COMP_WORDS" in environment:
        words, current = environment["COMP_WORDS"].split(), environment.get("COMP_CWORD", "")
        return words[1 : int(current)] if current.isdecimal() else words[1:]
    line = environment.get("_TYPER_COMPLETE_ARGS", "")
    words = line.split()
    return words[1:] if line.endswith(" ") else words[1:-1]
