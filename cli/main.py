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

from lamplighter.errors import BadInput, OutsideFailed, Refused, TryLater

app = typer.Typer(
    name="lamplighter",
    help="Opens and closes GPU lab windows on Amazon EKS. No lease, no GPU node.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

VERBS = {
    "check": "cli.check",
    "adopt": "cli.adopt",
    "simulate": "cli.simulate",
    "status": "cli.status",
    "open": "cli.open",
    "close": "cli.close",
    "extend": "cli.extend",
    "leases": "cli.leases",
    "windows": "cli.windows",
    "skip": "cli.skip",
    "pause": "cli.pause",
    "resume": "cli.resume",
    "cost": "cli.cost",
    "arm": "cli.arm",
    "ack": "cli.ack",
    "keep": "cli.keep",
    "why": "cli.why",
    "verdict": "cli.verdict",
    "diagnose": "cli.diagnose",
}
INTERRUPTED = 130  # as shells say it
GROUPS = {"local": "cli.local"}


@app.callback()
def _lamplighter() -> None:
    """Opens and closes GPU lab windows on Amazon EKS. No lease, no GPU node."""


def _register(name: str) -> None:
    if name in GROUPS:
        group: typer.Typer = import_module(GROUPS[name]).app
        app.add_typer(group, name=name)
    else:
        command: Callable[..., None] = import_module(VERBS[name]).command
        app.command(name)(command)


def whole() -> typer.Typer:
    """The command with every verb registered, for whoever wants to read it all."""
    for name in [*VERBS, *GROUPS]:
        _register(name)
    return app


def main() -> None:
    _speak_utf_8()
    # Until the verb has something to take down, a signal ends it as it would later.
    for number in (signal.SIGINT, signal.SIGTERM) if "local" in sys.argv[1:2] else ():
        signal.signal(number, lambda *_: sys.exit(0))
    # A verb that is named pays for no other's imports; help needs them all.
    asked = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    for name in [asked] if asked in {*VERBS, *GROUPS} else [*VERBS, *GROUPS]:
        _register(name)
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
        _end(BadInput(" ".join(said.split()) if asked else said), 2)
    except BadInput as error:
        _end(error, 2)
    except Refused as error:
        _end(error, 1)
    except (OutsideFailed, TryLater) as error:
        _end(error, 3)
    except OSError as error:
        _end(OutsideFailed(f"the operating system refused: {error}"), 3)
    raise SystemExit(code if isinstance(code, int) else 0)


def _speak_utf_8() -> None:
    """What we print is UTF-8 whatever the locale; a name that cannot be encoded is still readable."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _end(error: Exception, code: int) -> None:
    sys.stderr.write(f"{error}\n")
    raise SystemExit(code)


if __name__ == "__main__":
    main()
