"""A step of a workflow: its function, its polls and retries, and the path of its result.

Every step may run twice, late or never, so a retry is always safe. BadInput, Refused and Stale are not retried,
because a retry changes nothing. The workflows define the order of the steps.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

FINAL = ["BadInput", "Refused", "Stale"]
NOT_YET = "TryLater"
# Lambda ends a function long before; this time-out is for a lost answer.
LOST_AFTER = Duration.minutes(15)
# A poll of 1 s that slows down has an interval of 2 s after half a minute and of 10 s after five minutes.
SLOWER = 1.03


@dataclass(frozen=True)
class Poll:
    """How often a step is repeated while it raises TryLater: one transition a try.

    Every `seconds`, or ever slower up to `at_most` seconds: what takes long is asked about less often. The handler
    owns its deadline and answers with what it has; `tries` is only a backstop.
    """

    seconds: int
    tries: int
    at_most: int | None = None


BRIEF = Poll(5, 60)
# For a step that must not hold up the next one.
A_LOOK = Poll(5, 12)


@dataclass(frozen=True)
class Patience:
    """How often a failed step is retried: after 2 s, then twice as long each time, up to `at_most` seconds."""

    tries: int
    at_most: int | None = None


A_MINUTE = Patience(5)
# For steps that decide on a command: as long as it is good for. Then it is refused as too old, which is an answer.
A_COMMAND = Patience(20, 60)
# For steps that nobody waits for, and whose work nobody else does.
AN_HOUR = Patience(20, 300)


class WorkflowSteps:
    """Creates the steps of one workflow: task states with the names of the steps."""

    def __init__(self, scope: Construct, functions: Mapping[str, lambda_.IFunction]) -> None:
        self._scope = scope
        self._functions = functions

    def step(
        self,
        name: str,
        function: str,
        comment: str,
        poll: Poll = BRIEF,
        patience: Patience = A_MINUTE,
        *,
        state: str | None = None,
    ) -> tasks.LambdaInvoke:
        """The step `name` of a function; its result is at `$.results.<name>`.

        `state` is the name of the state where the workflow has another one for the same step.
        The function gets the step's name, the run's state and the execution's ARN, which its logs name.
        """
        task = tasks.LambdaInvoke(
            self._scope,
            state or name,
            comment=comment,
            lambda_function=self._functions[function],
            payload=sfn.TaskInput.from_object(
                {
                    "step": name,
                    "run": sfn.JsonPath.entire_payload,
                    "execution": sfn.JsonPath.execution_id,
                }
            ),
            payload_response_only=True,
            result_path=f"$.results.{name}",
            # Our retries below cover the service's own errors as well.
            retry_on_service_exceptions=False,
            task_timeout=sfn.Timeout.duration(LOST_AFTER),
        )
        task.add_retry(errors=FINAL, max_attempts=0)
        slower = poll.at_most is not None and poll.at_most > poll.seconds
        task.add_retry(
            errors=[NOT_YET],
            interval=Duration.seconds(poll.seconds),
            backoff_rate=SLOWER if slower else 1,
            max_delay=Duration.seconds(poll.at_most) if slower and poll.at_most else None,
            max_attempts=poll.tries,
        )
        task.add_retry(
            errors=["States.ALL"],
            interval=Duration.seconds(2),
            backoff_rate=2,
            max_delay=Duration.seconds(patience.at_most) if patience.at_most else None,
            max_attempts=patience.tries,
        )
        return task

    def warm(self, name: str, function: str, comment: str, following: sfn.IChainable) -> tasks.LambdaInvoke:
        """The state `name`: starts a worker of a function for a step that comes soon, without waiting.

        Where Lambda refuses, that step starts cold.
        """
        task = tasks.LambdaInvoke(
            self._scope,
            name,
            comment=comment,
            lambda_function=self._functions[function],
            invocation_type=tasks.LambdaInvocationType.EVENT,
            payload=sfn.TaskInput.from_object({"step": "Warm", "run": {}}),
            result_path=sfn.JsonPath.DISCARD,
            retry_on_service_exceptions=False,
        )
        task.add_catch(following, errors=["States.ALL"], result_path=sfn.JsonPath.DISCARD)
        task.next(following)
        return task

    def classes(self, following: sfn.IChainable) -> sfn.IChainable:
        """What comes before `following`: the classes' namespaces, in a lab with a class.

        A failure is told, and holds up neither an opening nor a close.
        """
        if "classes" not in self._functions:
            return following
        keep = self.step("KeepClasses", "classes", "Give each class the quota of its running leases", A_LOOK)
        tell = self.step("AnnounceClasses", "notices", "Say what was left undone for a class", BRIEF)
        keep.add_catch(tell, errors=["States.ALL"], result_path="$.results.KeepClasses")
        tell.add_catch(following, errors=["States.ALL"], result_path="$.unsaid")
        keep.next(tell).next(following)
        return keep

    def fail(self, step: tasks.LambdaInvoke, name: str, comment: str) -> None:
        """A final failure of `step` ends the workflow in the state `name`, with the step's error."""
        failed = sfn.Fail(
            self._scope,
            name,
            error_path="$.failure.Error",
            cause_path="$.failure.Cause",
            comment=comment,
        )
        step.add_catch(failed, errors=["States.ALL"], result_path="$.failure")
