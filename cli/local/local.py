"""`lamplighter local`: starts the embedded cloud (`up`), and plays a lab day in it (`demo`).

It owns the options, the signals and what is printed. local/ has the cloud itself.
"""

import json
import signal
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
from rich.table import Table

from cli import files, printing
from cli.local import env as local_env
from cli.local import fault as local_fault
from cli.local import slack as local_slack
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.values import instant

HELP = """Run the embedded cloud: AWS, Kubernetes and a simulated GPU fleet on this machine.

\b
Examples:
  lamplighter local demo
  lamplighter local up --rate 10 --json cloud.json
  lamplighter local fault list --cloud cloud.json
"""
app = typer.Typer(help=HELP, no_args_is_help=True)

app.add_typer(local_fault.app, name="fault")
app.command("env")(local_env.env)
app.command("slack")(local_slack.slack)

FASTEST = 60
REAL = 1
RATE = 30  # of the demo: fast, and still possible to watch
Rate = Annotated[
    float | None,
    typer.Option(
        "--rate",
        metavar="N",
        help="The most virtual seconds in one real second, 1 to 60.",
        show_default=False,
    ),
]


class Act(StrEnum):
    """The story that the demo plays."""

    DAY = "day"
    TROUBLE = "trouble"
    KARPENTER = "karpenter"


class _Stopped(BaseException):
    """A signal asks the program to end; everything is stopped on the way out."""


@app.command("up")
def up(
    out: Annotated[
        Path,
        typer.Option(
            "--json",
            metavar="OUT",
            help="The file for its addresses and keys, written when the cloud is ready.",
        ),
    ],
    lab: Annotated[str, typer.Option("--lab", metavar="F", help="The lab to deploy.")] = "lab.yaml",
    rate: Rate = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--start",
            metavar="T",
            help="The instant at which the cloud's clock starts; default: now.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Start the embedded cloud with the lab deployed, and run until Ctrl-C.

    \b
    Examples:
      lamplighter local up --json /tmp/cloud.json
      lamplighter local up --lab lab.yaml --rate 10 --start 2026-12-01T19:50:00+09:00 --json cloud.json
    """
    with _signals_end_it():
        speed, begins = _rate(rate, 1), _instant(start)
        files.may_be_written("--json", out)
        _check(lab)
        _run_until_stopped(out, Path(lab), speed, begins)


def _run_until_stopped(out: Path, lab: Path, speed: float, begins: datetime | None) -> None:
    with _exists_meanwhile(out):
        from local.cloud import Cloud  # noqa: PLC0415 - it takes a second, and bad input should not

        with Cloud(lab, rate=speed, start=begins, progress=printing.say_on_stderr, slack=True) as cloud:
            endpoints = cloud.up()
            files.write("--json", out, json.dumps(endpoints.to_json(), indent=2) + "\n")
            printing.say_on_stderr(f"ready: {out} has its addresses and keys; Ctrl-C stops it")
            with cloud.clock.idle():
                cloud.clock.stopped.wait()
            raise OutsideFailed("the clock of the embedded cloud failed: its log has the reason")


@app.command("demo")
def demo(
    act: Annotated[
        Act,
        typer.Option(
            "--act",
            help="day: a window from opening to receipt; trouble: a window with faults; karpenter: one on Karpenter.",
        ),
    ] = Act.DAY,
    rate: Rate = None,
    fast: Annotated[bool, typer.Option("--fast", help="Play as fast as this machine can.")] = False,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="The same seed gives the same day on every machine.")
    ] = 0,
    out: Annotated[
        Path | None, typer.Option("--json", metavar="OUT", help="Write the report there as well, as JSON.")
    ] = None,
) -> None:
    """Play one GPU lab day, and judge the ten laws by what happened.

    Exit code 1: a law is broken.

    `--act trouble` plays a window that finds no capacity, until the cause is found and removed, and then an
    experiment until it is undone. There, exit code 1 also means that an expected event did not happen.

    `--act karpenter` plays a short window with the real Karpenter, and then a NodePool that somebody scales without a
    lease. Karpenter's timers are real, so it takes twenty minutes. Exit code 3: this machine has no Karpenter.

    \b
    Examples:
      lamplighter local demo
      lamplighter local demo --act trouble
      lamplighter local demo --act karpenter
      lamplighter local demo --rate 60 --json report.json
      lamplighter local demo --fast --seed 7
    """
    begun = time.monotonic()
    if fast and rate is not None:
        raise BadInput("--fast: cannot be used with --rate, give one of the two")
    if act is Act.KARPENTER and (fast or rate is not None):
        raise BadInput(
            f"{'--fast' if fast else '--rate'}: cannot be used with --act karpenter, its timers are real"
        )
    speed = None if fast else _rate(rate, REAL if act is Act.KARPENTER else RATE)
    if out is not None:
        files.may_be_written("--json", out)
    with _signals_end_it():
        from local.demo import acts, view  # noqa: PLC0415 - the same

        with view.view_for(ZoneInfo("Asia/Seoul")) as demo_view:
            report = acts.ACTS[act](demo_view, speed, begun, seed).play()
        if out is not None:
            files.write("--json", out, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        _print(report)
    broken = any(law["held"] is False for law in report["laws"])
    raise typer.Exit(1 if broken or (act is not Act.DAY and report["failures"]) else 0)


def _print(report: dict[str, Any]) -> None:
    console = printing.Console(highlight=False)
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
        console.print(f"Open in a browser, the {name}: {where}", soft_wrap=True)


def _print_trouble(console: printing.Console, report: dict[str, Any]) -> None:
    """The findings of the fault, and the experiment with its conclusion."""
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


def _print_receipt(console: printing.Console, receipt: dict[str, Any]) -> None:
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


def _check(lab: str) -> None:
    from lamplighter.labfile import file as labfile  # noqa: PLC0415 -- the demo reads no lab file

    labfile.load(lab)


@contextmanager
def _exists_meanwhile(out: Path) -> Iterator[None]:
    """The file exists only while the cloud runs. A file that a killed run left is removed too."""
    out.unlink(missing_ok=True)
    try:
        yield
    finally:
        for path in (out, files.draft_of(out)):
            path.unlink(missing_ok=True)


@contextmanager
def _signals_end_it() -> Iterator[None]:
    """SIGINT and SIGTERM stop everything and end with 0. Further signals are ignored until then."""

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
