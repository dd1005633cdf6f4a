"""Step Functions: starts a workflow under a name. The same name starts it once, so a retry is safe."""

from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.border import border
from lamplighter.clock import sleep
from lamplighter.domain.schedules.schedule import RunEnd, Start

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

# DescribeExecution is eventually consistent
# (https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html).
LOOK_AGAIN_SECONDS = 2.0
ENDED = {"FAILED": RunEnd.FAILED, "TIMED_OUT": RunEnd.TIMED_OUT, "ABORTED": RunEnd.ABORTED}


@border
class Workflows:
    """The state machines of a lab, by ARN."""

    def __init__(self, stepfunctions: "SFNClient | None" = None) -> None:
        self._sfn: SFNClient = stepfunctions or client("stepfunctions")

    def start(self, start: Start) -> bool:
        """Starts a workflow for a command; False if it was started under this name before."""
        return self.start_with(start.workflow, start.name, start.input)

    def start_with(self, workflow: str, name: str, document: str) -> bool:
        """Starts a workflow with any input; False if it was started under this name before."""
        with outside("states:StartExecution", f"{workflow}, {name}"):
            try:
                self._sfn.start_execution(stateMachineArn=workflow, name=name, input=document)
            except self._sfn.exceptions.ClientError as error:
                # The same name with another input, or a run that ended within 90 days: it was started.
                if error_code(error) == "ExecutionAlreadyExists":
                    return False
                raise
        return True

    def running(self, workflow: str, name: str) -> bool:
        """Whether a run of that name is running."""
        return self._status(workflow, name) == "RUNNING"

    def ended(self, workflow: str, name: str) -> RunEnd | None:
        """How a run ended without success, or that it never started; None while it runs or where it succeeded."""
        status = self._status(workflow, name)
        return RunEnd.NEVER_STARTED if status is None else ENDED.get(status)

    def inputs_of_running(self, workflow: str) -> list[str]:
        """The inputs of the runs of a workflow that go on now."""
        with outside("states:ListExecutions", workflow):
            pages = self._sfn.get_paginator("list_executions").paginate(
                stateMachineArn=workflow, statusFilter="RUNNING"
            )
            runs = [run["executionArn"] for page in pages for run in page["executions"]]
        with outside("states:DescribeExecution", workflow):
            return [self._sfn.describe_execution(executionArn=run).get("input", "") for run in runs]

    def events(self, execution: str) -> int:
        """The number of events in the history of a run, by its ARN: the number of the last event."""
        with outside("states:GetExecutionHistory", execution):
            last = self._sfn.get_execution_history(
                executionArn=execution, reverseOrder=True, maxResults=1, includeExecutionData=False
            )["events"]
        return last[0]["id"] if last else 0

    def _status(self, workflow: str, name: str) -> str | None:
        """None if two calls do not find the run: the first may not see a run that has just started."""
        found = self._seen(workflow, name)
        if found is not None:
            return found
        sleep(LOOK_AGAIN_SECONDS)
        return self._seen(workflow, name)

    def _seen(self, workflow: str, name: str) -> str | None:
        run = f"{workflow.replace(':stateMachine:', ':execution:')}:{name}"
        with outside("states:DescribeExecution", run):
            try:
                return self._sfn.describe_execution(executionArn=run)["status"]
            except self._sfn.exceptions.ClientError as error:
                if error_code(error) == "ExecutionDoesNotExist":
                    return None
                raise
