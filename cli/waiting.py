"""How a verb reads `--wait`, whose value may be left out. cli.use.wait says what it means."""

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

from cli.nearest import nearest

OPTION = "--wait"
MISTYPED = 0.75
"""How like a choice the word after `--wait` is where it is meant as one: `grantd` is, a pool `open-lab` is none."""


class WaitingCommand(TyperCommand):
    """A verb whose `--wait` may stand alone, before other words too: `open --wait gpu 1`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 -- the class is private to typer
        return super().parse_args(ctx, _with_value(args, self._choices()))

    def _choices(self) -> Sequence[str]:
        """As the help shows them: `[granted|open]`."""
        shown = (getattr(parameter, "metavar", None) for parameter in self.params if OPTION in parameter.opts)
        return [choice for metavar in shown if metavar for choice in metavar.strip("[]").split("|")]


def _with_value(args: list[str], choices: Sequence[str]) -> list[str]:
    """The words with `--wait` and its value in one; the value of `--wait` alone is the last choice.

    A mistyped choice stays the value, so that it is refused with the nearest one.
    """
    if OPTION not in args or not choices:
        return args
    at = args.index(OPTION)
    before, after = args[:at], args[at + 1 :]
    if after and nearest(after[0], choices, MISTYPED):
        return [*before, f"{OPTION}={after[0]}", *after[1:]]
    return [*before, f"{OPTION}={choices[-1]}", *after]
