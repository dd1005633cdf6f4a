"""`lamplighter doctor`: is the account ready for a lab, and is a deployed one still well; a line a check."""

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.options import AsJson, LabName
from cli.printing import as_json as print_json
from lamplighter import clock
from lamplighter.domain.doctor.checks import examine
from lamplighter.domain.doctor.facts import AwsIdentity
from lamplighter.domain.doctor.line import DoctorLine, LineOutcome, Unread
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.labfile import file as labfile

if TYPE_CHECKING:
    from lamplighter.adapters.doctor.collect import Examination
    from lamplighter.lab.model import Lab

LAB = "lab.yaml"
WORDS = {LineOutcome.OK: "ok", LineOutcome.NOT_OK: "not ok", LineOutcome.NOT_KNOWN: "not known"}
COLOURS = {LineOutcome.OK: "green", LineOutcome.NOT_OK: "bold red", LineOutcome.NOT_KNOWN: "yellow"}
SLACK_SECRET = "SlackSecretArn"  # noqa: S105 -- an output of the Slack stack


@dataclass(frozen=True)
class _Patient:
    """The lab that is looked at, what is said first, and by which clock."""

    lab: "Lab"
    title: str
    examination: "Examination"
    now: datetime | None = None


def command(
    lab: Annotated[
        str | None, typer.Option("--lab", metavar="FILE", help="Before a deploy: this lab file.")
    ] = None,
    deployed: Annotated[
        bool, typer.Option("--deployed", help="After a deploy: the lab as it is deployed, not a file.")
    ] = False,
    lab_name: LabName = None,
    as_json: AsJson = False,
) -> None:
    """See whether an account is ready for a lab, and whether a deployed lab is still well. Changes nothing.

    Looks at the lab file that --lab names; with --deployed (or --lab-name) at the deployed lab; with neither at
    lab.yaml where the folder has one, else at the deployed lab.

    Each line is ok; not ok, with what to do; or not known, with which call on what was refused. Exit code 1
    while something is not ok, 3 where AWS does not answer; what is not known fails nothing and is counted.

    \b
    Examples:
      lamplighter doctor
      lamplighter doctor --lab labs/evening.yaml
      lamplighter doctor --deployed
      lamplighter doctor --deployed --lab-name gpu-lab --json
    """
    if lab is not None and (deployed or lab_name is not None):
        raise BadInput("--lab: names a file, and --deployed or --lab-name the deployed lab; give one of them")
    patient = _patient(lab, deployed or lab_name is not None, lab_name)
    facts = patient.examination.facts()
    seen_at = facts.caller.at if isinstance(facts.caller, AwsIdentity) else None
    lines = examine(facts, patient.lab, patient.now or seen_at or clock.now())
    if as_json:
        print_json([line.to_json() for line in lines])
    else:
        _show(patient.title, lines)
    if isinstance(facts.caller, Unread):
        raise OutsideFailed(facts.caller.why)
    if any(line.outcome is LineOutcome.NOT_OK for line in lines):
        raise typer.Exit(1)


def _patient(file: str | None, deployed: bool, lab_name: str | None) -> _Patient:
    if not deployed and file is None and not Path(LAB).exists():
        deployed = True
    return _after(lab_name) if deployed else _before(file or LAB)


def _before(file: str) -> _Patient:
    from cli.plan import courses  # noqa: PLC0415 -- help needs none of it
    from lamplighter.adapters.doctor import caller  # noqa: PLC0415
    from lamplighter.adapters.doctor.collect import Examination  # noqa: PLC0415

    lab = labfile.load(file)
    region = caller.configured_region()
    # A deploy goes to the lab's region whatever the settings say, so that is where everything is looked at.
    os.environ["AWS_REGION"] = lab.region
    examination = Examination(
        lab, region=region, ledger=None, slack_secret=None, courses=partial(courses.of, lab)
    )
    return _Patient(lab, f"{file}: lab {lab.name} in {lab.region}, before a deploy", examination)


def _after(lab_name: str | None) -> _Patient:
    from cli.deployment import find  # noqa: PLC0415 -- help needs none of it
    from lamplighter.adapters.aws.cloudformation import Stacks  # noqa: PLC0415
    from lamplighter.adapters.calendars.kept import kept_courses  # noqa: PLC0415
    from lamplighter.adapters.doctor import caller  # noqa: PLC0415
    from lamplighter.adapters.doctor.collect import Examination  # noqa: PLC0415

    found = find(lab_name)
    outputs: list[Mapping[str, str]] = [stack.outputs for stack in Stacks().of_labs(found.name)]
    secrets = [each[SLACK_SECRET] for each in outputs if SLACK_SECRET in each]
    examination = Examination(
        found.lab,
        region=caller.configured_region(),
        ledger=found.ledger,
        slack_secret=secrets[0] if secrets else None,
        courses=partial(kept_courses, found.lab, found.ledger),
    )
    return _Patient(
        found.lab, f"lab {found.name} in {found.lab.region}, as it is deployed", examination, found.now
    )


def _show(title: str, lines: Sequence[DoctorLine]) -> None:
    """A table; each line's advice stands under it. Colour and wrapping on a terminal only."""
    console = Console(highlight=False)
    if console.is_terminal:
        _draw(console, title, lines)
    else:
        sys.stdout.write(f"{title}\n\n")
        sys.stdout.writelines(map(_plain, lines))
    sys.stdout.write(f"\n{counted_aloud(lines)}\n")


def _draw(console: Console, title: str, lines: Sequence[DoctorLine]) -> None:
    grid = Table.grid(padding=(0, 2))
    for wraps in (False, False, True):
        grid.add_column(no_wrap=not wraps)
    for line in lines:
        said = Text(str(line.said))
        if line.advice:
            said.append(f"\n→ {line.advice}", style="bold")
        grid.add_row(Text(WORDS[line.outcome], style=COLOURS[line.outcome]), Text(line.check), said)
    # Written by ourselves: where the reader has left, rich would end the program with its own exit code.
    with console.capture() as captured:
        console.print(Text(title), "", grid, sep="\n")
    sys.stdout.write(captured.get())


def _plain(line: DoctorLine) -> str:
    said = f"{WORDS[line.outcome]:<9}  {line.check:<18}  {line.said}\n"
    return f"{said}{'':<31}→ {line.advice}\n" if line.advice else said


def counted_aloud(lines: Sequence[DoctorLine]) -> str:
    """`18 ok, 1 not ok, 2 not known`: what nobody can tell is never taken for well."""
    count = Counter(line.outcome for line in lines)
    return ", ".join(f"{count[outcome]} {WORDS[outcome]}" for outcome in LineOutcome)
