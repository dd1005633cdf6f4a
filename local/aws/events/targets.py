"""How Scheduler and EventBridge call a target: the call, the role, and the handling of a failure.

A failure is retried in virtual time, and in the end goes to the dead-letter queue.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from local.aws.api.own_services import Document
from local.aws.api.sdk_calls import BadCall, Call
from local.aws.api.service_context import ServiceContext
from local.aws.iam import Service, may, refusal

LOG = logging.getLogger(__name__)
UNIVERSAL = "arn:aws:scheduler:::aws-sdk:"
#: Seconds before the first retry; each further one waits twice as long, at most the second number [est].
FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 30.0, 1800.0
TRANSIENT = (
    "ThrottlingException",
    "TooManyRequestsException",
    "Throttling",
    "ServiceUnavailable",
    "SlowDown",
)


#: The permissions that a target's policy must give to a delivery without a role.
_ACTIONS = {
    "lambda": ("lambda:InvokeFunction",),
    "logs": ("logs:CreateLogStream", "logs:PutLogEvents"),
    "sns": ("sns:Publish",),
    "sqs": ("sqs:SendMessage",),
}
#: The log stream of every log group that is a target.
_STREAM = "events"


@dataclass(frozen=True)
class Target:
    """`attempts` and `age` (seconds) limit the retries; `queue` is the ARN of the dead-letter queue."""

    arn: str
    payload: str
    role: str = ""
    attempts: int = 185
    age: float = 86400.0
    queue: str = ""
    #: The service that delivers. It assumes the role; without a role, the target's own policy must allow it.
    by: Service | None = None
    #: Parameters of SQS and EventBridge targets, as the API has them.
    more: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Failure:
    """Why a delivery failed, and how often it was tried."""

    code: str
    message: str
    retries: int
    exhausted: str


class Targets:
    """Delivers on the calling thread. Between the tries that thread waits."""

    def __init__(self, service_context: ServiceContext) -> None:
        self._service_context = service_context
        self._clock = service_context.clock

    def deliver(self, target: Target, letter: Callable[[Failure], dict[str, str]]) -> Failure | None:
        """None when it was delivered; otherwise the reason, after the dead-letter queue got it with `letter`'s
        attributes.
        """
        begun, retries, delay = self._clock.time(), 0, FIRST_RETRY_SECONDS
        while True:
            try:
                self._once(target)
            except (ClientError, BotoCoreError, BadCall, ValueError) as error:
                code, message = _named(error)
                late = self._clock.time() + delay - begun > target.age
                if _passes(error) and retries < target.attempts and not late:
                    self._clock.sleep(delay)
                    retries, delay = retries + 1, min(delay * 2, LONGEST_RETRY_SECONDS)
                    continue
                exhausted = "MaximumEventAgeInSeconds" if late else "MaximumRetryAttempts"
                failure = Failure(code, message, retries, exhausted if _passes(error) else "")
                self._bury(target, letter(failure))
                return failure
            return None

    def _once(self, target: Target) -> None:
        service, operation, request = self._call(target)
        if target.by is not None and not target.role:
            self._let_in(target.by, target.arn)
        self._service_context.call(service, operation, request, role=target.role, by=target.by)

    def _let_in(self, service: Service, arn: str) -> None:
        """Raises ClientError if the policy of the queue, topic, function or log group does not allow the service.

        The resource policies of CloudWatch Logs speak of log streams. Source: EventBridge user guide, "Using
        resource-based policies for Amazon EventBridge". The target of the CDK allows `events.amazonaws.com` alone, so
        this principal is enough.
        """
        kind = arn.split(":")[2]
        resource = f"{arn.removesuffix(':*')}:log-stream:{_STREAM}" if kind == "logs" else arn
        for action in _ACTIONS.get(kind, ()):
            if not may(service.caller(), action, resource, self._service_context.state):
                message = f"User: {service.principal} is not authorized to perform: {action} on resource: {resource}"
                raise refusal(message, action)

    def _call(self, target: Target) -> tuple[str, str, Document]:
        arn, payload, more = target.arn, target.payload, dict(target.more)
        if arn.startswith(UNIVERSAL):
            call = Call(*arn.removeprefix(UNIVERSAL).split(":", 1))
            return call.service, call.operation, call.request(json.loads(payload or "{}"))
        service, name = arn.split(":")[2], arn.split(":", 5)[5]
        if service == "lambda":
            event = (payload or "{}").encode()
            return service, "invoke", {"FunctionName": arn, "InvocationType": "Event", "Payload": event}
        if service == "states":
            return "stepfunctions", "start_execution", {"stateMachineArn": arn, "input": payload or "{}"}
        if service == "sns":
            return service, "publish", {"TopicArn": arn, "Message": payload}
        return self._message(service, name, payload, more)

    def _message(
        self, service: str, name: str, payload: str, more: dict[str, str]
    ) -> tuple[str, str, Document]:
        if service == "sqs":
            url = self._service_context.call("sqs", "get_queue_url", {"QueueName": name})["QueueUrl"]
            return service, "send_message", {"QueueUrl": url, "MessageBody": payload, **more}
        if service == "logs":
            return self._log(name.removeprefix("log-group:").removesuffix(":*"), payload)
        if service == "events":
            entry = {"Detail": payload or "{}", "EventBusName": name.removeprefix("event-bus/"), **more}
            return service, "put_events", {"Entries": [entry]}
        raise BadCall(f"the embedded cloud has no target {service}:{name}")

    def _log(self, group: str, payload: str) -> tuple[str, str, Document]:
        """The call that writes a payload to a log group."""
        stream = {"logGroupName": group, "logStreamName": _STREAM}
        try:
            self._service_context.call("logs", "create_log_stream", stream)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceAlreadyExistsException":
                raise
        event = {"timestamp": int(self._clock.time() * 1000), "message": _message_of(payload)}
        return "logs", "put_log_events", {**stream, "logEvents": [event]}

    def _bury(self, target: Target, attributes: dict[str, str]) -> None:
        if not target.queue:
            return
        name = target.queue.rpartition(":")[2]
        url = self._service_context.call("sqs", "get_queue_url", {"QueueName": name})["QueueUrl"]
        message = {
            "QueueUrl": url,
            "MessageBody": target.payload or "{}",
            "MessageAttributes": {
                key: {"DataType": "String", "StringValue": value}
                for key, value in attributes.items()
                if value
            },
        }
        try:
            if target.by is not None and not target.role:
                self._let_in(target.by, target.queue)
            self._service_context.call("sqs", "send_message", message, role=target.role, by=target.by)
        except ClientError as error:  # AWS loses it
            LOG.warning("a failed delivery to %s reaches no queue: %s", target.arn, error)


def _message_of(payload: str) -> str:
    """The message of a log event: the payload, or the message that an input transformer gives with a timestamp."""
    try:
        document = json.loads(payload)
    except ValueError:
        return payload
    if not isinstance(document, dict) or set(document) != {"timestamp", "message"}:
        return payload
    message = document["message"]
    return message if isinstance(message, str) else json.dumps(message)


def _named(error: Exception) -> tuple[str, str]:
    if isinstance(error, ClientError):
        found = error.response["Error"]
        return found["Code"], found["Message"]
    return type(error).__name__, str(error)


def _passes(error: Exception) -> bool:
    """Whether a retry may help: not if the call is wrong, or not allowed."""
    if isinstance(error, BotoCoreError):
        return True
    if not isinstance(error, ClientError):
        return False
    status = error.response["ResponseMetadata"].get("HTTPStatusCode", 500)
    return status >= 500 or status == 429 or error.response["Error"]["Code"] in TRANSIENT  # noqa: PLR2004 (HTTP)
