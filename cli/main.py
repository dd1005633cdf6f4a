"""The `lamplighter` command: registers the verbs and turns errors into exit codes.

0 done, 1 the answer is no, 2 bad input, 3 the outside world failed. It prints no traceback.
"""

import os
import signal
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from cli import endings, printing, usage
from cli.summaries import summaries
from cli.waiting import WaitingCommand

app = typer.Typer(
    name="lamplighter",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

PANELS = {
    "Plan": (
        "cli.plan.new",
        "cli.plan.check",
        "cli.plan.simulate",
        "cli.blocks.blocks",
        "cli.plan.windows",
        "cli.plan.skip",
        "cli.plan.pause",
        "cli.plan.resume",
        "cli.plan.adopt",
    ),
    "Use": (
        "cli.use.open",
        "cli.use.extend",
        "cli.use.close",
        "cli.use.keep",
        "cli.use.leases",
        "cli.events.events",
    ),
    "Understand": (
        "cli.understand.status",
        "cli.understand.why",
        "cli.understand.diagnose",
        "cli.understand.verdict",
        "cli.understand.cost",
        "cli.understand.receipt",
        "cli.understand.page",
    ),
    "Look after": (
        "cli.look_after.doctor",
        "cli.look_after.verify",
        "cli.look_after.arm",
        "cli.look_after.ack",
        "cli.look_after.experiment",
        "cli.look_after.slack",
        "cli.look_after.completion",
    ),
    "Local": ("cli.local.local",),
}
"""The modules of the verbs, as `--help` groups them."""
MODULES = {module.rpartition(".")[2]: module for modules in PANELS.values() for module in modules}
PANEL = {module.rpartition(".")[2]: panel for panel, modules in PANELS.items() for module in modules}
GROUPS = {"events", "experiment", "local", "slack"}
"""Verbs that have verbs below them."""
COMPLETING = "_LAMPLIGHTER_COMPLETE"  # as in cli.look_after.completion, which is imported for a shell only
INTERRUPTED = 130  # the exit code of shells for Ctrl-C


def _version(wanted: bool) -> None:
    if wanted:
        printing.say(f"lamplighter {version('lamplighter')}")
        raise typer.Exit


@app.callback()
def _lamplighter(
    show_version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Opens and closes GPU lab windows on Amazon EKS. No lease, no GPU node.

    \b
    Examples:
      lamplighter status
      lamplighter open 2 for 90m because the exam is today
      lamplighter close gpu --wait
      lamplighter open --help
    """
    del show_version


def _register(name: str) -> None:
    module = import_module(MODULES[name])
    if name in GROUPS:
        app.add_typer(module.app, name=name, rich_help_panel=PANEL[name])
    else:
        app.command(name, cls=WaitingCommand, rich_help_panel=PANEL[name])(module.command)


def _register_for(verb: str) -> None:
    """Register the named verb, without importing the others; without a known verb, the summaries of all."""
    if verb in MODULES:
        _register(verb)
        return
    for name, text in summaries(MODULES).items():
        app.command(name, help=text, rich_help_panel=PANEL[name])(lambda: None)


def whole() -> typer.Typer:
    """The command with every verb registered."""
    for name in MODULES:
        _register(name)
    return app


def main() -> None:
    printing.speak_utf_8()
    if COMPLETING in os.environ:
        _complete()
    printing.show_instants_in(ZoneInfo("UTC"))
    # Until `local` has something to stop, a signal ends it with 0 as well.
    for number in (signal.SIGINT, signal.SIGTERM) if "local" in sys.argv[1:2] else ():
        signal.signal(number, lambda *_: sys.exit(0))
    _register_for(next((word for word in sys.argv[1:] if not word.startswith("-")), ""))
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does: nothing more is written, not at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except (KeyboardInterrupt, typer.Abort):
        raise SystemExit(INTERRUPTED) from None
    except typer.exceptions.TyperException as error:
        _end(usage.message(error), endings.BAD_INPUT)
    except Exception as error:
        if endings.is_bug(error) and os.environ.get("LAMPLIGHTER_TRACEBACK"):
            raise
        _end(*endings.ending(error))
    raise SystemExit(code if isinstance(code, int) else 0)


def _complete() -> None:
    """Print the completions for a shell. An error prints nothing."""
    from typer.completion import (  # type: ignore[attr-defined] # noqa: PLC0415 -- only a shell needs both
        completion_init,
    )

    from cli.look_after.completion import typed  # noqa: PLC0415

    try:
        _register_for(next((word for word in typed() if not word.startswith("-")), ""))
        completion_init()
        app(prog_name="lamplighter", complete_var=COMPLETING)
    except Exception:  # noqa: BLE001 -- a message would appear in the line that a person is typing
        raise SystemExit(0) from None


def _end(message: str, code: int) -> None:
    # Where only the help was due, typer has printed it.
    for line in message.split("\n") if message else ():
        printing.say_on_stderr(line)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
