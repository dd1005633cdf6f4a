"""`lamplighter slack`: prints the manifest of the Slack app, and stores its two secrets.

docs/how-to/set-up/install-slack.md has the steps. The deployed lab answers the app's requests.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from cli import deployment, printing
from cli.look_after import slack_manifest
from cli.options import AsJson, LabName
from cli.use import agreed
from lamplighter.errors import BadInput
from lamplighter.lab.channels import Slack
from lamplighter.lab.model import Lab
from lamplighter.labfile import file as labfile

HELP = """Install the Slack app: print its manifest, store its secrets.

\b
Examples:
  lamplighter slack manifest > manifest.yaml
  lamplighter slack secret
"""
app = typer.Typer(help=HELP, no_args_is_help=True)

ADDRESS = re.compile(r"https://[^\s\"'<>]+|http://(127\.0\.0\.1|localhost)(:\d+)?/[^\s\"'<>]*")
SIGNING_SECRET = re.compile(r"[0-9a-f]{32}")
BOT_TOKEN = re.compile(r"xoxb-[A-Za-z0-9-]{10,200}")


@app.command("manifest")
def manifest(
    url: Annotated[
        str | None,
        typer.Option(
            "--url", metavar="URL", help="The address that Slack posts to; default: the deployed lab's."
        ),
    ] = None,
    lab_file: Annotated[
        Path,
        typer.Option("--lab", metavar="F", help="With --url: the lab file that names the slash command."),
    ] = Path("lab.yaml"),
    lab_name: LabName = None,
) -> None:
    """Print the app's manifest. Paste it in Slack under "Create an app from a manifest".

    \b
    Examples:
      lamplighter slack manifest
      lamplighter slack manifest --lab-name gpu-lab > manifest.yaml
      lamplighter slack manifest --lab lab.yaml --url https://example.com/slack
    """
    if url is None:
        name, slack, address = _deployed(lab_name)
    else:
        if not ADDRESS.fullmatch(url):
            raise BadInput(f"--url: {url[:80]} is no address that Slack can post to, write https://…/slack")
        lab = labfile.load(lab_file)
        name, slack, address = lab.name, _slack_of(lab, str(lab_file)), url
    printing.document(slack_manifest.manifest(name, slack.command, address))


@app.command("secret")
def secret(as_json: AsJson = False, lab_name: LabName = None) -> None:
    """Store the app's signing secret and bot token in the lab's secret, without showing them.

    It asks for both, or reads them from stdin, one a line. The lab uses them within a minute, without a deploy.

    \b
    Examples:
      lamplighter slack secret
      lamplighter slack secret --lab-name gpu-lab < two-lines.txt
    """
    from lamplighter.adapters.aws.secrets import put  # noqa: PLC0415 -- only here

    outputs = _outputs(lab_name)
    signing_secret, bot_token = _asked()
    put(outputs["SlackSecretArn"], {"signing_secret": signing_secret, "bot_token": bot_token})
    if as_json:
        printing.as_json({"secret": outputs["SlackSecretArn"], "put": True})
    else:
        printing.say(
            f"both are in {outputs['SlackSecretArn']}; type /{_command(lab_name)} help in Slack to try them"
        )


def _asked() -> tuple[str, str]:
    if agreed.somebody_is_there():
        first = typer.prompt("Signing Secret (Basic Information, App Credentials)", hide_input=True)
        second = typer.prompt("Bot User OAuth Token (OAuth & Permissions)", hide_input=True)
    else:
        first, _, second = sys.stdin.read(10_000).strip().partition("\n")
    signing_secret, bot_token = first.strip(), second.strip()
    # Neither error shows what was given: it may be part of a secret.
    if not SIGNING_SECRET.fullmatch(signing_secret):
        raise BadInput("this is no signing secret: Slack's has 32 digits and letters a to f")
    if not BOT_TOKEN.fullmatch(bot_token):
        raise BadInput("this is no bot token: Slack's begins with xoxb-")
    return signing_secret, bot_token


def _deployed(lab_name: str | None) -> tuple[str, Slack, str]:
    deployed = deployment.find(lab_name)
    return (
        deployed.name,
        _slack_of(deployed.lab, f"the deployed lab {deployed.name}"),
        _outputs(lab_name)["SlackUrl"],
    )


def _command(lab_name: str | None) -> str:
    lab = deployment.find(lab_name).lab
    return lab.slack.command if lab.slack else Slack.model_fields["command"].default


def _slack_of(lab: Lab, source: str) -> Slack:
    if lab.slack is None:
        raise BadInput(f"{source} has no slack key, add `slack: {{channel: C…}}` and deploy")
    return lab.slack


def _outputs(lab_name: str | None) -> Mapping[str, str]:
    """The outputs of the lab's controller, which has Slack's."""
    deployed = deployment.find(lab_name)
    if "SlackUrl" not in deployed.outputs:
        raise BadInput(
            f"the lab {deployed.name} has no Slack, add `slack: {{channel: C…}}` to its file and deploy"
        )
    return deployed.outputs
