"""Step Functions: start a workflow by name. The same name is the same start, so asking twice is safe."""

from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.clock import sleep
from lamplighter.domain.schedules.schedule import RunEnd, Start

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

# DescribeExecution is eventually consistent
# (https://docs.aws.amazon.com/step-functions/latest/apireference/API_DescribeExecution.html).
LOOK_AGAIN_SECONDS = 2.0
ENDED = {"FAILED": RunEnd.FAILED, "TIMED_OUT": RunEnd.TIMED_OUT, "ABORTED": RunEnd.ABORTED}


class Workflows:
    """The state machines of a lab, by ARN."""

    def __init__(self, stepfunctions: "SFNClient | None" = None) -> None:
        self._sfn: SFNClient = stepfunctions or client("stepfunctions")

    def start(self, start: Start) -> bool:
        """Start a workflow for a command; False when this very start was made before."""
        return self.start_with(start.workflow, start.name, start.input)

    def start_with(self, workflow: str, name: str, document: str) -> bool:
        """Start a workflow with any input; False when this very start was made before."""
        with outside("states:StartExecution", f"{workflow}, {name}"):
            try:
                self._sfn.start_execution(stateMachineArn=workflow, name=name, input=document)
            except self._sfn.exceptions.ClientError as error:
                # Same name with another input, or closed within 90 days: it was started, as wanted.
                if error_code(error) == "ExecutionAlreadyExists":
                    return False
                raise
        return True

    def running(self, workflow: str, name: str) -> bool:
        """Whether a run of that name is at work."""
        return self._status(workflow, name) == "RUNNING"

    def ended(self, workflow: str, name: str) -> RunEnd | None:
        """How a run ended without success, or that it never started; None while it runs or where it succeeded."""
        status = self._status(workflow, name)
        return RunEnd.NEVER_STARTED if status is None else ENDED.get(status)

    def events(self, execution: str) -> int:
        """How many events the history of a run has, by its ARN; the last one's number says it."""
        with outside("states:GetExecutionHistory", execution):
            last = self._sfn.get_execution_history(
                executionArn=execution, reverseOrder=True, maxResults=1, includeExecutionData=False
            )["events"]
        return last[0]["id"] if last else 0

    def _status(self, workflow: str, name: str) -> str | None:
        """None where it is not there at the second look: one that has just begun may not be seen at the first."""
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
