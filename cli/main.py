"""The `lamplighter` command: registers the verbs and turns our errors into exit codes.

0 done, 1 the answer is no, 2 bad input, 3 the outside world failed; never a traceback.
"""

import io
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module

import typer

from cli import endings
from cli.summaries import summaries

app = typer.Typer(
    name="lamplighter",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

VERBS = {
    "check": "cli.plan.check",
    "adopt": "cli.plan.adopt",
    "doctor": "cli.look_after.doctor",
    "simulate": "cli.plan.simulate",
    "status": "cli.understand.status",
    "open": "cli.use.open",
    "close": "cli.use.close",
    "extend": "cli.use.extend",
    "leases": "cli.use.leases",
    "windows": "cli.plan.windows",
    "skip": "cli.plan.skip",
    "pause": "cli.plan.pause",
    "resume": "cli.plan.resume",
    "cost": "cli.understand.cost",
    "receipt": "cli.understand.receipt",
    "page": "cli.understand.page",
    "arm": "cli.look_after.arm",
    "ack": "cli.look_after.ack",
    "keep": "cli.use.keep",
    "why": "cli.understand.why",
    "verdict": "cli.understand.verdict",
    "diagnose": "cli.understand.diagnose",
    "completion": "cli.look_after.completion",
}
COMPLETING = "_LAMPLIGHTER_COMPLETE"  # as in cli.look_after.completion, which only a shell needs
INTERRUPTED = 130  # as shells say it
GROUPS = {
    "experiment": "cli.look_after.experiment",
    "local": "cli.local.local",
    "slack": "cli.look_after.slack",
}


@app.callback()
def _lamplighter() -> None:
    """Opens and closes GPU lab windows on Amazon EKS. No lease, no GPU node.

    \b
    Examples:
      lamplighter status
      lamplighter open 2 for 90m because the exam is today
      lamplighter close gpu --wait
      lamplighter open --help
    """


def _register(name: str) -> None:
    if name in GROUPS:
        group: typer.Typer = import_module(GROUPS[name]).app
        app.add_typer(group, name=name)
    else:
        command: Callable[..., None] = import_module(VERBS[name]).command
        app.command(name)(command)


def _register_for(asked: str) -> None:
    """The verb that is named, which pays for no other's imports; where none is, the names of all."""
    if asked in {*VERBS, *GROUPS}:
        _register(asked)
        return
    for name, said in summaries({**VERBS, **GROUPS}).items():
        app.command(name, help=said)(lambda: None)


def whole() -> typer.Typer:
    """The command with every verb registered, for whoever wants to read it all."""
    for name in [*VERBS, *GROUPS]:
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
