"""What EventBridge Scheduler refuses at the creation of a schedule.

It checks expressions, windows, targets and their input, and roles that Scheduler may not assume.
"""

import json
import re

from local.aws.api.own_services import AwsError, Document
from local.aws.api.sdk_calls import BadCall, Call
from local.aws.api.service_context import ServiceContext
from local.aws.events.schedule_expression import At, BadExpression, Expression, parse
from local.aws.events.targets import UNIVERSAL
from local.aws.iam import Service, may_assume

_NAME = re.compile(r"[0-9a-zA-Z-_.]{1,64}")
#: Actions that only read are not universal targets.
_READING = re.compile(r"(get|describe|list|batchGet|search|select|scan|query|head|lookup|preview|poll)[A-Z]")
TEMPLATED = ("lambda", "states", "sqs", "sns", "events", "kinesis", "firehose", "codebuild", "codepipeline")


def refused(message: str) -> AwsError:
    return AwsError("ValidationException", message)


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise refused(
            f"1 validation error detected: Value '{name}' at 'name' failed to satisfy constraint: Member must"
            " satisfy regular expression pattern: [0-9a-zA-Z-_.]+ and have length less than or equal to 64"
        )


def checked_expression(request: Document, now: float) -> Expression:
    """The schedule's expression in its zone, if Scheduler accepts it."""
    text = request["ScheduleExpression"]
    try:
        expression = parse(text, request.get("ScheduleExpressionTimezone") or "UTC")
    except BadExpression as error:
        raise refused(str(error)) from error
    if isinstance(expression, At) and expression.epoch <= now:
        raise refused(f"Invalid Schedule Expression {text}. The time is in the past.")
    return expression


def check_window(window: Document) -> None:
    minutes = window.get("MaximumWindowInMinutes")
    if window["Mode"] == "OFF" and minutes is not None:
        raise refused("MaximumWindowInMinutes must not be set when the flexible time window is OFF.")
    if window["Mode"] == "FLEXIBLE" and minutes is None:
        raise refused("MaximumWindowInMinutes is required when the flexible time window is FLEXIBLE.")


def check_target(target: Document, service_context: ServiceContext, scheduler: Service) -> None:
    arn = target["Arn"]
    if arn.startswith(UNIVERSAL):
        _check_universal(arn, target.get("Input"))
    elif len(arn.split(":")) < 6 or arn.split(":")[2] not in TEMPLATED:  # noqa: PLR2004 (an ARN's parts)
        raise refused(f"Provided Arn is not in correct format or not supported: {arn}")
    elif arn.split(":")[2] == "states" and target.get("Input"):
        _json(target["Input"])
    queue = (target.get("DeadLetterConfig") or {}).get("Arn")
    if queue and not queue.startswith("arn:aws:sqs:"):
        raise refused(f"Provided Arn is not in correct format: {queue} is no SQS queue")
    _check_role(target["RoleArn"], service_context, scheduler)


def _check_universal(arn: str, text: str | None) -> None:
    service, _, action = arn.removeprefix(UNIVERSAL).partition(":")
    if _READING.match(action):
        raise refused(f"Provided Arn is not supported: {action} only reads, universal targets do not")
    try:
        call = Call(service, action)
        call.request(_json(text or "{}"))
    except BadCall as error:
        raise refused(f"Invalid RequestJson provided. Reason {error}") from error


def _json(text: str) -> Document:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise refused(f"Invalid RequestJson provided. Reason The input is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise refused("Invalid RequestJson provided. Reason The input is not a JSON object")
    return document


def _check_role(arn: str, service_context: ServiceContext, scheduler: Service) -> None:
    """Checks that the role exists and trusts Scheduler for a schedule of this group."""
    if not may_assume(arn, scheduler, service_context.state):
        raise _not_assumable()


def _not_assumable() -> AwsError:
    return refused("The execution role you provide must allow AWS EventBridge Scheduler to assume the role.")
