"""`lamplighter diagnose`: from a snapshot file to the causes of what is wrong, root first.

Exit code 0 whatever it finds; 2 where the snapshot cannot be read.
"""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli import printing
from lamplighter.domain.diagnosis import Diagnosis, Snapshot, diagnose
from lamplighter.domain.tool_output import decoded
from lamplighter.errors import BadInput


def command(
    snapshot: Annotated[Path, typer.Option(metavar="FILE", help="What AWS and Kubernetes printed, as JSON.")],
    as_json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the findings there; - is stdout.")
    ] = None,
) -> None:
    """Name the causes of what is wrong with a GPU pool, most fundamental first.

    \b
    Examples:
      lamplighter diagnose --snapshot snapshot.json
      lamplighter diagnose --snapshot snapshot.json --json -
    """
    found = diagnose(_read(snapshot))
    document = json.dumps(found.to_json(), indent=2, ensure_ascii=False) + "\n"
    if as_json == "-":
        sys.stdout.write(document)
        return
    if as_json is not None:
        try:
            Path(as_json).write_text(document, "utf-8")
        except OSError as error:
            raise BadInput(f"--json: {as_json} cannot be written: {error.strerror}") from error
    _tell(found)


def _read(path: Path) -> Snapshot:
    try:
        document: object = json.loads(decoded(path.read_bytes()))
    except FileNotFoundError as error:
        raise BadInput(f"--snapshot: there is no file {path}, name the snapshot's file") from error
    except OSError as error:
        raise BadInput(f"--snapshot: {path} cannot be read: {error.strerror}") from error
    except RecursionError as error:
        raise BadInput(f"{path}: it is nested too deeply, write one snapshot as JSON") from error
    except json.JSONDecodeError as error:
        raise BadInput(
            f"{path}:{error.lineno}: it is no JSON: {error.msg}, write one snapshot as JSON"
        ) from error
    except ValueError as error:
        raise BadInput(f"{path}: it is no JSON: {error}") from error
    try:
        return Snapshot.read(document)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error


def _tell(found: Diagnosis) -> None:
    for finding in found.findings:
        printing.say(f"{finding.cause.name} ({finding.cause.layer}) {finding.about}: {finding.cause.summary}")
        for line in finding.evidence:
            printing.say(f"    {line}")
        printing.say(f"  → {finding.cause.advice}")
    for stage in found.in_progress:
        document = stage.to_json()
        printing.say(
            f"in progress: {document['stage']} of {stage.about} since {document['since']}, "
            f"normally done within {document['normal_seconds']} s"
        )
    if not found.findings and not found.in_progress:
        printing.say("All that was expected is there and healthy.")
