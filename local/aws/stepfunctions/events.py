"""The history events of one try of a task, as AWS writes them: of a function, or of any other resource."""

import json
from typing import Any

from local.aws.stepfunctions.errors import StatesError

Json = Any


def compact(data: Json) -> str:
    """JSON as the history has it."""
    return json.dumps(data, separators=(",", ":"))


class TaskEvents:
    """Each method returns (type, name of the details, details)."""

    def __init__(self, resource: str, parameters: Json, timeout: float | None) -> None:
        self._function = resource.startswith("arn:aws:lambda:")
        self._resource = resource
        self._parameters = parameters
        self._timeout = timeout
        integration = resource.removeprefix("arn:aws:states:::").rpartition(":")
        self._typed = {"resourceType": integration[0] or "lambda", "resource": integration[2]}

    def scheduled(self) -> tuple[str, str, Json]:
        limit = {"timeoutInSeconds": int(self._timeout)} if self._timeout else {}
        if self._function:
            details = {"resource": self._resource, "input": compact(self._parameters), **limit}
            return "LambdaFunctionScheduled", "lambdaFunctionScheduledEventDetails", details
        details = {**self._typed, "region": "", "parameters": compact(self._parameters), **limit}
        return "TaskScheduled", "taskScheduledEventDetails", details

    def started(self) -> tuple[str, str, Json]:
        if self._function:
            return "LambdaFunctionStarted", "", None
        return "TaskStarted", "taskStartedEventDetails", self._typed

    def succeeded(self, output: str) -> tuple[str, str, Json]:
        whole = {"output": output, "outputDetails": {"truncated": False}}
        if self._function:
            return "LambdaFunctionSucceeded", "lambdaFunctionSucceededEventDetails", whole
        return "TaskSucceeded", "taskSucceededEventDetails", {**self._typed, **whole}

    def failed(self, error: StatesError) -> tuple[str, str, Json]:
        why = {"error": error.error, "cause": error.cause}
        if self._function:
            return "LambdaFunctionFailed", "lambdaFunctionFailedEventDetails", why
        return "TaskFailed", "taskFailedEventDetails", {**self._typed, **why}

    def timed_out(self, error: str = "States.Timeout") -> tuple[str, str, Json]:
        why = {"error": error, "cause": ""}
        if self._function:
            return "LambdaFunctionTimedOut", "lambdaFunctionTimedOutEventDetails", why
        return "TaskTimedOut", "taskTimedOutEventDetails", {**self._typed, **why}
