"""`lamplighter page`: writes the lab's page, the one that the lab keeps in S3."""

from pathlib import Path
from typing import Annotated

import typer

from cli import deployment, files, printing
from cli.options import AsJson, LabName
from lamplighter.adapters.aws.view_reading import read_lab
from lamplighter.pages import lab_page, wording
from lamplighter.values.instant import written


def command(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write it.")] = Path("lab.html"),
    as_json: AsJson = False,
    lab_name: LabName = None,
) -> None:
    """Write the lab's page: present leases, budget, calendar, history and findings, in one HTML file.

    \b
    Examples:
      lamplighter page
      lamplighter page --out /tmp/lab.html
      lamplighter page --json | jq -r .page
    """
    files.may_be_written("--out", out)
    deployed = deployment.find(lab_name)
    view = read_lab(deployed.ledger, deployed.lab, deployed.now)
    files.write("--out", out, lab_page.page(view, wording.of(deployed.lab)))
    if as_json:
        printing.as_json({"lab": deployed.lab.name, "at": written(deployed.now), "page": str(out)})
    else:
        printing.say(f"the page of {deployed.lab.name} is in {out}")
