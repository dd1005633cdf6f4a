"""The `lamplighter` command: registers the verbs and turns our errors into exit codes.

0 done, 1 the answer is no, 2 bad input, 3 the outside world failed; never a traceback.
"""

import sys
from collections.abc import Callable
from importlib import import_module

import typer

from lamplighter.errors import BadInput, OutsideFailed, Refused

app = typer.Typer(
    name="lamplighter",
    help="Opens and closes GPU lab windows on Amazon EKS. No lease, no GPU node.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

VERBS = {
    "check": "cli.check",
    "simulate": "cli.simulate",
    "status": "cli.status",
    "open": "cli.open",
    "close": "cli.close",
    "extend": "cli.extend",
    "leases": "cli.leases",
    "windows": "cli.windows",
    "cost": "cli.cost",
}


def _verb(module: str) -> Callable[..., None]:
    command: Callable[..., None] = import_module(module).command
    return command


def main() -> None:
    for name, module in VERBS.items():
        app.command(name)(_verb(module))
    try:
        app()
    except BadInput as error:
        _end(error, 2)
    except Refused as error:
        _end(error, 1)
    except OutsideFailed as error:
        _end(error, 3)


def _end(error: Exception, code: int) -> None:
    sys.stderr.write(f"{error}\n")
    raise SystemExit(code)
