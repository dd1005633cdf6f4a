"""Step Functions: plays our own state machine definitions in virtual time, with Retry and Catch.

Paths, templates, choices and retries are those of the embedded cloud (local/aws/stepfunctions/).
"""

import json
import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from local.aws.stepfunctions.choice import holds
from local.aws.stepfunctions.errors import StatesError
from local.aws.stepfunctions.execution import instant
from local.aws.stepfunctions.limits import Limits
from local.aws.stepfunctions.paths import expression, fill, put
from local.aws.stepfunctions.retries import caught, retry_delay
from tests.world.aws.event_queue import EventQueue
from tests.world.outside import NotInTheWorld, refused

Json = Any
#: What a run needs of the world: seconds to wait, or a task (its resource and parameters).
Asks = float | tuple[str, Json]
Done = Callable[[Json | None, StatesError | None], None]
LIMITS = Limits()
SEEN_AFTER = timedelta(seconds=5)
START_EXECUTION = "arn:aws:states:::states:startExecution"
INVOKE = "arn:aws:states:::lambda:invoke"


@dataclass
class Execution:
    """One run of a workflow; `steps` are the states that it entered."""

    workflow: str
    name: str
    input: str
    begun: datetime
    status: str = "RUNNING"
    error: str = ""
    steps: list[str] = field(default_factory=list)
    transitions: int = 0
    events: int = 1
    looks: int = 0

    def count(self, events: int) -> None:
        """Adds events to the history. Step Functions ends a run when its history is full, and no catcher helps."""
        self.events += events
        if self.events >= LIMITS.history_events:
            raise StatesError("States.Runtime", "The execution reached the maximum number of history events.")


class StepFunctions:
    """`invoke` runs a function by its ARN and returns its outcome."""

    def __init__(self, event_queue: EventQueue, definitions: dict[str, Json]) -> None:
        self._event_queue, self._definitions = event_queue, definitions
        # A random source of its own: the jitter of retries changes no other random choice.
        self._chance = random.Random(0)
        self.executions: dict[tuple[str, str], Execution] = {}
        self.running = 0
        self.invoke: Callable[[str, Json, Done], None] = lambda _arn, _event, _done: None
        self.invoke_async: Callable[[str, Json], None] = lambda _arn, _event: None
        self.tasks: Mapping[str, Callable[[Json], Json]] = {}
        """What states call of AWS itself, by the end of the resource's ARN."""

    def start_execution(self, *, stateMachineArn: str, name: str, input: str) -> Json:  # noqa: A002
        workflow = stateMachineArn.rpartition(":")[2]
        if workflow not in self._definitions:
            raise refused("StateMachineDoesNotExist", f"no {stateMachineArn}", "StartExecution")
        if len(name) > 80 or not name:
            raise refused("InvalidName", name, "StartExecution")
        known = self.executions.get((workflow, name))
        if known is not None:
            if known.input == input and known.status == "RUNNING":
                return {"executionArn": name, "startDate": self._event_queue.now}
            raise refused("ExecutionAlreadyExists", f"Execution Already Exists: '{name}'", "StartExecution")
        execution = Execution(workflow, name, input, self._event_queue.now)
        self.executions[workflow, name] = execution
        self.running += 1
        run = self._states(execution, json.loads(input))
        self._event_queue.after(0.1, lambda: self._go_on(execution, run))
        return {"executionArn": name, "startDate": self._event_queue.now}

    def describe_execution(self, *, executionArn: str) -> Json:
        """It is eventually consistent: a run that has just begun is missing at the first read."""
        workflow, name = executionArn.split(":")[-2:]
        found = self.executions.get((workflow, name))
        if found is not None:
            found.looks += 1
        if found is None or (found.looks == 1 and self._event_queue.now - found.begun < SEEN_AFTER):
            raise refused("ExecutionDoesNotExist", executionArn, "DescribeExecution")
        return {"status": found.status, "name": name, "input": found.input}

    def list_executions(self, *, stateMachineArn: str, statusFilter: str) -> Json:
        workflow = stateMachineArn.rpartition(":")[2]
        found = [
            run for run in self.executions.values() if (run.workflow, run.status) == (workflow, statusFilter)
        ]
        arn = stateMachineArn.replace(":stateMachine:", ":execution:")
        return {
            "executions": [{"executionArn": f"{arn}:{run.name}", "startDate": run.begun} for run in found]
        }

    def stop(self, execution: Execution) -> None:
        """A person stops a run, and its present wait has no effect any more."""
        execution.status = "ABORTED"
        self.running -= 1

    def get_execution_history(
        self, *, executionArn: str, reverseOrder: bool, maxResults: int, includeExecutionData: bool
    ) -> Json:
        workflow, name = executionArn.split(":")[-2:]
        return {"events": [{"id": self.executions[workflow, name].events}]}

    def _go_on(
        self,
        execution: Execution,
        run: Generator[Asks, Json, None],
        result: Json = None,
        error: StatesError | None = None,
    ) -> None:
        if execution.status != "RUNNING":
            return
        try:
            asked = run.throw(error) if error is not None else run.send(result)
        except StopIteration:
            execution.status = "SUCCEEDED"
        except StatesError as failed:
            execution.status, execution.error = "FAILED", str(failed)
        else:
            if isinstance(asked, float):
                self._event_queue.after(asked, lambda: self._go_on(execution, run))
            else:
                self._task(execution, run, *asked)
            return
        self.running -= 1

    def _task(
        self, execution: Execution, run: Generator[Asks, Json, None], resource: str, given: Json
    ) -> None:
        if resource == START_EXECUTION:
            # Optimised integration: the input may be JSON, and the service chooses the name.
            name = f"{execution.name[:60]}-{len(self.executions)}"
            self.start_execution(
                stateMachineArn=given["StateMachineArn"],
                name=given.get("Name", name),
                input=json.dumps(given["Input"]),
            )
            self._event_queue.after(0.1, lambda: self._go_on(execution, run, {}))
            return
        if resource == INVOKE:
            assert given["InvocationType"] == "Event"
            self.invoke_async(given["FunctionName"], given["Payload"])
            self._event_queue.after(0.1, lambda: self._go_on(execution, run, {}))
            return
        called = resource.partition(":states:::")[2]
        if called in self.tasks:
            self._event_queue.after(0.1, lambda: self._call(execution, run, called, given))
            return
        if not resource.startswith("arn:aws:lambda:"):
            raise NotInTheWorld(f"the world does not know the task {resource}")
        self.invoke(resource, given, lambda result, error: self._go_on(execution, run, result, error))

    def _call(self, execution: Execution, run: Generator[Asks, Json, None], called: str, given: Json) -> None:
        try:
            answer = self.tasks[called](given)
        except StatesError as error:
            self._go_on(execution, run, None, error)
        else:
            self._go_on(execution, run, answer)

    def _states(self, execution: Execution, data: Json) -> Generator[Asks, Json, None]:
        definition = self._definitions[execution.workflow]
        longest = timedelta(seconds=definition.get("TimeoutSeconds", 10**8))
        arn = f"arn:aws:states:::execution:{execution.workflow}:{execution.name}"
        started = instant(self._event_queue.now)
        context: Json = {
            "Execution": {"Id": arn, "Name": execution.name, "Input": data, "StartTime": started}
        }
        name: str | None = definition["StartAt"]
        while name is not None:
            state = definition["States"][name]
            execution.steps.append(name)
            execution.transitions += 1
            execution.count(2)
            context["State"] = {"Name": name, "EnteredTime": instant(self._event_queue.now)}
            if self._event_queue.now - execution.begun > longest:
                raise StatesError("States.Timeout", f"{execution.workflow} took too long")
            data, name = yield from self._persistently(name, state, data, context, execution)

    def _persistently(
        self, name: str, state: Json, data: Json, context: Json, execution: Execution
    ) -> Generator[Asks, Json, tuple[Json, str | None]]:
        used: dict[int, int] = {}
        while True:
            try:
                if state["Type"] == "Task":
                    execution.count(3)
                return (yield from self._once(name, state, data, context, execution))
            except StatesError as error:
                delay = retry_delay(state, error, used, self._chance)
                if delay is None:
                    return caught(state, data, error)
                execution.transitions += 1
                yield delay

    def _once(
        self, name: str, state: Json, data: Json, context: Json, execution: Execution
    ) -> Generator[Asks, Json, tuple[Json, str | None]]:
        following = None if state.get("End") else state.get("Next")
        match state["Type"]:
            case "Choice":
                chosen = next((r["Next"] for r in state["Choices"] if holds(r, data, context)), None)
                return data, chosen or state["Default"]
            case "Succeed":
                return data, None
            case "Fail":
                raise StatesError(_said(state, "Error", data), _said(state, "Cause", data))
            case "Wait":
                yield float(state["Seconds"])
                return data, following
            case "Map":
                for index, item in enumerate(expression(state["ItemsPath"], data, context)):
                    inner = {**context, "Map": {"Item": {"Value": item, "Index": index}}}
                    given = fill(state["ItemSelector"], data, inner)
                    yield from self._branch(state, given, inner, execution)
                return data, following
            case "Pass":
                given = fill(state["Parameters"], data, context) if "Parameters" in state else data
                return put(state.get("ResultPath", "$"), data, state.get("Result", given)), following
            case "Task":
                given = fill(state["Parameters"], data, context)
                result = yield (state["Resource"], LIMITS.checked(given, name))
                if "ResultSelector" in state:
                    result = fill(state["ResultSelector"], result, context)
                return LIMITS.checked(put(state.get("ResultPath", "$"), data, result), name), following
        raise NotInTheWorld(f"the world plays no {state['Type']} states")

    def _branch(
        self, state: Json, data: Json, context: Json, execution: Execution
    ) -> Generator[Asks, Json, None]:
        """One item of a Map, whose result nobody reads."""
        states = state["ItemProcessor"]["States"]
        name: str | None = state["ItemProcessor"]["StartAt"]
        while name is not None:
            data, name = yield from self._persistently(name, states[name], data, context, execution)


def _said(state: Json, field: str, data: Json) -> str:
    path = state.get(f"{field}Path")
    if path is None:
        return str(state.get(field, ""))
    return str(expression(path, data, {}))
