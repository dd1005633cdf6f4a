"""`lamplighter verdict`: judges the output of a GPU tool from a file, without a cluster.

The exit code is 0 only for passed, 1 for failed and not proven, and 2 for bad arguments.
"""

import json
from pathlib import Path
from typing import Annotated

import typer

from cli import printing
from lamplighter.domain.checks.verdicts.of import PARSERS, verdict_of
from lamplighter.domain.checks.verdicts.verdict import Verdict
from lamplighter.errors import BadInput


def command(
    check: Annotated[
        str, typer.Option(metavar="nvidia-smi|dcgm|nccl", help="The tool that printed the output.")
    ],
    instance_type: Annotated[str, typer.Option(help="The node's EC2 instance type, like g5.xlarge.")],
    gpus: Annotated[int, typer.Option(help="How many GPUs take part: rows, GPU entities or ranks.")],
    exit_code: Annotated[int, typer.Option(help="The tool's own exit code.")],
    output: Annotated[Path, typer.Option(metavar="FILE", help="The file with the tool's raw output.")],
    as_json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Write the verdict as JSON to this file; - is stdout."),
    ] = None,
) -> None:
    """Judge a GPU check from its tool's raw output.

    \b
    Examples:
      nvidia-smi --query-gpu=name,uuid,ecc.errors.uncorrected.volatile.total --format=csv > out
      lamplighter verdict --check nvidia-smi --instance-type g5.xlarge --gpus 1 --exit-code 0 --output out
    """
    if check not in PARSERS:
        raise BadInput(f"--check: '{check[:80]}' is not a check; write one of {', '.join(PARSERS)}")
    if gpus < 1:
        raise BadInput(f"--gpus: {gpus} is too small; write a number of at least 1")
    if not instance_type.strip():
        raise BadInput("--instance-type: it is empty; write an EC2 instance type like g5.xlarge")
    verdict = verdict_of(check, instance_type, gpus, exit_code, _read(output))
    tell(verdict, as_json)
    raise typer.Exit(0 if verdict.passed else 1)


def tell(verdict: Verdict, as_json: str | None) -> None:
    """Print the verdict as a line, write it as JSON, or both."""
    document = json.dumps(verdict.to_json(), indent=2, ensure_ascii=False)
    if as_json == "-":
        printing.json_text(document)
        return
    if as_json is not None:
        try:
            Path(as_json).write_text(f"{document}\n", "utf-8")
        except OSError as error:
            raise BadInput(f"--json: {as_json} cannot be written: {error.strerror}") from error
    printing.say(f"{verdict.outcome.value}: {verdict.reason}")


def _read(output: Path) -> bytes:
    try:
        return output.read_bytes()
    except FileNotFoundError as error:
        raise BadInput(
            f"--output: the file {output} does not exist; name the file with the output"
        ) from error
    except OSError as error:
        raise BadInput(f"--output: {output} cannot be read: {error.strerror}") from error
