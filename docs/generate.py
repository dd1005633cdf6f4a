"""Writes every generated page: `make docs`. A test compares each page with the checkout.

Each page has its own module. cli.reference.files writes the lab's pages, and stacks.cost writes the cost page.
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cli.reference import event_schemas
from cli.reference import files as reference
from docs import (
    alarms,
    asynchronous,
    causes,
    checks,
    commands,
    doctor,
    experiments,
    faults,
    lab_events,
    notices,
    permissions,
    threat_model,
    verification,
)
from lamplighter.lab.model import Lab
from stacks import cost

ROOT = Path(__file__).resolve().parents[1]
PAGES = Path("docs/reference")
EVENTS = event_schemas.FOLDER / "README.md"
VERIFIED = Path("docs/how-to/set-up/verify-first-deploy.md")
ASYNCHRONOUS = PAGES / "operation" / "asynchronous.md"
THREATS = Path("docs/explanation/threat-model.md")
ENTRY = {"source": "ci.training", "principals": ["arn:aws:iam::111122223333:role/ci"]}
#: The lab of the templates: the default lab, with Slack and with a bus that one entry may use.
LAB = Lab.model_validate({"name": "gpu-lab", "slack": {}, "events": {"allow": {"training": ENTRY}}})


def of_the_programs() -> dict[Path, str]:
    """Pages that need no templates, by their path in the checkout."""
    return {
        **reference.generated(),
        **event_schemas.generated(),
        EVENTS: lab_events.page((ROOT / EVENTS).read_text("utf-8")),
        PAGES / "gpus" / "checks.md": checks.page(),
        PAGES / "commands.md": commands.page(),
        PAGES / "gpus" / "causes.md": causes.page(),
        PAGES / "operation" / "doctor.md": doctor.page(),
        PAGES / "gpus" / "experiments.md": experiments.page(),
        PAGES / "gpus" / "faults.md": faults.page(),
        PAGES / "notices.md": notices.page(),
        VERIFIED: verification.page((ROOT / VERIFIED).read_text("utf-8")),
    }


def of_the_templates(assembly: Path) -> dict[Path, str]:
    """Pages from the default lab's templates, by their path in the checkout."""
    cluster, controller = (_template(assembly, name) for name in ("cluster", "controller"))
    return {
        PAGES / "cost.md": cost.page(assembly, LAB),
        PAGES / "operation" / "permissions.md": permissions.page(
            {"controller": controller, "cluster": cluster}, LAB.name, LAB.region
        ),
        THREATS: threat_model.page(
            (ROOT / THREATS).read_text("utf-8"), (controller, cluster), LAB.name, LAB.region
        ),
        PAGES / "operation" / "alarms.md": alarms.page([controller], LAB.name),
        ASYNCHRONOUS: asynchronous.page(
            (ROOT / ASYNCHRONOUS).read_text("utf-8"), [controller, cluster], LAB.name
        ),
    }


def _template(assembly: Path, stack: str) -> Mapping[str, Any]:
    text = (assembly / f"{LAB.name}-{stack}.template.json").read_text("utf-8")
    document: Mapping[str, Any] = json.loads(text)
    return document


def main(root: Path = ROOT) -> None:
    """Write all pages, and print which ones changed."""
    from stacks.assembly import synth  # noqa: PLC0415 -- the tests have an assembly already

    with tempfile.TemporaryDirectory(prefix="lamplighter-docs-") as folder:
        pages = {**of_the_programs(), **of_the_templates(synth(LAB, Path(folder)))}
    for path, text in pages.items():
        target = root / path
        if not target.exists() or target.read_text("utf-8") != text:
            target.write_text(text, "utf-8")
            sys.stdout.write(f"{path} is new\n")


if __name__ == "__main__":
    main()
