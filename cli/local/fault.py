"""`lamplighter local fault`: switches faults of a running embedded cloud on and off, by the name of the cause.

--cloud or AWS_ENDPOINT_URL names the cloud. local/faults describes each fault.
"""

import json
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import printing
from cli.local import cloud_file
from cli.options import AsJson
from lamplighter.errors import BadInput, OutsideFailed

HELP = """Switch faults of a running embedded cloud on and off, one for each cause of `diagnose`.

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
        help="The file of `local up --json FILE`; default: the cloud at AWS_ENDPOINT_URL.",
        show_default=False,
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The fault, by the name of the cause.")]
Pool = Annotated[
    str | None,
    typer.Option("--pool", metavar="P", help="For this pool only; default: all.", show_default=False),
]


@app.command("list")
def listed(cloud: CloudFile = None, as_json: AsJson = False) -> None:
    """List every fault: what it does, what it reaches, what to expect, and for which pools it is on.

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
    """Switch a fault on. It stays on until you switch it off.

    \b
    Examples:
      lamplighter local fault on no-capacity --pool gpu --cloud cloud.json
      lamplighter local fault on operator-not-ready --json
    """
    fault = _named(name, _ask(_endpoint(cloud), {"on": name, "pool": pool}))
    if as_json:
        printing.as_json(fault)
        return
    printing.say(f"{name} is on for {', '.join(fault['on_for'])}: {fault['does']}")
    printing.say(f"reaches {fault['on']}")
    printing.say(f"expect {fault['expect']}")


@app.command("off")
def off(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The fault to switch off.")] = None,
    all_of_them: Annotated[bool, typer.Option("--all", help="Switch off every fault.")] = False,
    pool: Pool = None,
    cloud: CloudFile = None,
    as_json: AsJson = False,
) -> None:
    """Switch a fault off. What can recover by itself recovers in its usual time.

    \b
    Examples:
      lamplighter local fault off no-capacity
      lamplighter local fault off --all --cloud cloud.json
    """
    if (name is None) == (not all_of_them):
        raise BadInput("name one fault, or say --all")
    faults = _ask(_endpoint(cloud), {"off": name, "pool": pool})
    fault = None if name is None else _named(name, faults)
    if as_json:
        printing.as_json(faults if fault is None else fault)
        return
    printing.say(f"{name} is off: {fault['heals']}" if fault else "every fault is off")


def _endpoint(cloud: Path | None) -> str:
    if cloud is None:
        endpoint = os.environ.get("AWS_ENDPOINT_URL")
        if not endpoint:
            raise BadInput(
                "no embedded cloud is named: give --cloud FILE, the file of `lamplighter local up --json FILE`, "
                "or set AWS_ENDPOINT_URL"
            )
        return endpoint
    return cloud_file.read(cloud, ("aws", "endpoint"))[0]


def _named(name: str, faults: list[dict[str, Any]]) -> dict[str, Any]:
    return next(fault for fault in faults if fault["name"] == name)


def _ask(endpoint: str, change: dict[str, str | None] | None) -> list[dict[str, Any]]:
    """The faults, after the change where there is one."""
    if not endpoint.startswith(("http://127.0.0.1:", "http://localhost:")):
        raise BadInput(f"{endpoint} is no embedded cloud on this machine: faults exist only there")
    body = None if change is None else json.dumps(change).encode()
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
