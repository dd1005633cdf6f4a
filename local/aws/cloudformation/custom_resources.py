"""Custom resources: calls the function behind a ServiceToken, which answers at an address of the embedded cloud.

The answer may come from anywhere and much later. The limit is the resource's ServiceTimeout in virtual time, and never
while the function still works: this machine's slowness does not count as AWS's. The CDK's provider framework (a Node.js
function) does not run. It would only pass the request to the function in its USER_ON_EVENT_FUNCTION_ARN and answer with
the result, so this file does that itself.
"""

import json
import logging
import secrets
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from local.aws.api.server import Request, Response, Server
from local.aws.cloudformation.kinds import Failed, Kind, Order, Physical
from local.aws.functions.runtime import Throttled
from local.aws.functions.worker import Outcome
from local.clock import ClockEvent, VirtualClock

LOG = logging.getLogger(__name__)
PAGE = "/_lamplighter/cloudformation-response"
#: Seconds that CloudFormation waits if the resource sets no timeout.
SERVICE_TIMEOUT = 3600.0
#: The most bytes of an answer, and of its PhysicalResourceId, which must not be empty
#: (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html).
LARGEST_ANSWER, LONGEST_ID = 4096, 1024
#: Virtual seconds between two checks of a function that still works after the timeout.
LOOK_AGAIN_SECONDS = 5.0
#: Virtual seconds until a throttled function is called again.
ASK_AGAIN_SECONDS = 1.0


class Functions(Protocol):
    """What this file needs of Lambda: run one function now, with the programs that it expects from its layers."""

    def run(self, function_arn: str, payload: bytes) -> Outcome: ...

    def logs(self, function_arn: str) -> str: ...

    def at_work(self, function_arn: str) -> bool: ...


@dataclass
class _Pending:
    answered: ClockEvent
    answer: dict[str, Any] | Failed


class CustomResources:
    """All open requests to custom resources of one embedded cloud."""

    def __init__(self, server: Server, functions: Functions) -> None:
        self._functions = functions
        self._endpoint = server.endpoint
        self._pending: dict[str, _Pending] = {}
        server.page(PAGE, self._receive)
        self.kind = Kind(self._create, self._update, self._delete, frozenset({"ServiceToken"}))

    def _create(self, order: Order) -> Physical:
        return self._ask(order, {"RequestType": "Create"})

    def _update(self, order: Order, physical: Physical) -> Physical:
        old = {"OldResourceProperties": _texts(order.old), "PhysicalResourceId": physical.id}
        return self._ask(order, {"RequestType": "Update", **old})

    def _delete(self, order: Order, physical: Physical) -> None:
        self._ask(order, {"RequestType": "Delete", "PhysicalResourceId": physical.id})

    def _ask(self, order: Order, question: Mapping[str, Any]) -> Physical:
        token = secrets.token_urlsafe(16)
        request = {
            **question,
            "ServiceToken": order.get("ServiceToken"),
            "ResponseURL": f"{self._endpoint}{PAGE}/{token}",
            "StackId": order.stack_id,
            "RequestId": str(uuid.uuid4()),
            "ResourceType": order.type,
            "LogicalResourceId": order.logical_id,
            "ResourceProperties": _texts(order.properties),
        }
        handler = _framework_handler(order)
        answer = self._through(order, handler, request) if handler else self._direct(order, token, request)
        physical = Physical(
            str(
                answer.get("PhysicalResourceId") or request.get("PhysicalResourceId") or request["RequestId"]
            ),
            answer.get("Data") or {},
        )
        if answer.get("Status") != "SUCCESS":
            reason = f"Received response status [FAILED] from custom resource. Message returned: {answer.get('Reason')}"
            raise Failed(reason, physical)
        return physical

    def _direct(self, order: Order, token: str, request: dict[str, Any]) -> dict[str, Any]:
        """Sends the request to the function, and waits for the answer."""
        clock = order.around.clock
        pending = _Pending(clock.event(), {})
        self._pending[token] = pending
        function = order.get("ServiceToken")
        event = json.dumps(request).encode()
        try:
            order.call("lambda", "invoke", FunctionName=function, InvocationType="Event", Payload=event)
            seconds = float(order.get("ServiceTimeout", SERVICE_TIMEOUT))
            while not pending.answered.wait(seconds):
                if not self._functions.at_work(function) and not pending.answered.is_set():
                    last = self._functions.logs(function)[-600:]
                    raise Failed(
                        "CloudFormation did not receive a response from your Custom Resource. Please check your"
                        f" logs for requestId [{request['RequestId']}]. The function's last words: {last}"
                    )
                seconds = LOOK_AGAIN_SECONDS
            if isinstance(pending.answer, Failed):
                raise pending.answer
            return pending.answer
        finally:
            del self._pending[token]

    def _through(self, order: Order, handler: str, request: dict[str, Any]) -> dict[str, Any]:
        """Does what the CDK's framework does: calls the user's function, and answers for it."""
        outcome = self._run(handler, json.dumps(request).encode(), order.around.clock)
        result = json.loads(outcome.payload) or {}
        if outcome.failed:
            reason = f"{result.get('errorMessage')} {self._functions.logs(handler)[-1500:]}"
            return {"Status": "FAILED", "Reason": reason}
        return {"Status": "SUCCESS", **result}

    def _run(self, handler: str, event: bytes, clock: VirtualClock) -> Outcome:
        """Runs a function. Like an AWS SDK, it calls again while the account runs too many functions."""
        while True:
            try:
                return self._functions.run(handler, event)
            except Throttled:
                clock.sleep(ASK_AGAIN_SECONDS)

    def _receive(self, request: Request) -> Response:
        """Takes the answer of a function, by PUT as to a presigned S3 address. Only the first answer counts."""
        pending = self._pending.get(request.path.strip("/"))
        if request.method != "PUT" or pending is None:
            return Response(status=403)
        pending.answer = _read(request.body)
        pending.answered.set()
        return Response()


def _read(body: bytes) -> dict[str, Any] | Failed:
    """Reads an answer. For an invalid answer, the error that CloudFormation reports."""
    if len(body) > LARGEST_ANSWER:
        return Failed("Response object is too long.")
    answer: dict[str, Any] = json.loads(body)
    if not 0 < len(str(answer.get("PhysicalResourceId") or "").encode()) <= LONGEST_ID:
        return Failed("Invalid PhysicalResourceId")
    return answer


def _framework_handler(order: Order) -> str | None:
    """The user's function behind the CDK's provider framework; None for any other function."""
    name = order.get("ServiceToken")
    configuration = order.call("lambda", "get_function_configuration", FunctionName=name)
    variables = (configuration.get("Environment") or {}).get("Variables") or {}
    if "USER_IS_COMPLETE_FUNCTION_ARN" in variables:
        raise Failed("the embedded cloud does not know providers with an isComplete function")
    return variables.get("USER_ON_EVENT_FUNCTION_ARN")


def _texts(value: Any) -> Any:
    """Numbers and booleans as texts, because CloudFormation gives them so to custom resources."""
    if isinstance(value, Mapping):
        return {key: _texts(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_texts(inner) for inner in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
