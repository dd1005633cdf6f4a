"""`lamplighter experiment`: puts a fault in on purpose, inside a lease, and everything back; and its report."""

import sys
from typing import Annotated

import typer

from cli import deployment, printing
from cli.look_after import experiment_orders, known_names
from cli.options import AsJson, LabName, Yes
from cli.use import agreed
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.domain.experiments.report import as_json as report_as_json
from lamplighter.domain.experiments.report import conclusion, markdown
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun
from lamplighter.errors import Refused

HELP = """Put a fault in on purpose, see what it looks like, and everything back.

\b
Examples:
  lamplighter experiment list
  lamplighter experiment run nccl-blocked
  lamplighter experiment report > report.md
"""
app = typer.Typer(help=HELP, no_args_is_help=True)
Pool = Annotated[
    str | None,
    typer.Argument(
        metavar="[POOL]", help="The pool; the only one by default.", autocompletion=known_names.pools
    ),
]
PROGRESS = {
    ExperimentPhase.PREPARED: "prepared: what is there is kept, and what undoes it is armed",
    ExperimentPhase.CHANGED: "changed: {change}",
    ExperimentPhase.OBSERVED: "observed",
    ExperimentPhase.RESTORED: "undone: everything is as it was; the checks run again",
    ExperimentPhase.PROVEN: "{conclusion}",
}


@app.command("list")
def list_experiments(pool: Pool = None, as_json: AsJson = False, lab_name: LabName = None) -> None:
    """Show every experiment: what it changes, what to expect, what else breaks, and whether it may run now.

    \b
    Examples:
      lamplighter experiment list
      lamplighter experiment list gpu --json
    """
    found = deployment.find(lab_name)
    plans = experiment_orders.plans(found, pool)
    if as_json:
        printing.as_json([plan.to_json() for plan in plans])
        return
    printing.say("\n\n".join("\n".join(plan.lines(clock_of(found.zone))) for plan in plans))


@app.command("run")
def run_experiment(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Which experiment.", autocompletion=known_names.experiments)
    ],
    pool: Pool = None,
    lease: Annotated[
        str | None,
        typer.Option(
            "--lease",
            metavar="ID",
            help="Inside which lease, where the pool has several.",
            autocompletion=known_names.leases,
        ),
    ] = None,
    because: Annotated[
        str | None, typer.Option("--because", metavar="TEXT", help="Why, for the report.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Stay until the report is there.")] = True,
    yes: Yes = False,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Run an experiment inside a lease of yours, after showing what it will do; everything is put back in any case.

    Exit code 0: it ran, and is undone. 1: refused, with the reason and what would be right.

    \b
    Examples:
      lamplighter experiment run nccl-blocked
      lamplighter experiment run device-plugin-off gpu --yes --json
    """
    found = deployment.find(lab_name)
    clock = clock_of(found.zone)
    order = experiment_orders.order(found, name, found.pool(pool), lease, because)
    plan = experiment_orders.plan(found, order)
    if plan.answer.run is None:
        raise Refused(f"refused: {printing.drawn(plan.answer.reason, found.zone)}")
    if not yes:
        agreed.agree(plan.lines(clock), "Run it?", "nothing was changed", as_json=as_json)
    begun = experiment_orders.run(found, order)
    if begun.decision.outcome != "granted":
        raise Refused(f"refused: {printing.drawn(begun.decision.reason, found.zone)}")
    if begun.run is None or not wait:
        _say_or_json(
            {"outcome": "granted", "reason": printing.drawn(begun.decision.reason, found.zone)},
            as_json=as_json,
        )
        return
    ended = experiment_orders.follow(found, begun.run.id, lambda now: None if as_json else _tell(now))
    if as_json:
        printing.as_json(report_as_json(ended))
    else:
        printing.say(f"the report: lamplighter experiment report {ended.id}")


@app.command("restore")
def restore_experiment(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Which; left out: whatever is under way.",
            autocompletion=known_names.experiments,
        ),
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Undo an experiment now. Asked again, it looks again, and puts back whatever is not as it was.

    Exit code 0: everything is as it was.

    \b
    Examples:
      lamplighter experiment restore
      lamplighter experiment restore nccl-blocked
    """
    found = deployment.find(lab_name)
    undone = experiment_orders.restore(found, name)
    if undone is None:
        _say_or_json({"outcome": "nothing", "reason": "no experiment is under way"}, as_json=as_json)
    elif as_json:
        printing.as_json(report_as_json(undone))
    else:
        printing.say(f"restored: {undone.name} is undone, everything is as it was")


@app.command("report")
def report_experiment(
    run: Annotated[
        str | None,
        typer.Argument(metavar="[ID]", help="A run, or an experiment's last; left out: the last of all."),
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Print the report of a run as Markdown, to hand in: hypothesis, change, expected, seen, evidence, restored.

    \b
    Examples:
      lamplighter experiment report > report.md
      lamplighter experiment report nccl-blocked-1a2b3c4d --json
    """
    found = deployment.find(lab_name)
    kept = experiment_orders.report(found, run)
    if as_json:
        printing.as_json(report_as_json(kept))
    else:
        sys.stdout.write(markdown(kept, clock_of(found.zone)))


def _tell(run: ExperimentRun) -> None:
    said = PROGRESS[run.phase].format(
        change="; ".join(map(str, run.change)) or "one pod", conclusion=conclusion(run)
    )
    printing.say(said)


def _say_or_json(said: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        printing.as_json(said)
    else:
        printing.say(f"{said['outcome']}: {said['reason']}")
