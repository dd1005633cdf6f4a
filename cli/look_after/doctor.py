"""`lamplighter doctor`: checks whether an account is ready for a lab, or whether a deployed lab is healthy."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli import printing
from cli.options import AsJson, LabName, Yes
from cli.printing import drawn, in_line
from lamplighter import clock
from lamplighter.domain.doctor.checks import examine
from lamplighter.domain.doctor.facts import AwsIdentity
from lamplighter.domain.doctor.line import DoctorLine, LineOutcome, Unread
from lamplighter.errors import BadInput, OutsideFailed
from lamplighter.labfile import file as labfile
from lamplighter.reasons.fields import SHOWN, to_document
from lamplighter.values import zones

if TYPE_CHECKING:
    from lamplighter.adapters.doctor.collect import Examination
    from lamplighter.lab.model import Lab

LAB = "lab.yaml"
WORDS = {LineOutcome.OK: "ok", LineOutcome.NOT_OK: "not ok", LineOutcome.NOT_KNOWN: "not known"}
COLOURS = {LineOutcome.OK: "green", LineOutcome.NOT_OK: "bold red", LineOutcome.NOT_KNOWN: "yellow"}
SLACK_SECRET = "SlackSecretArn"  # noqa: S105 -- an output of the controller


@dataclass(frozen=True)
class _Target:
    """The lab that is examined, the title of the answer, and the time by AWS where it is known already."""

    lab: "Lab"
    title: str
    examination: "Examination"
    now: datetime | None = None


def command(
    lab: Annotated[
        str | None, typer.Option("--lab", metavar="FILE", help="Check this lab file, before a deploy.")
    ] = None,
    deployed: Annotated[bool, typer.Option("--deployed", help="Check the deployed lab, not a file.")] = False,
    lab_name: LabName = None,
    request: Annotated[
        bool, typer.Option("--request", help="Ask AWS for the quotas that are too small, after showing them.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Check whether an account is ready for a lab, or whether a deployed lab is healthy.

    It changes nothing, except with --request: then it shows the quotas that are too small, asks, and sends AWS a
    request for each that has none open. AWS takes hours to days. With --json the answer has `lines` and `requests`.

    --lab names the lab file to check. --deployed or --lab-name checks the deployed lab. Without them it checks
    lab.yaml where the folder has one, or else the deployed lab.

    A line is ok; not ok, with what to do; or not known, with the call that AWS refused. Exit code 1: something is
    not ok. 3: AWS does not answer. A line that is not known is counted, and the exit code stays 0.

    \b
    Examples:
      lamplighter doctor
      lamplighter doctor --lab labs/evening.yaml
      lamplighter doctor --deployed
      lamplighter doctor --deployed --lab-name gpu-lab --json
      lamplighter doctor --lab labs/evening.yaml --request
    """
    if yes and not request:
        raise BadInput("--yes: answers the question of --request; give both")
    if lab is not None and (deployed or lab_name is not None):
        raise BadInput(
            "--lab: names a file, and --deployed or --lab-name names the deployed lab; give one of them"
        )
    target = _target(lab, deployed or lab_name is not None, lab_name)
    facts = target.examination.facts()
    aws_time = facts.caller.at if isinstance(facts.caller, AwsIdentity) else None
    zone = zones.zone(target.lab.time_zone)
    examined = examine(facts, target.lab, target.now or aws_time or clock.now())
    lines = [replace(line, said=drawn(line.said, zone), advice=drawn(line.advice, zone)) for line in examined]
    if not as_json:
        _show(target.title, lines)
    documents: object = [to_document(line, SHOWN) for line in lines]
    if request:
        from cli.look_after import quota_requests  # noqa: PLC0415 -- help needs none of it

        increases = quota_requests.request(examined, yes=yes, as_json=as_json)
        documents = {"lines": documents, "requests": [asdict(one) for one in increases]}
    if as_json:
        printing.as_json(documents)
    if isinstance(facts.caller, Unread):
        raise OutsideFailed(facts.caller.why)
    if any(line.outcome is LineOutcome.NOT_OK for line in lines):
        raise typer.Exit(1)


def _target(file: str | None, deployed: bool, lab_name: str | None) -> _Target:
    if not deployed and file is None and not Path(LAB).exists():
        deployed = True
    return _after(lab_name) if deployed else _before(file or LAB)


def _before(file: str) -> _Target:
    from cli.plan import courses  # noqa: PLC0415 -- help needs none of these
    from lamplighter.adapters.doctor import caller  # noqa: PLC0415
    from lamplighter.adapters.doctor.collect import Examination  # noqa: PLC0415

    lab = labfile.load(file)
    region = caller.configured_region()
    # A deploy goes to the lab's region whatever the settings say, so everything is read there.
    os.environ["AWS_REGION"] = lab.region
    examination = Examination(
        lab, region=region, ledger=None, slack_secret=None, courses=partial(courses.of, lab)
    )
    return _Target(lab, f"{file}: lab {lab.name} in {lab.region}, before a deploy", examination)


def _after(lab_name: str | None) -> _Target:
    from cli.deployment import find  # noqa: PLC0415 -- help needs none of it
    from lamplighter.adapters.aws.kept_courses import kept_courses  # noqa: PLC0415
    from lamplighter.adapters.doctor import caller  # noqa: PLC0415
    from lamplighter.adapters.doctor.collect import Examination  # noqa: PLC0415

    deployed = find(lab_name)
    examination = Examination(
        deployed.lab,
        region=caller.configured_region(),
        ledger=deployed.ledger,
        slack_secret=deployed.outputs.get(SLACK_SECRET),
        courses=partial(kept_courses, deployed.lab, deployed.ledger),
    )
    return _Target(
        deployed.lab,
        f"lab {deployed.name} in {deployed.lab.region}, as it is deployed",
        examination,
        deployed.now,
    )


def _show(title: str, lines: Sequence[DoctorLine]) -> None:
    """A table with the advice under each line. Colour and wrapping are for terminals."""
    console = printing.Console(highlight=False)
    if console.is_terminal:
        _draw(console, title, lines)
    else:
        printing.say_each([title, "", *chain.from_iterable(map(_plain, lines))])
    printing.say_each(["", counts(lines)])


def _draw(console: printing.Console, title: str, lines: Sequence[DoctorLine]) -> None:
    grid = Table.grid(padding=(0, 2))
    for wraps in (False, False, True):
        grid.add_column(no_wrap=not wraps)
    for line in lines:
        text = Text(in_line(str(line.said)))
        if line.advice:
            text.append(f"\n→ {in_line(str(line.advice))}", style="bold")
        grid.add_row(Text(WORDS[line.outcome], style=COLOURS[line.outcome]), Text(line.check), text)
    console.write(Text(title), "", grid, sep="\n")


def _plain(line: DoctorLine) -> Iterator[str]:
    yield f"{WORDS[line.outcome]:<9}  {line.check:<18}  {line.said}"
    if line.advice:
        yield f"{'':<31}→ {line.advice}"


def counts(lines: Sequence[DoctorLine]) -> str:
    """`18 ok, 1 not ok, 2 not known`."""
    count = Counter(line.outcome for line in lines)
    return ", ".join(f"{count[outcome]} {WORDS[outcome]}" for outcome in LineOutcome)
