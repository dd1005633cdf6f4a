"""People at the command line: their requests go to the lab's address, where AWS names the caller.

`alice` and `bob` may send requests at `own/`. `boss` runs the lab; a change of another's lease is requested as `boss`.
Some requests are forged.
"""

import hashlib
import json
from typing import TYPE_CHECKING, Any

from lamplighter.domain.commands import asked
from lamplighter.domain.commands.command import Verb

if TYPE_CHECKING:
    from tests.world.world import World

Json = dict[str, Any]
BOSS, PEOPLE = "boss", ("alice", "bob")
CRAFTED: tuple[Json, ...] = (
    {"by": BOSS},
    {"owner": BOSS},
    {"source": "window", "window": "evening"},
    {"opens": "2026-11-01T00:00:00Z"},
    {"opens": "an hour ago"},
    {"for_seconds": 5 * 3600},
    {"expires": "2030-01-01T00:00:00Z"},
    {"id": "cli-open-0001"},
    {"nodes": 99},
    {"for_lab": True},
)
"""What a person adds to a request to get more rights."""


def ask(world: "World", who: str, body: Json) -> str | None:
    """Sends it, and once more without an answer, as the command line does.

    Returns the command's id if it was accepted.
    """
    authority = asked.LAB if who == BOSS else asked.OWN
    event = {
        "requestContext": {
            "routeKey": f"POST /{authority}/{asked.route(Verb(body['verb']))}",
            "authorizer": {"iam": {"userArn": f"arn:aws:iam::123456789012:user/{who}"}},
        },
        "body": json.dumps({key: value for key, value in body.items() if value is not None}),
        "isBase64Encoded": False,
    }
    for _ in range(2):
        answer, error = world.functions.now(world.arn("lambda", f"function:{world.lab.name}-commands"), event)
        if error is None and answer is not None and answer["statusCode"] < 500:
            said = json.loads(answer["body"])
            return str(said["id"]) if "id" in said else None
    return None


def lease_of(source: str, command: str) -> str:
    """The lease that a person's open command makes, if it is granted."""
    return f"{source}-{hashlib.sha256(command.encode()).hexdigest()[:8]}"
