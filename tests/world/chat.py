"""People in Slack press buttons, after Slack's signature was verified.

`UALI` and `UBEA` may not open a pool, so they send a request. `UTOM` may open a little, and approves requests. The
names of people come from Slack, so they are defined here.
"""

import itertools
import json
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.environment import lab
from lamplighter.application.slack.answering import respond
from lamplighter.application.slack.context import NotStarted, SlackServices
from lamplighter.application.slack.receiving import TRIES, SignedRequest
from lamplighter.domain.commands import orders
from lamplighter.domain.people.person import Person
from lamplighter.domain.slack.asked.request import Press, Request, SlashCommand
from tests.world.people import lease_of

if TYPE_CHECKING:
    from tests.world.world import World

Json = dict[str, Any]
STUDENTS, TEACHER = ("UALI", "UBEA"), "UTOM"
HOOK = "https://hooks.slack.com/commands/T1/1/x"
MOST, LONGEST = 2, timedelta(hours=2)
SLACK: Json = {
    "roles": {
        "teachers": {
            "members": [TEACHER],
            "may": ["open", "extend"],
            "max_nodes": MOST,
            "longest": "2h",
        }
    }
}
_WORKFLOWS = {"OpenLab": "open", "CloseLab": "close", "ExtendLease": "extend", orders.CHANGES: "change"}


def written(user: str) -> str:
    """How owner and by are written for a person."""
    return f"{user.lower()} ({user})"


class _Directory:
    """The names of people, as Slack returns them."""

    def person(self, user: str, name: str, groups: Collection[str], patience_seconds: float) -> Person:
        return Person(user, name or user.lower())


class Chat:
    """The lab's Slack; `asks` are the requests so far, by their keys."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._keys = (f"k{number:07}" for number in itertools.count())
        self.asks: list[str] = []
        self.last = ""
        """The key of the last request."""
        self.said: list[str] = []
        """The lab's own answers. The board tells decisions, and a press that died got no answer."""

    def presses(self, user: str, action: str, **value: object) -> str:
        """Somebody presses a button of ours. Returns the lease that it would make."""
        key = self._heard(Press("T1", user, user.lower(), "C1", action, json.dumps(value), HOOK))
        if action == "ask":
            self.asks.append(key)
        return lease_of("slack", f"slack-open-{key}")

    def types(self, user: str, text: str) -> None:
        """Somebody types the slash command."""
        self._heard(SlashCommand("T1", user, user.lower(), "C1", "/gpu", text, HOOK))

    def _heard(self, request: Request) -> str:
        world, key = self._world, next(self._keys)
        self.last = key
        made = world.now.replace(microsecond=0)

        signed = SignedRequest(request, key, made, made)

        def answer() -> None:
            try:
                respond(signed, self._office())
            except NotStarted as error:
                # The function names the message to its queue, which hands it out again.
                raise error.said from error

        for _ in range(TRIES):
            _, failure = world.functions.at_once("slack", "answer", answer)
            if failure is None:
                break
        return key

    def _told(self, _url: str, said: Mapping[str, object]) -> None:
        self.said.append(str(said["text"]))

    def _office(self) -> SlackServices:
        state_machine = f"stateMachine:{self._world.lab.name}"
        arns = {
            name: self._world.arn("states", f"{state_machine}-{each}") for name, each in _WORKFLOWS.items()
        }
        return SlackServices(
            lab(), Ledger(f"{self._world.lab.name}-ledger"), Workflows(), _Directory(), arns, self._told
        )
