"""What a Task state calls: a function by its ARN, the optimised integrations in use, and any aws-sdk action.

Each call uses the state machine's role, and has errors with the names that Retry and Catch use.
"""

import json
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local.aws.api.own_services import Document
from local.aws.api.sdk_calls import BadCall, Call
from local.aws.api.service_context import ServiceContext
from local.aws.iam import Service, refuse_untrusted
from local.aws.stepfunctions import kubernetes_tasks
from local.aws.stepfunctions.errors import StatesError
from local.aws.stepfunctions.execution import Execution, Scope
from local.aws.stepfunctions.task_tokens import SUFFIX, OpenTask, TaskTokens

Json = Any

#: Members of the optimised integrations that may be JSON although the service takes text.
TEXTS = {
    ("sfn", "startExecution"): "Input",
    ("sqs", "sendMessage"): "MessageBody",
    ("sns", "publish"): "Message",
}
OPTIMISED = {"states": "sfn", "sqs": "sqs", "sns": "sns", "dynamodb": "dynamodb", "events": "eventbridge"}
#: The prefix of the errors of optimised integrations, if it differs from aws-sdk's.
OPTIMISED_PREFIXES = {"dynamodb": "DynamoDB", "sfn": "StepFunctions", "sns": "SNS", "sqs": "SQS"}
#: The actions of EKS that reach the Kubernetes API of a cluster.
KUBERNETES = {("eks", "runJob"), ("eks", "call")}
SYNC_POLL_SECONDS = 2.0


@dataclass(frozen=True)
class _Role:
    """The role in whose name a task calls."""

    arn: str
    taken_by: Service


@dataclass(frozen=True)
class Waits:
    """A task with a token goes on after its call until the callback. `heartbeat` is in seconds."""

    token: OpenTask | None = None
    heartbeat: float | None = None


class Tasks:
    """`run` is called on the execution's thread, and returns the task's result."""

    def __init__(self, service_context: ServiceContext, tokens: TaskTokens) -> None:
        self._service_context = service_context
        self.tokens = tokens

    def run(self, resource: str, parameters: Json, execution: Execution, scope: Scope, waits: Waits) -> Json:
        """The result, or StatesError."""
        result = self._called(resource.removesuffix(SUFFIX), parameters, execution, scope)
        if waits.token is None:
            return result
        return self.tokens.outcome(waits.token, waits.heartbeat, scope)

    def _called(self, resource: str, parameters: Json, execution: Execution, scope: Scope) -> Json:
        role = _Role(execution.machine.role, Service("states.amazonaws.com", execution.machine.arn))
        if resource.startswith("arn:aws:lambda:"):
            return self._invoke({"FunctionName": resource, "Payload": parameters}, role)["Payload"]
        integration = resource.removeprefix("arn:aws:states:::")
        if integration == "lambda:invoke":
            return self._invoke(parameters, role)
        if integration.startswith("aws-sdk:"):
            _, service, action = integration.split(":", 2)
            return self._call(Call(service, action), parameters, role, "")
        service, action = integration.split(":", 1)
        action, _, sync = action.partition(".")
        if (service, action) in KUBERNETES:
            return self._kubernetes(action, parameters, scope, role, sync=bool(sync))
        if service not in OPTIMISED:
            raise StatesError("States.Runtime", f"The embedded cloud does not know the resource {resource}")
        if service == "events":
            return self._put_events(action, parameters, execution, role)
        result = self._optimised(OPTIMISED[service], action, parameters, role)
        return self._outcome(result["ExecutionArn"], sync, scope, role) if sync else result

    def _optimised(self, service: str, action: str, parameters: Json, role: _Role) -> Json:
        member = TEXTS.get((service, action))
        given = dict(parameters)
        if member and member in given and not isinstance(given[member], str):
            given[member] = json.dumps(given[member], separators=(",", ":"))
        return self._call(Call(service, action), given, role, OPTIMISED_PREFIXES.get(service, ""))

    def _kubernetes(self, action: str, parameters: Json, scope: Scope, role: _Role, *, sync: bool) -> Json:
        try:
            refuse_untrusted(role.arn, role.taken_by, self._service_context.state)
        except ClientError as error:
            raise StatesError("EKS.AccessDeniedException", str(error)) from error
        self._refuse_private(parameters)
        session = {"RoleArn": role.arn, "RoleSessionName": "states"}
        credentials = self._service_context.call("sts", "assume_role", session)["Credentials"]
        cluster = kubernetes_tasks.Cluster(parameters, credentials, self._service_context.region)
        if action == "call":
            return kubernetes_tasks.call(cluster, parameters)
        return kubernetes_tasks.run_job(cluster, parameters, scope, sync=sync)

    def _refuse_private(self, parameters: Json) -> None:
        try:
            named = {"name": str(parameters.get("ClusterName"))}
            described = self._service_context.call("eks", "describe_cluster", named)["cluster"]
        except ClientError:
            return  # a cluster of another account is known by its address alone
        if parameters.get("Endpoint") == described.get("endpoint"):
            kubernetes_tasks.refuse_private(described)

    def _put_events(self, action: str, parameters: Json, execution: Execution, role: _Role) -> Json:
        """Each event names the execution and the state machine. An entry that EventBridge refuses fails the task.

        Source: Step Functions developer guide, "Add EventBridge events with Step Functions".
        """
        entries = []
        for entry in parameters.get("Entries") or []:
            detail = entry.get("Detail", "")
            text = detail if isinstance(detail, str) else json.dumps(detail, separators=(",", ":"))
            resources = [*(entry.get("Resources") or []), execution.arn, execution.machine.arn]
            entries.append({**entry, "Detail": text, "Resources": resources})
        service = OPTIMISED["events"]
        result = self._optimised(service, action, {**parameters, "Entries": entries}, role)
        if result.get("FailedEntryCount"):
            raise StatesError("EventBridge.FailedEntry", json.dumps(result, separators=(",", ":")))
        return result

    def _call(self, call: Call, parameters: Json, role: _Role, prefix: str) -> Json:
        try:
            answer = self._service_context.call(
                call.service, call.operation, call.request(parameters), role=role.arn, by=role.taken_by
            )
        except BadCall as error:
            raise StatesError("States.Runtime", str(error)) from error
        except ClientError as error:
            name = call.error(error)
            name = f"{prefix}.{name.partition('.')[2]}" if prefix else name
            raise StatesError(name, _sentence(error, call.prefix)) from error
        except BotoCoreError as error:
            raise StatesError(f"{prefix or call.prefix}.SdkClientException", str(error)) from error
        return call.reply(answer)

    def _invoke(self, parameters: Document, role: _Role) -> Document:
        request = {key: value for key, value in parameters.items() if key != "Payload"}
        payload = json.dumps(parameters.get("Payload", {})).encode()
        try:
            answer = self._service_context.call(
                "lambda", "invoke", {**request, "Payload": payload}, role=role.arn, by=role.taken_by
            )
        except ClientError as error:
            code = error.response["Error"]["Code"]
            name = code if code.endswith("Exception") else "AWSLambdaException"
            raise StatesError(f"Lambda.{name}", _sentence(error, "Lambda")) from error
        except BotoCoreError as error:
            raise StatesError("Lambda.SdkClientException", str(error)) from error
        text = answer["Payload"].read().decode()
        if answer.get("FunctionError"):
            raise _function_error(text)
        return {
            "ExecutedVersion": answer.get("ExecutedVersion", "$LATEST"),
            "Payload": json.loads(text) if text else None,
            "SdkHttpMetadata": {"HttpStatusCode": 200},
            "SdkResponseMetadata": {},
            "StatusCode": answer["StatusCode"],
        }

    def _outcome(self, arn: str, sync: str, scope: Scope, role: _Role) -> Json:
        """Waits for the started execution. Returns its description, with the output as JSON for `.sync:2`."""
        describe = Call("sfn", "describeExecution")
        while True:
            scope.sleep_until(scope.clock.time() + SYNC_POLL_SECONDS)
            described: Document = self._call(describe, {"ExecutionArn": arn}, role, "StepFunctions")
            if described["Status"] != "RUNNING":
                break
        if described["Status"] != "SUCCEEDED":
            raise StatesError("States.TaskFailed", json.dumps(described))
        if sync == "sync:2":
            described["Input"] = json.loads(described["Input"])
            described["Output"] = json.loads(described["Output"])
        return described


def _function_error(text: str) -> StatesError:
    try:
        error = json.loads(text).get("errorType") or "Lambda.Unknown"
    except (ValueError, AttributeError):
        error = "Lambda.Unknown"
    return StatesError(error, text)


def _sentence(error: ClientError, service: str) -> str:
    """The error text in the words of the Java SDK."""
    metadata = error.response["ResponseMetadata"]
    return (
        f"{error.response['Error']['Message']} (Service: {service}, Status Code:"
        f" {metadata.get('HTTPStatusCode')}, Request ID: {metadata.get('RequestId')})"
    )
