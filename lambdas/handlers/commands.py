"""The commands function: takes commands of the command line and starts their workflows.

The event is one of an HTTP API (payload format 2.0) whose routes AWS_IAM authorises. The caller is in the request's
context, which only API Gateway writes, and never in the body
(https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html).
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from handlers import at_init  # noqa: F401 -- every event needs it
from lamplighter import clock
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application import logs
from lamplighter.application.environment import ENVIRONMENT, lab
from lamplighter.domain.commands import asked, orders
from lamplighter.domain.commands.caller import Caller
from lamplighter.domain.commands.command import WHOLE_LAB, Command, Verb
from lamplighter.domain.experiments.run import restoring
from lamplighter.domain.schedules.schedule import Start
from lamplighter.errors import BadInput, LamplighterError, OutsideFailed, Refused, TryLater
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason

ACCEPTED = 202
_CODES: Mapping[type[LamplighterError], int] = {
    BadInput: 400,
    Refused: 403,
    TryLater: 503,
    OutsideFailed: 502,
}


@dataclass(frozen=True)
class CommandServices:
    """The dependencies of the function: the lab, its ledger and its workflows."""

    lab: Lab
    ledger: Ledger
    workflows: Workflows
    arns: Mapping[str, str]

    def command(self, event: Mapping[str, object]) -> Command:
        """The command in the event, in the name of the caller. Raises BadInput or Refused."""
        caller, path = _let_in(event)
        command = asked.read(_body(event), path, caller, clock.now())
        if command.pool != WHOLE_LAB and command.pool not in self.lab.pools:
            pools = ", ".join(self.lab.pools)
            raise BadInput(reason("command.pool-not-in-lab", pool=command.pool[:80], pools=pools))
        run = None
        if command.verb is Verb.RESTORE:
            named = command.experiment
            run = self.ledger.experiment(named) if named else self.ledger.experiment_under_way()
            if run is None:
                raise BadInput(
                    reason("command.no-such-run", run=named[:80])
                    if named
                    else reason("command.no-run-under-way")
                )
            command = restoring(command, run)
        lease = self.ledger.lease(command.pool, command.lease) if command.lease else None
        return asked.about(command, lease, run.by if run else None)

    def start(self, command: Command) -> None:
        """Starts the command's workflow; the same command starts it once."""
        arn = self.arns[orders.workflow(command.verb)]
        self.workflows.start(Start(arn, command.id, command))


def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
    """Entry point: 202 with the command's id, under which the ledger keeps the decision; else one line of text."""
    logs.begin({}, context)
    here = command_services()
    try:
        command = here.command(event)
        here.start(command)
    except tuple(_CODES) as error:
        logs.logger().info("turned away", extra={"reason": str(error)})
        return _reply(_CODES[type(error)], {"problem": str(error)})
    logs.logger().info(
        "command started", extra={"command": command.id, "by": command.by, "pool": command.pool}
    )
    return _reply(
        ACCEPTED, {"id": command.id, "verb": command.verb.value, "pool": command.pool, "by": command.by}
    )


@cache
def command_services() -> CommandServices:
    """The dependencies of this function."""
    arns = {
        "OpenLab": ENVIRONMENT.open_lab,
        "CloseLab": ENVIRONMENT.close_lab,
        "ExtendLease": ENVIRONMENT.extend_lease,
        "Experiment": ENVIRONMENT.experiment_workflow,
        orders.CHANGES: ENVIRONMENT.change_lab,
    }
    return CommandServices(lab(), Ledger(ENVIRONMENT.ledger_table), Workflows(), arns)


def _let_in(event: Mapping[str, object]) -> tuple[Caller, str]:
    """The caller that AWS authenticated, and the path of the address."""
    context = _mapping(event.get("requestContext"))
    arn = _mapping(_mapping(context.get("authorizer")).get("iam")).get("userArn")
    if not isinstance(arn, str) or not arn.startswith("arn:"):
        raise Refused(reason("command.caller-unknown"))
    method, _, path = str(context.get("routeKey")).partition(" /")
    if method != "POST" or path not in asked.PATHS:
        route = str(context.get("routeKey"))[:80]
        raise BadInput(reason("command.no-such-path", path=route, paths=", ".join(asked.PATHS)))
    return Caller(arn), path


def _body(event: Mapping[str, object]) -> object:
    said = event.get("body")
    text = said if isinstance(said, str) else ""
    if len(text) > asked.MOST_BYTES:
        raise BadInput(reason("command.body-too-long", kib=asked.MOST_BYTES // 1024))
    try:
        return json.loads(base64.b64decode(text, validate=True) if event.get("isBase64Encoded") else text)
    except (binascii.Error, ValueError, RecursionError) as error:
        raise BadInput(reason("command.body-no-json")) from error


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _reply(code: int, body: Mapping[str, object]) -> dict[str, object]:
    headers = {"content-type": "application/json; charset=utf-8", "cache-control": "no-store"}
    return {"statusCode": code, "headers": headers, "body": json.dumps(body, ensure_ascii=False)}
