"""`lamplighter experiment`: causes a fault on purpose inside a lease, undoes it, and prints the report."""

from functools import partial
from itertools import chain
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from cli import deployment, known_names, printing
from cli.look_after import experiment_orders
from cli.options import AsJson, LabName, PoolName, Yes
from cli.use import agreed
from lamplighter.domain.calendar.changes import clock_of
from lamplighter.domain.experiments.report import as_json as report_as_json
from lamplighter.domain.experiments.report import conclusion, markdown
from lamplighter.domain.experiments.run import ExperimentPhase, ExperimentRun
from lamplighter.errors import Refused

HELP = """Cause a fault on purpose, see its symptoms, and undo it.

\b
Examples:
  lamplighter experiment list
  lamplighter experiment run nccl-blocked
  lamplighter experiment report > report.md
"""
app = typer.Typer(help=HELP, no_args_is_help=True)
PROGRESS = {
    ExperimentPhase.PREPARED: "prepared: the present state is saved, and the schedules that undo the change are armed",
    ExperimentPhase.CHANGED: "changed: {change}",
    ExperimentPhase.OBSERVED: "observed",
    ExperimentPhase.RESTORED: "undone: the saved state is back; the checks run again",
    ExperimentPhase.PROVEN: "{conclusion}",
}


@app.command("list")
def list_experiments(pool: PoolName = None, as_json: AsJson = False, lab_name: LabName = None) -> None:
    """Show every experiment: what it changes, what to expect, what else breaks, and whether it may run now.

    \b
    Examples:
      lamplighter experiment list
      lamplighter experiment list gpu --json
    """
    deployed = deployment.find(lab_name)
    plans = experiment_orders.plans(deployed, pool)
    if as_json:
        printing.as_json([plan.to_json() for plan in plans])
        return
    lines = (["", *plan.lines(clock_of(deployed.zone))] for plan in plans)
    printing.say_each([*chain.from_iterable(lines)][1:])


@app.command("run")
def run_experiment(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The experiment.", autocompletion=known_names.experiments)
    ],
    pool: PoolName = None,
    lease: Annotated[
        str | None,
        typer.Option(
            "--lease",
            metavar="ID",
            help="The lease to run it in, where the pool has several.",
            autocompletion=known_names.leases,
        ),
    ] = None,
    because: Annotated[
        str | None, typer.Option("--because", metavar="TEXT", help="Why, for the report.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the report.")] = True,
    yes: Yes = False,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Run an experiment inside a lease of yours, after showing what it does. The lab undoes it on every path.

    Exit code 0: it ran, and is undone. 1: refused, with the reason and what to do.

    \b
    Examples:
      lamplighter experiment run nccl-blocked
      lamplighter experiment run device-plugin-off gpu --yes --json
    """
    deployed = deployment.find(lab_name)
    clock = clock_of(deployed.zone)
    order = experiment_orders.order(deployed, name, deployed.pool(pool), lease, because)
    plan = experiment_orders.plan(deployed, order)
    if plan.answer.run is None:
        raise Refused(f"refused: {printing.drawn(plan.answer.reason, deployed.zone)}")
    if not yes:
        agreed.agree(plan.lines(clock), "Run it?", "nothing was changed", as_json=as_json)
    started = experiment_orders.run(deployed, order)
    if started.decision.outcome != "granted":
        raise Refused(f"refused: {printing.drawn(started.decision.reason, deployed.zone)}")
    if started.run is None or not wait:
        _say_or_json(
            {"outcome": "granted", "reason": printing.drawn(started.decision.reason, deployed.zone)},
            as_json=as_json,
        )
        return
    tell = partial(_tell, zone=deployed.zone, as_json=as_json)
    ended = experiment_orders.follow(deployed, started.run.id, tell)
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
            help="The experiment; left out: the one that is under way.",
            autocompletion=known_names.experiments,
        ),
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Undo an experiment now. Repeated, it checks again and undoes what is still changed.

    Exit code 0: everything is undone.

    \b
    Examples:
      lamplighter experiment restore
      lamplighter experiment restore nccl-blocked
    """
    deployed = deployment.find(lab_name)
    undone = experiment_orders.restore(deployed, name)
    if undone is None:
        _say_or_json({"outcome": "nothing", "reason": "no experiment is under way"}, as_json=as_json)
    elif as_json:
        printing.as_json(report_as_json(undone))
    else:
        printing.say(f"restored: {undone.name} is undone")


@app.command("report")
def report_experiment(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]", help="A run, or the last run of an experiment; left out: the last of all."
        ),
    ] = None,
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Print the report of a run as Markdown: hypothesis, change, expected, seen, evidence, restored.

    \b
    Examples:
      lamplighter experiment report > report.md
      lamplighter experiment report nccl-blocked-1a2b3c4d --json
    """
    deployed = deployment.find(lab_name)
    report = experiment_orders.report(deployed, run)
    if as_json:
        printing.as_json(report_as_json(report))
    else:
        printing.document(markdown(report, clock_of(deployed.zone)))


def _tell(run: ExperimentRun, *, zone: ZoneInfo, as_json: bool) -> None:
    if as_json:
        return
    change = "; ".join(printing.drawn(change, zone) for change in run.change) or "one pod"
    printing.say(PROGRESS[run.phase].format(change=change, conclusion=printing.drawn(conclusion(run), zone)))


def _say_or_json(answer: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        printing.as_json(answer)
    else:
        printing.say(f"{answer['outcome']}: {answer['reason']}")
