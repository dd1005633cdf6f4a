"""`lamplighter local fault`: switch what goes wrong in a running embedded cloud, by the name of the cause.

Finds the cloud by --cloud or AWS_ENDPOINT_URL; what a fault does there is local/faults' and its own to say.
"""

import json
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import printing
from cli.options import AsJson
from lamplighter.errors import BadInput, OutsideFailed

HELP = """What goes wrong in a running embedded cloud: each cause of `diagnose`, to switch on and off.

\b
Examples:
  lamplighter local fault list --cloud cloud.json
  lamplighter local fault on no-capacity --pool gpu --cloud cloud.json
  lamplighter local fault off --all --cloud cloud.json
"""
app = typer.Typer(help=HELP, no_args_is_help=True)

PATH = "/_lamplighter/faults"
SECONDS = 30.0
_BAD_REQUEST = 400
_REACH = {"pool": "a pool's", "cluster": "the cluster's", "account": "the account's"}

CloudFile = Annotated[
    Path | None,
    typer.Option(
        "--cloud",
        metavar="FILE",
        help="What `local up --json FILE` wrote; default: the cloud at AWS_ENDPOINT_URL.",
        show_default=False,
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The fault, by the name of the cause.")]
Pool = Annotated[
    str | None,
    typer.Option("--pool", metavar="P", help="For this pool alone; default: all.", show_default=False),
]


@app.command("list")
def listed(cloud: CloudFile = None, as_json: AsJson = False) -> None:
    """Every fault: what it does, whom it reaches, what to expect, and for which pools it is on.

    \b
    Examples:
      lamplighter local fault list --cloud cloud.json
      lamplighter local fault list --json
    """
    faults = _ask(_endpoint(cloud), None)
    if as_json:
        printing.as_json(faults)
        return
    for fault in faults:
        state = f"ON for {', '.join(fault['on_for'])}" if fault["on_for"] else "off"
        printing.say(f"{fault['name']} ({_REACH[fault['reach']]}): {state}")
        printing.say(f"    {fault['does']}")
        printing.say(f"    on: {fault['on']}")
        printing.say(f"    expect: {fault['expect']}")
        printing.say(f"    off: {fault['heals']}")


@app.command("on")
def on(name: Name, pool: Pool = None, cloud: CloudFile = None, as_json: AsJson = False) -> None:
    """Have it go wrong from now on, until it is switched off.

    \b
    Examples:
      lamplighter local fault on no-capacity --pool gpu --cloud cloud.json
      lamplighter local fault on operator-not-ready --json
    """
    faults = _ask(_endpoint(cloud), {"on": name, "pool": pool})
    fault = next(each for each in faults if each["name"] == name)
    if as_json:
        printing.as_json(fault)
        return
    printing.say(f"{name} is on for {', '.join(fault['on_for'])}: {fault['does']}")
    printing.say(f"reaches {fault['on']}")
    printing.say(f"expect {fault['expect']}")


@app.command("off")
def off(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The fault that is to end.")] = None,
    all_of_them: Annotated[bool, typer.Option("--all", help="Every fault that is on.")] = False,
    pool: Pool = None,
    cloud: CloudFile = None,
    as_json: AsJson = False,
) -> None:
    """Let it be as it should again; what heals by itself then heals in its own time.

    \b
    Examples:
      lamplighter local fault off no-capacity
      lamplighter local fault off --all --cloud cloud.json
    """
    if (name is None) == (not all_of_them):
        raise BadInput("name one fault, or say --all")
    faults = _ask(_endpoint(cloud), {"off": name, "pool": pool})
    fault = next((each for each in faults if each["name"] == name), None)
    if as_json:
        printing.as_json(faults if fault is None else fault)
        return
    printing.say(f"{name} is off: {fault['heals']}" if fault else "every fault is off")


def _endpoint(cloud: Path | None) -> str:
    if cloud is None:
        endpoint = os.environ.get("AWS_ENDPOINT_URL")
        if not endpoint:
            raise BadInput(
                "no embedded cloud is named, give --cloud FILE (which `lamplighter local up --json FILE` "
                "wrote) or set AWS_ENDPOINT_URL"
            )
        return endpoint
    try:
        found = json.loads(cloud.read_text("utf-8"))["aws"]["endpoint"]
    except FileNotFoundError:
        raise BadInput(f"--cloud: there is no file {cloud}, no cloud runs that wrote it") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"--cloud: {cloud} is not what `lamplighter local up --json` writes") from None
    return str(found)


def _ask(endpoint: str, wish: dict[str, str | None] | None) -> list[dict[str, Any]]:
    """The faults after the wish, if any, was granted."""
    if not endpoint.startswith(("http://127.0.0.1:", "http://localhost:")):
        raise BadInput(f"{endpoint} is no embedded cloud: faults are for the one on this machine alone")
    body = None if wish is None else json.dumps(wish).encode()
    request = urllib.request.Request(endpoint + PATH, body, {"Content-Type": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 -- checked above
            faults: list[dict[str, Any]] = json.load(answer)["faults"]
            return faults
    except urllib.error.HTTPError as error:
        if error.code == _BAD_REQUEST:
            raise BadInput(str(json.load(error)["message"])) from None
        raise OutsideFailed(f"POST {endpoint}{PATH}: {error}") from None
    except (OSError, ValueError, KeyError) as error:
        raise OutsideFailed(f"the embedded cloud at {endpoint} does not answer: {error}") from None
