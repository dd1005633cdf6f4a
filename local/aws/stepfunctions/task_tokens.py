"""Tasks that wait for a callback with their task token: `.waitForTaskToken`.

This file owns the tokens and the three operations with a token. The interpreter decides which state gets a token, and
owns the time-out of the task.

Sources: Step Functions developer guide, "Wait for a Callback with Task Token"; API reference, SendTaskSuccess,
SendTaskFailure and SendTaskHeartbeat.
"""

import json
import secrets
from collections.abc import Callable
from typing import Any

from local.aws.api.own_services import AwsError, Document
from local.aws.stepfunctions.errors import StatesError, Stopped
from local.aws.stepfunctions.execution import Scope
from local.clock import VirtualClock

Json = Any

SUFFIX = ".waitForTaskToken"
#: The error of a task without a heartbeat in time.
HEARTBEAT = "States.HeartbeatTimeout"


class OpenTask:
    """One try of a task: its token, its last heartbeat and its answer."""

    def __init__(self, token: str, now: float) -> None:
        self.token = token
        self.heard = now
        self.answer: Json | StatesError | None = None
        self.answered = False
        self.closed = False

    def end(self, answer: Json | StatesError) -> None:
        self.answer, self.answered, self.closed = answer, True, True


class TaskTokens:
    """Public methods that boto3 knows are operations of `stepfunctions`."""

    def __init__(self, clock: VirtualClock, longest_output: int) -> None:
        self._clock = clock
        self._longest_output = longest_output
        self._tasks: dict[str, OpenTask] = {}

    def issue(self) -> OpenTask:
        """A new token for one try. Nobody can guess it."""
        task = OpenTask(secrets.token_urlsafe(96), self._clock.time())
        self._tasks[task.token] = task
        return task

    def outcome(self, task: OpenTask, heartbeat: float | None, scope: Scope) -> Json:
        """The output of SendTaskSuccess. Raises StatesError after SendTaskFailure, or without a heartbeat in time."""
        while not task.answered:
            deadline = None if heartbeat is None else task.heard + heartbeat
            in_time = self._clock.wait_until(deadline, _changed(task, scope))
            scope.check()
            if not in_time:
                raise StatesError(HEARTBEAT, "")
            if task.closed and not task.answered:
                raise Stopped  # the task's own time-out came first
        if isinstance(task.answer, StatesError):
            raise task.answer
        return task.answer

    def close(self, task: OpenTask) -> None:
        """The try has ended, so AWS refuses its token from now on."""
        task.closed = True
        self._clock.stir()

    def send_task_success(self, request: Document) -> Document:
        output = request["output"]
        if len(output.encode()) > self._longest_output:
            raise AwsError("InvalidOutput", f"Invalid Output: it has more than {self._longest_output} bytes")
        try:
            answer = json.loads(output)
        except ValueError as error:
            raise AwsError("InvalidOutput", f"Invalid Output: '{error}'") from error
        self._open(request["taskToken"]).end(answer)
        self._clock.stir()
        return {}

    def send_task_failure(self, request: Document) -> Document:
        failure = StatesError(request.get("error") or "", request.get("cause") or "")
        self._open(request["taskToken"]).end(failure)
        self._clock.stir()
        return {}

    def send_task_heartbeat(self, request: Document) -> Document:
        self._open(request["taskToken"]).heard = self._clock.time()
        self._clock.stir()
        return {}

    def _open(self, token: str) -> OpenTask:
        task = self._tasks.get(token)
        if task is None:
            raise AwsError("InvalidToken", "Invalid Token: 'Invalid token'")
        if task.closed:
            raise AwsError("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")
        return task


def _changed(task: OpenTask, scope: Scope) -> Callable[[], bool]:
    heard = task.heard
    return lambda: task.closed or task.heard != heard or scope.stopped()
