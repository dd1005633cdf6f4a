"""`lamplighter verify`: asks an AWS account what only an account can answer, and undoes what it made for it."""

import json
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from cli import deployment, elsewhere, files, printing
from cli.nearest import did_you_mean
from cli.options import LabName, Yes
from cli.use import agreed
from cli.verification import course
from cli.verification.account import Account
from cli.verification.journal import Journal
from cli.verification.recording import recorded
from cli.verification.step import Step, StepResult, StepVerdict
from cli.verification.steps.catalogue import CATALOGUE
from lamplighter.adapters.aws.calls import FIRST_READ_SECONDS, client
from lamplighter.adapters.aws.cloudformation import Stacks
from lamplighter.domain.money.money import Money
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.lab.types import read_amount

JOURNAL = "lamplighter-verify.json"
NOTHING = "nothing was made"
OUTSIDE = 3


def command(
    steps: Annotated[
        str | None,
        typer.Option("--steps", metavar="A,B", help="Only these steps; left out: all, in their order."),
    ] = None,
    spend: Annotated[
        str,
        typer.Option("--spend", metavar="AMOUNT", help="The most to spend on nodes, in the lab's currency."),
    ] = "5",
    record: Annotated[
        Path | None,
        typer.Option(
            "--record", metavar="DIR", help="Keep AWS's answers there, without account numbers and names."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Undo what an interrupted run left, and go on with it.")
    ] = False,
    yes: Yes = False,
    as_json: Annotated[
        Path | None, typer.Option("--json", metavar="OUT", help="Write the report to this file as JSON.")
    ] = None,
    lab_name: LabName = None,
) -> None:
    """Ask an AWS account what only an account can answer. It shows a plan with prices first, and undoes what it makes.

    Steps about a lab want one that is deployed and idle: they start a node and stop functions. A step whose price does
    not fit --spend is not tried. The file lamplighter-verify.json in this folder has what is to be undone, until all
    of it is.

    Exit code 0: every step that was tried passed. 1: one failed. 3: AWS did not answer, or something is not undone.

    \b
    Examples:
      lamplighter verify
      lamplighter verify --steps first-deploy,schedules --yes
      lamplighter verify --spend 2 --json report.json
      lamplighter verify --resume
    """
    chosen = _chosen(steps)
    if as_json is not None:
        files.may_be_written("--json", as_json)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with recorded(record) as recording:
        account = _account(lab_name)
        recording.forget(account)
        limit = _limit(spend, account.currency)
        journal = Journal(Path(JOURNAL), f"account {account.id}, {account.region}")
        with journal.alone():
            if resume:
                journal.read()
            elif journal.path.exists():
                raise BadInput(
                    f"{journal.path}: an earlier run is unfinished, --resume undoes what it left and goes on"
                )
            if not yes:
                agreed.agree(
                    _plan(account, chosen, limit, journal),
                    "Begin?",
                    NOTHING,
                    as_json=False,
                    must="--yes agrees to the plan",
                )
            try:
                answered = course.play(
                    account, chosen, limit, journal, printing.say_on_stderr, recording.step
                )
            finally:
                _end(journal.results, as_json)
            journal.finish()
    verdicts = {result.verdict for result in journal.results}
    raise typer.Exit(1 if StepVerdict.FAILED in verdicts else 0 if answered else OUTSIDE)


def _chosen(names: str | None) -> Sequence[Step]:
    """The named steps in the order of the catalogue; all without names."""
    if names is None:
        return tuple(CATALOGUE.values())
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in CATALOGUE:
            raise BadInput(
                f"--steps: there is no step '{name[:80]}', there are {', '.join(CATALOGUE)}"
                f"{did_you_mean(name, CATALOGUE)}"
            )
    return tuple(step for name, step in CATALOGUE.items() if name in wanted)


def _limit(spend: str, currency: str) -> Money:
    try:
        return Money.of(read_amount(spend), currency)
    except ValueError as error:
        raise BadInput(f"--spend: {error}") from error


def _account(lab_name: str | None) -> Account:
    """The account of the caller, with its lab. BadInput where several labs are there and none is named."""
    cloudformation = client("cloudformation", read_seconds=FIRST_READ_SECONDS)
    clock = deployment.AwsClock(cloudformation)
    labs = {stack.lab for stack in Stacks(cloudformation).of_labs() if "LedgerTable" in stack.outputs}
    identity = elsewhere.account()
    if identity is None:
        raise OutsideFailed("sts:GetCallerIdentity did not say which account this is")
    deployed = deployment.find(lab_name) if labs or lab_name else None
    now = deployed.clock.now if deployed else clock.now
    return Account(identity, cloudformation.meta.region_name, now, deployed)


def _plan(account: Account, steps: Sequence[Step], limit: Money, journal: Journal) -> Iterator[str]:
    """What would be played, for how long and for how much, and what would not."""
    yield f"account {account.id}, {account.region}, at most {limit}:"
    for one in journal.open:
        yield f"  undo {one.what}, which an earlier run left"
    left = limit - journal.spent(limit.currency)
    done = {result.step for result in journal.results}
    for step in steps:
        if step.name in done:
            continue
        why = course.unfit(account.on(step.kind), step, left)
        if why is not None:
            yield f"  {step.name}: would not be tried: {why}"
            continue
        most = course.most(account.on(step.kind), step)
        left -= most
        minutes = round(step.longest.total_seconds() / 60)
        yield f"  {step.name}: {step.asks}; makes {step.makes}; at most {minutes} minutes and {most}"


def _end(results: Sequence[StepResult], out: Path | None) -> None:
    """The report, also of a run that ends early."""
    rows = [
        (result.step, result.verdict.value, f"{result.seconds} s", str(result.cost), result.evidence[-1])
        for result in results
    ]
    printing.table(("step", "verdict", "took", "cost at most", "last evidence"), rows)
    if out is not None:
        document = {"steps": [result.to_json() for result in results]}
        files.write("--json", out, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
