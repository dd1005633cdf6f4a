"""Structured logs of every function: one JSON line a fact, never a secret and never a whole event.

Only the events of the lab's bus are logged whole: nobody needs a secret to put or to understand one.

Each line names the command, lease, pool and execution that the function works for, so that one query shows a
lease's whole story (docs/how-to/run/read-the-logs.md).
"""

from collections.abc import Mapping
from functools import cache

from aws_lambda_powertools import Logger
from aws_lambda_powertools.logging import utils

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.commands.command import Command, Verb
from lamplighter.errors import BadInput
from lamplighter.reasons.document import drawn
from lamplighter.values.clock_time import clock_time


@cache
def logger() -> Logger:
    """The function's logger. Logs of the adapters, through the standard library, have the same form."""
    made = Logger()
    utils.copy_config_to_registered_loggers(source_logger=made, include={"lamplighter", "handlers"})
    return made


def begin(event: Mapping[str, object], context: object) -> None:
    """Adds the keys of this event to every line until the next event; at least the id of the invocation."""
    made = logger()
    made.clear_state()
    request = getattr(context, "aws_request_id", None)
    made.append_keys(**about(event), **({"request": str(request)} if request else {}))


def done(event: Mapping[str, object], result: Mapping[str, object]) -> None:
    """Logs the outcome of a step, and its reason in English."""
    told = {
        name: str(drawn(result[name], ENGLISH, clock_time))
        for name in ("outcome", "reason")
        if result.get(name) is not None
    }
    logger().info("step done", extra=told | ({"step": event["step"]} if "step" in event else {}))


def about(event: Mapping[str, object]) -> dict[str, str]:
    """The command, lease, pool and execution of a workflow's step; empty for any other event."""
    run = event.get("run")
    command = run.get("command") if isinstance(run, Mapping) else None
    if not isinstance(command, Mapping):
        return {}
    named = {
        "step": event.get("step"),
        "command": command.get("id"),
        "pool": command.get("pool"),
        "lease": _lease(command),
        "execution": event.get("execution"),
    }
    return {name: str(value) for name, value in named.items() if value}


def _lease(command: Mapping[str, object]) -> object:

    if command.get("lease") or command.get("verb") != Verb.OPEN.value:
        return command.get("lease")
    try:
        return Command.from_json(command).lease_id
    except BadInput:
        return None
