"""`lamplighter diagnose`: the causes of what is wrong with a pool, root first, live or from a saved snapshot.

Exit code 0 whatever it finds; 2 where the snapshot cannot be read, 3 where nothing outside answers.
"""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import deployment, printing
from cli.deployment import Deployment
from cli.look_after import known_names
from cli.options import LabName
from lamplighter.domain.checks.verdicts.tool_output import decoded
from lamplighter.domain.diagnosis import Diagnosis, Snapshot, diagnose
from lamplighter.errors import BadInput


def command(
    pool: Annotated[
        str | None,
        typer.Argument(
            metavar="[POOL]", help="The pool; the only one by default.", autocompletion=known_names.pools
        ),
    ] = None,
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
            sys.stderr.write(f"{key} was not read: {why}\n")
        found = diagnose(Snapshot.read(document))
    else:
        _refuse_beside_snapshot({"POOL": pool, "--save": save, "--lab-name": lab_name})
        found = diagnose(_read(snapshot))
    if as_json == "-":
        printing.as_json(found.to_json())
        return
    if as_json is not None:
        _write("--json", Path(as_json), found.to_json())
    _tell(found)


def collected(found: Deployment, pool: str | None) -> dict[str, Any]:
    """The pool's snapshot as it is now. Raises OutsideFailed where neither AWS nor Kubernetes answers."""
    from lamplighter.adapters.diagnosis import Subject, collect  # noqa: PLC0415 -- for a live diagnosis only
    from lamplighter.adapters.kubernetes.connection import Connection, connect  # noqa: PLC0415
    from lamplighter.domain.diagnosis.expected import expected  # noqa: PLC0415

    name = found.pool(pool)
    lab = found.lab
    wanted = expected(
        name,
        found.ledger.leases(name),
        found.now,
        max_nodes=lab.pools[name].max_nodes,
        instance_type=lab.pools[name].instance_type,
    )

    def connected() -> Connection:
        connection = connect(lab.cluster_name)
        # A person at a prompt does not wait for an access entry that was made just now.
        connection.patience = 0
        return connection

    return collect(Subject(lab.cluster_name, lab.nodegroup_name(name), wanted), connected, found.now)


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
