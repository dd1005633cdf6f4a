"""The `lamplighter` command: registers the verbs and turns our errors into exit codes.

0 done, 1 the answer is no, 2 bad input, 3 the outside world failed; never a traceback.
"""

import io
import os
import signal
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Annotated

import typer

from cli import endings, printing
from cli.summaries import summaries

app = typer.Typer(
    name="lamplighter",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

PANELS = {
    "Plan": (
        "cli.plan.check",
        "cli.plan.simulate",
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
GROUPS = {"experiment", "local", "slack"}
"""Verbs that have verbs of their own."""
COMPLETING = "_LAMPLIGHTER_COMPLETE"  # as in cli.look_after.completion, which only a shell needs
INTERRUPTED = 130  # as shells say it


def _version(asked: bool) -> None:
    if asked:
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
        app.command(name, rich_help_panel=PANEL[name])(module.command)


def _register_for(asked: str) -> None:
    """The verb that is named, which pays for no other's imports; where none is, the names of all."""
    if asked in MODULES:
        _register(asked)
        return
    for name, said in summaries(MODULES).items():
        app.command(name, help=said, rich_help_panel=PANEL[name])(lambda: None)


def whole() -> typer.Typer:
    """The command with every verb registered, for whoever wants to read it all."""
    for name in MODULES:
        _register(name)
    return app


def main() -> None:
    _speak_utf_8()
    if COMPLETING in os.environ:
        _complete()
    # Until the verb has something to take down, a signal ends it as it would later.
    for number in (signal.SIGINT, signal.SIGTERM) if "local" in sys.argv[1:2] else ():
        signal.signal(number, lambda *_: sys.exit(0))
    asked = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    _register_for(asked)
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read us has seen enough, as `head` does; nothing more is to be said, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except (KeyboardInterrupt, typer.Abort):
        raise SystemExit(INTERRUPTED) from None
    except typer.exceptions.TyperException as error:
        # A usage error in one line, as all bad input: no box, no traceback.
        said = str(error.format_message() if hasattr(error, "format_message") else error)
        _end(" ".join(said.split()) if asked else said, endings.BAD_INPUT)
    except Exception as error:
        if endings.is_ours_to_mend(error) and os.environ.get("LAMPLIGHTER_TRACEBACK"):
            raise
        _end(*endings.told(error))
    raise SystemExit(code if isinstance(code, int) else 0)


def _complete() -> None:
    """What could follow in a shell; where that cannot be told, nothing, and nothing is said of it."""
    from typer.completion import (  # type: ignore[attr-defined] # noqa: PLC0415 -- for a shell only
        completion_init,
    )

    from cli.look_after.completion import typed  # noqa: PLC0415

    try:
        asked = next((word for word in typed() if not word.startswith("-")), "")
        _register_for(asked)
        completion_init()
        app(prog_name="lamplighter", complete_var=COMPLETING)
    except Exception:  # noqa: BLE001 -- a fault here would be written into the line that somebody types
        raise SystemExit(0) from None


def _speak_utf_8() -> None:
    """What we print is UTF-8 whatever the locale; a name that cannot be encoded is still readable."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _end(said: str, code: int) -> None:
    sys.stderr.write(f"{said}\n")
    raise SystemExit(code)


if __name__ == "__main__":
    main()
