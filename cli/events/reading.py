"""Reads the events of a lab's bus from the logs of the two functions that receive and tell them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from cli.deployment import Deployment
from lamplighter.adapters.aws.logs.function_logs import FunctionLogs
from lamplighter.domain.events import log_line
from lamplighter.domain.events.log_line import LoggedEvent
from lamplighter.errors import BadInput

FUNCTIONS = ("events", "lifecycle")
PATTERN = f'{{ $.message = "{log_line.TOLD}" || $.message = "{log_line.RECEIVED}" }}'


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """An event of the bus, and when its function logged it."""

    line: str
    """CloudWatch's id of the line."""
    at: datetime
    logged: LoggedEvent

    @property
    def in_reply_to(self) -> object:
        """The request that it answers, or that opened its lease."""
        return self.logged.detail.get("in_reply_to")


def bus(deployed: Deployment) -> str:
    """The name of the lab's bus. BadInput where the lab has none."""
    if deployed.lab.events is None:
        raise BadInput(f"the lab {deployed.name} has no event bus, add `events: {{}}` to its file and deploy")
    return deployed.name


def read(deployed: Deployment, since: datetime, functions: Iterable[str] = FUNCTIONS) -> list[SeenEvent]:
    """The events since an instant, oldest first. A request that came several times is there once."""
    logs, seen = FunctionLogs(), []
    for function in functions:
        for line in logs.lines(f"{bus(deployed)}-{function}", since, PATTERN):
            logged = log_line.read(line.text)
            if logged is not None:
                seen.append(SeenEvent(line.id, line.at, logged))
    by_name = {
        each.logged.event or each.line: each for each in sorted(seen, key=lambda each: each.at, reverse=True)
    }
    return sorted(by_name.values(), key=lambda each: each.at)
