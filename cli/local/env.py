"""`lamplighter local env`: what a shell must know to speak to a running embedded cloud, as AWS's own settings."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import printing
from cli.options import AsJson
from lamplighter.errors import BadInput

#: The settings by which every AWS and Kubernetes program finds the cloud, and where `local up` writes each.
SETTINGS = {
    "AWS_ENDPOINT_URL": ("aws", "endpoint"),
    "AWS_REGION": ("aws", "region"),
    "AWS_ACCESS_KEY_ID": ("aws", "access_key_id"),
    "AWS_SECRET_ACCESS_KEY": ("aws", "secret_access_key"),
    "KUBECONFIG": ("kubernetes", "kubeconfig"),
}


def env(
    cloud: Annotated[
        Path, typer.Option("--cloud", metavar="FILE", help="What `local up --json FILE` wrote.")
    ] = Path("cloud.json"),
    as_json: AsJson = False,
) -> None:
    """Print the settings by which this shell, and what it starts, speaks to a running embedded cloud.

    \b
    Examples:
      lamplighter local env --cloud cloud.json
      eval "$(lamplighter local env --cloud cloud.json)"
      lamplighter local env --cloud cloud.json --json
    """
    settings = _settings(cloud)
    if as_json:
        printing.as_json(settings)
        return
    # A profile would win over keys where a program looks there first.
    printing.say("unset AWS_PROFILE AWS_SESSION_TOKEN")
    for name, value in settings.items():
        printing.say(f"export {name}={shlex.quote(value)}")


def _settings(cloud: Path) -> dict[str, str]:
    try:
        said: dict[str, Any] = json.loads(cloud.read_text("utf-8"))
        return {name: str(said[part][key]) for name, (part, key) in SETTINGS.items()}
    except FileNotFoundError:
        raise BadInput(f"--cloud: there is no file {cloud}, no cloud runs that wrote it") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"--cloud: {cloud} is not what `lamplighter local up --json` writes") from None
