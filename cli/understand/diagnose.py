"""`lamplighter diagnose`: why a pool does not work, root cause first, live or from a saved snapshot.

Exit code 0 with any findings; 2 where the snapshot cannot be read, 3 where neither AWS nor Kubernetes answers.
"""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import deployment, printing
from cli.deployment import Deployment
from cli.options import LabName, PoolName
from lamplighter.domain.checks.verdicts.tool_output import decoded
from lamplighter.domain.diagnosis import Diagnosis, Snapshot, diagnose
from lamplighter.errors import BadInput
from lamplighter.reasons.document import read


def command(
    pool: PoolName = None,
    snapshot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Judge what was saved, and ask nobody.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Keep what was read there, secrets and environment values taken out."
        ),
    ] = None,
    as_json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the findings there; - is stdout.")
    ] = None,
    lab_name: LabName = None,
) -> None:
    """Name the causes of what is wrong with a GPU pool, most fundamental first.

    Reads AWS and Kubernetes with your own credentials, or a snapshot that somebody saved.

    \b
    Examples:
      lamplighter diagnose
      lamplighter diagnose gpu --save snapshot.json
      lamplighter diagnose --snapshot snapshot.json --json -
    """
    if snapshot is None:
        document = collected(deployment.find(lab_name), pool)
        if save is not None:
            _write("--save", save, document)
        for key, why in document["not_read"].items():
            printing.say_on_stderr(f"{key} was not read: {why}")
        diagnosis = diagnose(Snapshot.read(document))
    else:
        _refuse_beside_snapshot({"POOL": pool, "--save": save, "--lab-name": lab_name})
        diagnosis = diagnose(_read(snapshot))
    if as_json == "-":
        printing.as_json(diagnosis.to_json())
        return
    if as_json is not None:
        _write("--json", Path(as_json), diagnosis.to_json())
    _print(diagnosis)


def collected(found: Deployment, pool: str | None) -> dict[str, Any]:
    """The pool's snapshot as it is now, in English. Raises OutsideFailed where neither AWS nor Kubernetes answers."""
    from lamplighter.adapters.diagnosis import collect  # noqa: PLC0415 -- for a live diagnosis only
    from lamplighter.adapters.kubernetes.connection import Connection, connect  # noqa: PLC0415
    from lamplighter.application.diagnosis.subject import subject_of  # noqa: PLC0415

    subject = subject_of(found.lab, found.ledger, found.pool(pool), found.now)

    def connected() -> Connection:
        connection = connect(found.lab.cluster_name)
        # A person at a prompt does not wait for an access entry that was made just now.
        connection.patience = 0
        return connection

    document = collect(subject, connected, found.now)
    document["not_read"] = {key: str(read(why)) for key, why in document["not_read"].items()}
    return document


def _refuse_beside_snapshot(given: dict[str, object]) -> None:
    for option, value in given.items():
        if value is not None:
            raise BadInput(f"{option}: a saved snapshot is judged as it is, leave out {option} or --snapshot")


def _write(option: str, path: Path, document: object) -> None:
    try:
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        raise BadInput(f"{option}: {path} cannot be written: {error.strerror}") from error


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


def _print(diagnosis: Diagnosis) -> None:
    for finding in diagnosis.findings:
        printing.say(f"{finding.cause.name} ({finding.cause.layer}) {finding.about}: {finding.cause.summary}")
        printing.say_each(f"    {line}" for line in finding.evidence)
        printing.say(f"  → {finding.advice}")
    for stage in diagnosis.in_progress:
        document = stage.to_json()
        printing.say(
            f"in progress: {document['stage']} of {stage.about} since {document['since']}, "
            f"normally done within {document['normal_seconds']} s"
        )
    if not diagnosis.findings and not diagnosis.in_progress:
        printing.say("Everything that was expected is there and healthy.")
