"""`lamplighter local`: the embedded cloud, to work against (`up`) and to watch for a day (`demo`).

Owns options, signals and what is printed; the cloud itself is local/'s.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer
from rich.console import Console
from rich.table import Table

from cli.local import env as local_env
from cli.local import fault as local_fault
from lamplighter.errors import BadInput
from lamplighter.values import instant

HELP = """The embedded cloud: AWS, Kubernetes and a GPU fleet on this machine.

\b
Examples:
  lamplighter local demo
  lamplighter local up --rate 10 --json cloud.json
  lamplighter local fault list --cloud cloud.json
"""
app = typer.Typer(help=HELP, no_args_is_help=True)

app.add_typer(local_fault.app, name="fault")
app.command("env")(local_env.env)

FASTEST = 60
RATE = 30  # the demo's: fast to watch
Rate = Annotated[
    float | None,
    typer.Option(
        "--rate", metavar="N", help="Virtual seconds a real second at most, 1 to 60.", show_default=False
    ),
]


class Act(StrEnum):
    """What the demo plays."""

    DAY = "day"
    TROUBLE = "trouble"


class _Stopped(BaseException):
    """A signal asked us to end; everything is taken down on the way out."""


@app.command("up")
def up(
    out: Annotated[
        Path, typer.Option("--json", metavar="OUT", help="Where to write how to reach it, once ready.")
    ],
    lab: Annotated[str, typer.Option("--lab", metavar="F", help="The lab to deploy.")] = "lab.yaml",
    rate: Rate = None,
    start: Annotated[
        str | None,
        typer.Option("--start", metavar="T", help="The first instant; default: now.", show_default=False),
    ] = None,
) -> None:
    """Start the embedded cloud with the lab deployed, and stay in the foreground until Ctrl-C.

    \b
    Examples:
      lamplighter local up --json /tmp/cloud.json
      lamplighter local up --lab lab.yaml --rate 10 --start 2026-12-01T19:50:00+09:00 --json cloud.json
    """
    with _signals_end_it():
        speed, begins = _rate(rate, 1), _instant(start)
        _writable(out)
        _readable(lab)
        _run_until_stopped(out, Path(lab), speed, begins)


def _run_until_stopped(out: Path, lab: Path, speed: float, begins: datetime | None) -> None:
    with _there_only_meanwhile(out):
        from local.cloud import Cloud  # noqa: PLC0415 - the embedded cloud is heavy, bad input is not

        with Cloud(lab, rate=speed, start=begins, progress=_progress, slack=True) as cloud:
            endpoints = cloud.up()
            _replace(out, json.dumps(endpoints.to_json(), indent=2) + "\n")
            sys.stderr.write(f"ready: {out} says how to reach it; Ctrl-C ends it\n")
            with cloud.clock.idle():
                while True:
                    signal.pause()


@app.command("demo")
def demo(
    act: Annotated[
        Act, typer.Option("--act", help="day: a window from opening to receipt; trouble: faults, on purpose.")
    ] = Act.DAY,
    rate: Rate = None,
    fast: Annotated[bool, typer.Option("--fast", help="As fast as this machine can.")] = False,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="The same seed gives the same day on every machine.")
    ] = 0,
    out: Annotated[
        Path | None, typer.Option("--json", metavar="OUT", help="Also write the report there, as JSON.")
    ] = None,
) -> None:
    """Play one GPU lab day and judge the ten laws by what was seen. Exit code 1: a law is broken.

    The act of trouble plays a window that finds no capacity, to its finding and its cure, and then an
    experiment to its restore; there, exit code 1 also says that something which should be seen was not.

    \b
    Examples:
      lamplighter local demo
      lamplighter local demo --act trouble
      lamplighter local demo --rate 60 --json report.json
      lamplighter local demo --fast --seed 7
    """
    begun = time.monotonic()
    if fast and rate is not None:
        raise BadInput("--fast: goes with no --rate, give one of the two")
    speed = None if fast else _rate(rate, RATE)
    if out is not None:
        _writable(out)
    with _signals_end_it():
        from local.demo import acts, view  # noqa: PLC0415

        with view.view_for(ZoneInfo("Asia/Seoul")) as seen:
            report = acts.ACTS[act](seen, speed, begun, seed).play()
        if out is not None:
            _replace(out, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        _print(report)
    broken = any(law["held"] is False for law in report["laws"])
    raise typer.Exit(1 if broken or (act is Act.TROUBLE and report["failures"]) else 0)


def _print(report: dict[str, Any]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 200
    for receipt in report["receipts"]:
        _print_receipt(console, receipt)
    if "findings" in report:
        _print_trouble(console, report)
    laws = Table("law", "held", "evidence", title="The ten laws", title_justify="left", box=None)
    words = {True: "[green]held[/]", False: "[red]BROKEN[/]", None: "[dim]not tried[/]"}
    for law in report["laws"]:
        laws.add_row(str(law["law"]), words[law["held"]], law["evidence"])
    console.print(laws)
    for failure in report["failures"]:
        console.print(f"[red]{failure}[/]")
    cost = report["cost"]
    console.print(
        f"\nThe day cost {cost['amount']} {cost['currency']}; played in {report['elapsed_seconds']} s."
    )
    for name, where in report["pages"].items():
        console.print(f"To look at, the {name}: {where}", soft_wrap=True)


def _print_trouble(console: Console, report: dict[str, Any]) -> None:
    """What was found of the fault, and what the experiment showed."""
    console.print("[bold]Findings[/]")
    for finding in report["findings"]:
        console.print(f"{finding['cause']} ({finding['seen']}): {finding['summary']}")
    for experiment in report["experiments"]:
        shown = Table.grid(padding=(0, 2))
        rows = {
            "hypothesis": experiment["hypothesis"],
            "change": "; ".join(experiment["change"]),
            "expected": experiment["expected"]["symptom"],
            "seen": f"the diagnosis names {experiment['seen'].get('cause')}",
            "restored": f"{experiment['restored']['at']} by {experiment['restored']['by']}",
            "so": experiment["conclusion"],
        }
        for name, value in rows.items():
            shown.add_row(f"[dim]{name}[/]", value)
        console.print(f"\n[bold]Experiment {experiment['experiment']}[/]")
        console.print(shown)
    console.print()


def _print_receipt(console: Console, receipt: dict[str, Any]) -> None:
    shown = Table.grid(padding=(0, 2))
    proof = receipt["proof_of_zero"]
    cost = f"{receipt['cost']['amount']} {receipt['cost']['currency']}"
    rows = {
        "lease": f"{receipt['lease']} on pool {receipt['pool']}, for {receipt['owner']} ({receipt['source']})",
        "open": f"{receipt['opened']} to {receipt['closed']}, {receipt['nodes']} node(s)",
        "used": f"{receipt['node_seconds']} node seconds, {cost}",
        "ready": f"{receipt['minutes_to_ready']} minutes after the order",
        "checks": ", ".join(f"{v['check']} {v['verdict']}" for v in receipt["verdicts"]),
        "zero": f"proven {proof['at']}: desired {proof['desired']}, no instance, no Kubernetes node",
    }
    if receipt["lease"] is None:
        rows["lease"] = (
            f"none: what ran on pool {receipt['pool']} without one, closed by the {receipt['source']}"
        )
        rows = {name: rows[name] for name in ("lease", "used", "zero")}
    for name, value in rows.items():
        shown.add_row(f"[dim]{name}[/]", value)
    console.print("\n[bold]Receipt[/]")
    console.print(shown)
    console.print()


def _progress(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _rate(given: float | None, default: float) -> float:
    rate = default if given is None else given
    if not 1 <= rate <= FASTEST:
        raise BadInput(f"--rate: {rate:g} is out of range, give 1 to {FASTEST} virtual seconds a real second")
    return rate


def _instant(text: str | None) -> datetime | None:
    try:
        return None if text is None else instant.read(text)
    except BadInput as error:
        raise BadInput(f"--start: {error}") from None


def _readable(lab: str) -> None:
    from lamplighter.labfile import file as labfile  # noqa: PLC0415

    labfile.load(lab)


def _writable(out: Path) -> None:
    if out.is_dir() or not out.absolute().parent.is_dir() or not os.access(out.absolute().parent, os.W_OK):
        raise BadInput(f"--json: '{out}' cannot be written, name a file in a folder that exists")


def _draft(out: Path) -> Path:
    return out.with_name(f".{out.name}.{os.getpid()}")


def _replace(out: Path, text: str) -> None:
    _draft(out).write_text(text, "utf-8")
    _draft(out).replace(out)


@contextmanager
def _there_only_meanwhile(out: Path) -> Iterator[None]:
    """Whoever finds the file finds a running cloud: one left by a run that was killed is removed too."""
    out.unlink(missing_ok=True)
    try:
        yield
    finally:
        for path in (out, _draft(out)):
            path.unlink(missing_ok=True)


@contextmanager
def _signals_end_it() -> Iterator[None]:
    """SIGINT and SIGTERM take everything down and end with 0; further ones while that happens are ignored."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise _Stopped

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except _Stopped:
        raise typer.Exit(0) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
