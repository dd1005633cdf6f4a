"""Runs the Amazon States Language (JSONPath) in virtual time: one state after the other, with Retry and Catch.

Parallel and Map run each branch as a fiber of its own. tasks.py calls the target of a task.
"""

import random
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from local.aws.stepfunctions.choice import holds
from local.aws.stepfunctions.errors import StatesError, Stopped
from local.aws.stepfunctions.events import TaskEvents, compact
from local.aws.stepfunctions.execution import Execution, Scope, instant
from local.aws.stepfunctions.paths import expression, fill, put, read
from local.aws.stepfunctions.retries import caught, retry_delay
from local.aws.stepfunctions.task_tokens import HEARTBEAT, SUFFIX, OpenTask
from local.aws.stepfunctions.tasks import Tasks, Waits
from local.background_task import BackgroundTask

Json = Any

DEFAULT_TASK_SECONDS = 99_999_999
MOST_BRANCHES = 40


class Interpreter:
    """`run` runs an execution from its start to its end, on the calling thread."""

    def __init__(self, tasks: Tasks, seed: int = 0) -> None:
        self._tasks = tasks
        self._chance = random.Random(seed)  # noqa: S311 (jitter)

    def run(self, execution: Execution, data: Json) -> None:
        try:
            output = Run(self._tasks, self._chance, execution, execution, _context(execution, data)).states(
                execution.machine.definition, data
            )
            execution.succeed(output)
        except StatesError as error:
            execution.fail(error.error, error.cause)
        except Stopped:
            return
        except Exception as error:  # noqa: BLE001 (an execution must end, whatever is wrong with it)
            execution.fail(
                "States.Runtime", f"An error occurred while executing the state machine: {error!r}"
            )


class Run:
    """One line of states: of the execution itself, or of a branch. `scope` can stop it."""

    def __init__(
        self, tasks: Tasks, chance: random.Random, execution: Execution, scope: Scope, context: Json
    ) -> None:
        self._tasks = tasks
        self._chance = chance
        self._execution = execution
        self._scope = scope
        self._clock = execution.clock
        self._context = context
        self._last_event = -1

    def states(self, definition: Json, data: Json) -> Json:
        """Runs from StartAt to an end. Returns the output of the last state."""
        name: str | None = definition["StartAt"]
        while name is not None:
            state = definition["States"][name]
            self._scope.check()
            self._execution.count_transition()
            kind = state["Type"]
            details = {"name": name, "input": compact(data), "inputDetails": {"truncated": False}}
            self._event(f"{kind}StateEntered", "stateEnteredEventDetails", details)
            self._context["State"] = {
                "Name": name,
                "EnteredTime": instant(self._clock.now()),
                "RetryCount": 0,
            }
            data, name = self._persistently(name, state, data)
            self._scope.check()
            if kind != "Fail":
                details = {
                    "name": self._context["State"]["Name"],
                    "output": compact(data),
                    "outputDetails": {"truncated": False},
                }
                self._event(f"{kind}StateExited", "stateExitedEventDetails", details)
        return data

    def _persistently(self, name: str, state: Json, data: Json) -> tuple[Json, str | None]:
        """The state's output and the next state, after its retriers and catchers."""
        used: dict[int, int] = {}
        while True:
            try:
                return self._one(name, state, data)
            except StatesError as error:
                delay = retry_delay(state, error, used, self._chance)
                if delay is None:
                    return self._caught(name, state, data, error)
                self._scope.sleep_until(self._clock.time() + delay)
                self._context["State"]["RetryCount"] += 1
                self._execution.count_transition()

    def _caught(self, name: str, state: Json, data: Json, error: StatesError) -> tuple[Json, str | None]:
        output, following = caught(state, data, error)
        return self._execution.limits.checked(output, name), following

    def _one(self, name: str, state: Json, data: Json) -> tuple[Json, str | None]:
        kind = state["Type"]
        following = None if state.get("End") else state.get("Next")
        given = self._selected(state.get("InputPath", "$"), data)
        if kind == "Choice":
            return self._selected(state.get("OutputPath", "$"), given), self._chosen(name, state, given)
        if kind == "Fail":
            raise StatesError(self._said(state, "Error", given), self._said(state, "Cause", given))
        if kind == "Wait":
            self._scope.sleep_until(self._wait_end(state, given))
            return self._selected(state.get("OutputPath", "$"), given), following
        if kind == "Succeed":
            return self._selected(state.get("OutputPath", "$"), given), None
        result = self._worked(name, kind, state, given)
        if "ResultSelector" in state:
            result = fill(state["ResultSelector"], result, self._context)
        output = put(state.get("ResultPath", "$"), data, result)
        chosen = self._selected(state.get("OutputPath", "$"), output)
        return self._execution.limits.checked(chosen, name), following

    def _worked(self, name: str, kind: str, state: Json, given: Json) -> Json:
        """The output of a Pass, Task, Parallel or Map state for its input."""
        token = self._token(state)
        parameters = fill(state["Parameters"], given, self._context) if "Parameters" in state else given
        if kind == "Task":
            self._execution.limits.checked(parameters, name)
            return self._execution.limits.checked(self._task(state, parameters, given, token), name)
        if kind == "Parallel":
            return self._parallel(state["Branches"], parameters)
        if kind == "Map":
            return self._map(state, given)
        return state.get("Result", parameters)

    def _chosen(self, name: str, state: Json, given: Json) -> str:
        for rule in state["Choices"]:
            if holds(rule, given, self._context):
                following: str = rule["Next"]
                return following
        if "Default" not in state:
            raise StatesError(
                "States.NoChoiceMatched",
                f"An error occurred while executing the state '{name}': none of its choices matched.",
            )
        default: str = state["Default"]
        return default

    def _said(self, state: Json, field: str, given: Json) -> str:
        path = state.get(f"{field}Path")
        text = expression(path, given, self._context) if path else state.get(field, "")
        return str(text)

    def _wait_end(self, state: Json, given: Json) -> float:
        for field in ("Seconds", "Timestamp"):
            if f"{field}Path" in state:
                value = read(state[f"{field}Path"], given, self._context)
            elif field in state:
                value = state[field]
            else:
                continue
            if field == "Seconds":
                return self._clock.time() + float(value)
            return _epoch(value)
        raise StatesError("States.Runtime", "A Wait state needs Seconds or Timestamp")

    def _selected(self, path: str | None, data: Json) -> Json:
        return {} if path is None else data if path == "$" else read(path, data, self._context)

    def _token(self, state: Json) -> OpenTask | None:
        """A new token for each try, at `$$.Task.Token`. None if the state does not wait for one."""
        self._context.pop("Task", None)
        if not str(state.get("Resource", "")).endswith(SUFFIX):
            return None
        task = self._tasks.tokens.issue()
        self._context["Task"] = {"Token": task.token}
        return task

    def _seconds(self, state: Json, field: str, given: Json) -> Json:
        path = state.get(f"{field}Path")
        return read(path, given, self._context) if path else state.get(field)

    def _task(self, state: Json, parameters: Json, given: Json, token: OpenTask | None) -> Json:
        try:
            return self._tried(state, parameters, given, token)
        finally:
            if token is not None:
                self._tasks.tokens.close(token)

    def _tried(self, state: Json, parameters: Json, given: Json, token: OpenTask | None) -> Json:
        """Runs a task beside this thread, so that a time-out or a stop takes effect at once."""
        limit, heartbeat = (
            self._seconds(state, field, given) for field in ("TimeoutSeconds", "HeartbeatSeconds")
        )
        seconds = DEFAULT_TASK_SECONDS if limit is None else limit
        events = TaskEvents(
            state["Resource"], parameters, seconds if seconds != DEFAULT_TASK_SECONDS else None
        )
        self._event(*events.scheduled())
        self._event(*events.started())
        tried = Scope(self._clock, self._scope)
        call = BackgroundTask(
            self._clock,
            f"task-{self._execution.name}",
            lambda: self._tasks.run(
                state["Resource"], parameters, self._execution, tried, Waits(token, heartbeat)
            ),
        )
        deadline = None if seconds == DEFAULT_TASK_SECONDS else self._clock.time() + float(seconds)
        ended = self._clock.wait_until(deadline, lambda: call.ended or self._scope.stopped())
        self._scope.check()
        if not ended:
            tried.stop()
            self._event(*events.timed_out())
            raise StatesError("States.Timeout", "")
        try:
            result = call.result()
        except StatesError as error:
            late = error.error == HEARTBEAT
            self._event(*(events.timed_out(HEARTBEAT) if late else events.failed(error)))
            raise
        self._event(*events.succeeded(compact(result)))
        return result

    def _parallel(self, branches: list[Json], data: Json) -> list[Json]:
        self._event("ParallelStateStarted")
        scopes = Scope(self._clock, self._scope)
        return self._at_once(
            scopes,
            [partial(self._branch(scopes, {}).states, branch, data) for branch in branches],
            len(branches),
        )

    def _map(self, state: Json, given: Json) -> list[Json]:
        items = read(state.get("ItemsPath", "$"), given, self._context)
        if not isinstance(items, list):
            raise StatesError("States.Runtime", "The items of a Map state are not a list")
        self._event("MapStateStarted", "mapStateStartedEventDetails", {"length": len(items)})
        processor = state.get("ItemProcessor") or state["Iterator"]
        selector = state.get("ItemSelector") or state.get("Parameters")
        scopes = Scope(self._clock, self._scope)
        runs: list[Callable[[], Json]] = []
        for index, item in enumerate(items):
            branch = self._branch(scopes, {"Map": {"Item": {"Index": index, "Value": item}}})
            one = fill(selector, given, branch._context) if selector else item  # noqa: SLF001 (its own kind)
            runs.append(partial(branch.states, processor, one))
        return self._at_once(scopes, runs, min(state.get("MaxConcurrency") or MOST_BRANCHES, MOST_BRANCHES))

    def _branch(self, scopes: Scope, context: Json) -> "Run":
        return Run(self._tasks, self._chance, self._execution, scopes, {**self._context, **context})

    def _at_once(self, scopes: Scope, works: list[Callable[[], Json]], most: int) -> list[Json]:
        """The results of branches; at most `most` run at a time. The first failure stops the others."""

        def guarded(work: Callable[[], Json]) -> tuple[Json, BaseException | None]:
            try:
                return work(), None
            except BaseException as error:  # noqa: BLE001 (raised again where the branches meet)
                scopes.stop()
                return None, error

        runs: list[BackgroundTask[tuple[Json, BaseException | None]]] = []
        for work in works:
            self._clock.wait_until(None, lambda: sum(not run.ended for run in runs) < most)
            runs.append(BackgroundTask(self._clock, f"branch-{self._execution.name}", partial(guarded, work)))
        outcomes = [run.result() for run in runs]
        self._scope.check()
        failures = [error for _, error in outcomes if error is not None]
        if failures:
            raise next((error for error in failures if not isinstance(error, Stopped)), failures[0])
        return [result for result, _ in outcomes]

    def _event(self, kind: str, key: str = "", details: Json = None) -> None:
        self._last_event = self._execution.event(kind, key, details, self._last_event)


def _context(execution: Execution, data: Json) -> Json:
    machine = execution.machine
    return {
        "Execution": {
            "Id": execution.arn,
            "Input": data,
            "Name": execution.name,
            "RoleArn": machine.role,
            "StartTime": instant(execution.started),
            "RedriveCount": 0,
        },
        "StateMachine": {"Id": machine.arn, "Name": machine.name},
    }


def _epoch(value: Json) -> float:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        moment = None
    if moment is None or moment.tzinfo is None or "T" not in value:
        raise StatesError("States.Runtime", f"{value!r} is not an RFC 3339 timestamp with a zone")
    return moment.timestamp()
