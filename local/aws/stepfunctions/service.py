"""The Step Functions API: state machines and their executions. The interpreter runs each on a thread of its own.

Only standard workflows. Executions start at once and keep their names for ever, as on AWS for 90 days.
"""

import json
import re
import threading
import uuid
from datetime import timedelta

from local.aws.api.own_services import AwsError, Document
from local.aws.api.service_context import ServiceContext
from local.aws.stepfunctions.definition import parsed
from local.aws.stepfunctions.execution import Execution, StateMachine
from local.aws.stepfunctions.interpreter import Interpreter
from local.aws.stepfunctions.limits import Limits
from local.aws.stepfunctions.role import check_role
from local.aws.stepfunctions.status_events import status_changed
from local.aws.stepfunctions.task_tokens import TaskTokens
from local.aws.stepfunctions.tasks import Tasks
from local.aws.timers import Timers

_NAME = re.compile(r"[^\s<>{}\[\]?*\"#%\\^|~`$&,;:/\x00-\x1f\x7f-\x9f]{1,80}")

#: DescribeExecution is eventually consistent: how long an execution may run before it is visible [est]
#: (https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html).
SEEN_AFTER = timedelta(seconds=1)


class StepFunctions:
    """Public methods with the names of boto3's operations are operations of `stepfunctions`."""

    def __init__(
        self, service_context: ServiceContext, timers: Timers, seed: int = 0, limits: Limits | None = None
    ) -> None:
        self._service_context = service_context
        self._clock = service_context.clock
        self._timers = timers
        self._limits = limits or Limits()
        self.tokens = TaskTokens(service_context.clock, self._limits.data_bytes)
        self._interpreter = Interpreter(Tasks(service_context, self.tokens), seed)
        self._machines: dict[str, StateMachine] = {}
        self._executions: dict[str, Execution] = {}
        self._lock = threading.RLock()

    def transitions(self) -> dict[str, int]:
        """State transitions of each execution so far, by its ARN."""
        return {arn: execution.transitions for arn, execution in list(self._executions.items())}

    def running(self) -> dict[str, str]:
        """Executions that have not ended, of existing state machines: the state that each entered last, by its ARN."""
        executions = list(self._executions.values())
        there = (
            each for each in executions if each.status == "RUNNING" and each.machine.arn in self._machines
        )
        return {each.arn: each.entered() for each in there}

    def wait_for(self, arn: str) -> None:
        """Returns when the execution has ended, successfully or not."""
        execution = self._execution(arn)
        self._clock.wait_until(None, execution.stopped)

    def stop_all(self) -> None:
        """Ends every execution silently, because the embedded cloud goes down."""
        for execution in list(self._executions.values()):
            execution.stop()

    def create_state_machine(self, request: Document) -> Document:
        name = request["name"]
        _check_name(name)
        definition = parsed(request["definition"])
        arn = self._service_context.arn("states", f"stateMachine:{name}")
        if request.get("type", "STANDARD") != "STANDARD":
            raise AwsError("InvalidDefinition", "The embedded cloud runs Standard workflows only")
        check_role(request["roleArn"], arn, request["definition"], self._service_context)
        with self._lock:
            known = self._machines.get(arn)
            if known and (known.text, known.role) != (request["definition"], request["roleArn"]):
                raise AwsError("StateMachineAlreadyExists", f"State Machine Already Exists: '{arn}'")
            machine = known or StateMachine(
                name=name,
                arn=arn,
                definition=definition,
                text=request["definition"],
                role=request["roleArn"],
                created=self._clock.now(),
                document={
                    "loggingConfiguration": request.get("loggingConfiguration")
                    or {"level": "OFF", "includeExecutionData": False},
                    "tracingConfiguration": request.get("tracingConfiguration") or {"enabled": False},
                },
                tags={tag["key"]: tag["value"] for tag in request.get("tags") or []},
            )
            self._machines[arn] = machine
        return {"stateMachineArn": arn, "creationDate": machine.created}

    def update_state_machine(self, request: Document) -> Document:
        """Changes the definition. Running executions keep the definition that they started with."""
        machine = self._machine(request["stateMachineArn"])
        text = request.get("definition") or machine.text
        check_role(request.get("roleArn") or machine.role, machine.arn, text, self._service_context)
        replaced = StateMachine(
            name=machine.name,
            arn=machine.arn,
            definition=parsed(text),
            text=text,
            role=request.get("roleArn") or machine.role,
            created=machine.created,
            document={key: request.get(key) or value for key, value in machine.document.items()},
            tags=machine.tags,
        )
        self._machines[machine.arn] = replaced
        return {"updateDate": self._clock.now()}

    def delete_state_machine(self, request: Document) -> Document:
        """Deletes a state machine. A missing one is no error, and running executions continue."""
        self._machines.pop(request["stateMachineArn"], None)
        return {}

    def describe_state_machine(self, request: Document) -> Document:
        return self._described(self._machine(request["stateMachineArn"]))

    def describe_state_machine_for_execution(self, request: Document) -> Document:
        machine = self._execution(request["executionArn"]).machine
        described = self._described(machine)
        return {
            key: value for key, value in described.items() if key not in ("status", "type", "creationDate")
        } | {"updateDate": machine.created}

    def list_state_machines(self, _: Document) -> Document:
        return {
            "stateMachines": [
                {
                    "stateMachineArn": machine.arn,
                    "name": machine.name,
                    "type": "STANDARD",
                    "creationDate": machine.created,
                }
                for machine in list(self._machines.values())
            ]
        }

    def validate_state_machine_definition(self, request: Document) -> Document:
        try:
            parsed(request["definition"])
        except AwsError as error:
            problem = {"severity": "ERROR", "code": "SCHEMA_VALIDATION_FAILED", "message": error.message}
            return {"result": "FAIL", "diagnostics": [problem], "truncated": False}
        return {"result": "OK", "diagnostics": [], "truncated": False}

    def start_execution(self, request: Document) -> Document:
        machine = self._machine(request["stateMachineArn"])
        name = request.get("name") or str(uuid.uuid4())
        _check_name(name)
        text = request.get("input") or "{}"
        try:
            data = json.loads(text)
        except ValueError as error:
            raise AwsError(
                "InvalidExecutionInput", f"Invalid State Machine Execution Input: '{error}'"
            ) from error
        if len(text.encode()) > self._limits.data_bytes:
            raise AwsError(
                "ValidationException",
                "1 validation error detected: Value at 'input' failed to satisfy constraint: Member must have"
                f" length less than or equal to {self._limits.data_bytes}",
            )
        arn = self._service_context.arn("states", f"execution:{machine.name}:{name}")
        with self._lock:
            known = self._executions.get(arn)
            if known and known.status == "RUNNING" and json.loads(known.input) == data:
                return {"executionArn": arn, "startDate": known.started}
            if known:
                raise AwsError("ExecutionAlreadyExists", f"Execution Already Exists: '{arn}'")
            execution = Execution(self._clock, machine, name, arn, text, self._limits)
            execution.when_ended = lambda: self._tell(execution)
            self._executions[arn] = execution
            self._tell(execution)
        limit = machine.definition.get("TimeoutSeconds")
        # Otherwise a hurrying clock would find only the limit to wait for.
        with self._clock.busy():
            if limit:
                self._timers.after(limit, execution.time_out)
            self._clock.spawn(f"run-{name}", lambda: self._interpreter.run(execution, data))
        return {"executionArn": arn, "startDate": execution.started}

    def _tell(self, execution: Execution) -> None:
        """Puts its status on the default bus."""
        entry = status_changed(execution)
        self._timers.soon(lambda: self._service_context.tell(entry))

    def describe_execution(self, request: Document) -> Document:
        execution = self._execution(request["executionArn"])
        if execution.status == "RUNNING" and self._clock.now() - execution.started < SEEN_AFTER:
            raise _missing(execution.arn)
        return execution.document()

    def list_executions(self, request: Document) -> Document:
        machine = self._machine(request["stateMachineArn"])
        status = request.get("statusFilter")
        executions = [
            execution
            for execution in list(self._executions.values())
            if execution.machine.arn == machine.arn and status in (None, execution.status)
        ]
        executions.sort(key=lambda execution: execution.started, reverse=True)
        keys = ("executionArn", "stateMachineArn", "name", "status", "startDate", "stopDate", "redriveCount")
        first = int(request.get("nextToken") or 0)
        last = first + (request.get("maxResults") or 100)
        return {
            "executions": [
                {key: execution.document()[key] for key in keys} for execution in executions[first:last]
            ],
            "nextToken": str(last) if last < len(executions) else None,
        }

    def get_execution_history(self, request: Document) -> Document:
        events = self._execution(request["executionArn"]).events()
        if request.get("reverseOrder"):
            events.reverse()
        first = int(request.get("nextToken") or 0)
        last = first + (request.get("maxResults") or 100)
        return {"events": events[first:last], "nextToken": str(last) if last < len(events) else None}

    def stop_execution(self, request: Document) -> Document:
        execution = self._execution(request["executionArn"])
        execution.abort(request.get("error") or "", request.get("cause") or "")
        return {"stopDate": execution.ended}

    def tag_resource(self, request: Document) -> Document:
        tags = self._machine(request["resourceArn"]).tags
        tags.update({tag["key"]: tag["value"] for tag in request["tags"]})
        return {}

    def untag_resource(self, request: Document) -> Document:
        for key in request["tagKeys"]:
            self._machine(request["resourceArn"]).tags.pop(key, None)
        return {}

    def list_tags_for_resource(self, request: Document) -> Document:
        tags = self._machine(request["resourceArn"]).tags
        return {"tags": [{"key": key, "value": value} for key, value in tags.items()]}

    def _machine(self, arn: str) -> StateMachine:
        machine = self._machines.get(arn)
        if machine is None:
            raise AwsError("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")
        return machine

    def _execution(self, arn: str) -> Execution:
        execution = self._executions.get(arn)
        if execution is None:
            raise _missing(arn)
        return execution

    def _described(self, machine: StateMachine) -> Document:
        return {
            "stateMachineArn": machine.arn,
            "name": machine.name,
            "status": "ACTIVE",
            "definition": machine.text,
            "roleArn": machine.role,
            "type": "STANDARD",
            "creationDate": machine.created,
            **machine.document,
        }


def _missing(arn: str) -> AwsError:
    return AwsError("ExecutionDoesNotExist", f"Execution Does Not Exist: '{arn}'")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise AwsError("InvalidName", f"Invalid Name: '{name}'")
