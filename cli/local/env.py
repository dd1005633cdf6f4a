"""`lamplighter local env`: prints the AWS settings with which a shell reaches a running embedded cloud."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from cli import printing
from cli.local import cloud_file
from cli.options import AsJson

#: The settings with which AWS and Kubernetes programs find the cloud, and where the cloud's file has each. boto3 reads
#: AWS_DEFAULT_REGION, other SDKs AWS_REGION.
SETTINGS = {
    "AWS_ENDPOINT_URL": ("aws", "endpoint"),
    "AWS_REGION": ("aws", "region"),
    "AWS_DEFAULT_REGION": ("aws", "region"),
    "AWS_ACCESS_KEY_ID": ("aws", "access_key_id"),
    "AWS_SECRET_ACCESS_KEY": ("aws", "secret_access_key"),
    "KUBECONFIG": ("kubernetes", "kubeconfig"),
}


def env(
    cloud: Annotated[
        Path, typer.Option("--cloud", metavar="FILE", help="The file of `local up --json FILE`.")
    ] = Path("cloud.json"),
    as_json: AsJson = False,
) -> None:
    """Print the settings with which your shell, and programs that it starts, reach a running embedded cloud.

    \b
    Examples:
      lamplighter local env --cloud cloud.json
      eval "$(lamplighter local env --cloud cloud.json)"
      lamplighter local env --cloud cloud.json --json
    """
    settings = dict(zip(SETTINGS, cloud_file.read(cloud, *SETTINGS.values()), strict=True))
    if as_json:
        printing.as_json(settings)
        return
    # Some programs prefer a profile to keys, and an SDK told to ignore endpoints would call AWS.
    printing.say(
        "unset AWS_PROFILE AWS_DEFAULT_PROFILE AWS_SESSION_TOKEN AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
    )
    for name, value in settings.items():
        printing.say(f"export {name}={shlex.quote(value)}")
