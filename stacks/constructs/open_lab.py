"""OpenLab, the picture: Admit, ArmFailsafe, Scale, AwaitNodes, ApplyGpuSettings, AwaitGpus, Validate, Announce.

A failure of ours closes the lease; a shortage outside degrades it: what came is opened, and the round
is made again every five minutes, from ArmFailsafe on, until all is there or the lease is over.
"""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from stacks.constructs.workflow_steps import BRIEF, Poll, WorkflowSteps
from stacks.constructs.workflows import state_machine
from stacks.names import Names

AGAIN_AFTER = Duration.minutes(5)
# Longer than any lease may be; a run ends by itself when its lease is over.
LONGEST = Duration.days(8)
NEVER = "9999-12-31T23:59:59Z"


class OpenLab(Construct):
    """`workflow` is the state machine `<lab>-open`.

    `functions` needs leases, nodegroups, cluster and notices. `close_lab` is started after a failure.
    The leases function's environment names this workflow by its ARN's text, not by reference: the
    workflow depends on the function.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        functions: Mapping[str, lambda_.IFunction],
        close_lab: sfn.IStateMachine,
    ) -> None:
        super().__init__(scope, construct_id)
        steps = WorkflowSteps(self, functions)
        admit = steps.step("Admit", "leases", "Grant the lease, or say why not", Poll(2, 90))
        arm = steps.step("ArmFailsafe", "leases", "Set the schedules that bring the pool to zero", BRIEF)
        scale = steps.step("Scale", "nodegroups", "Order what the leases justify", Poll(10, 180))
        await_nodes = steps.step("AwaitNodes", "nodegroups", "See the nodes come", Poll(10, 180))
        settings = steps.step("ApplyGpuSettings", "cluster", "Verify the lab's GPU settings", Poll(10, 90))
        await_gpus = steps.step("AwaitGpus", "cluster", "See the GPUs become ready", Poll(5, 480))
        validate = steps.step("Validate", "cluster", "Prove the GPUs by running pods", Poll(3, 800))
        announce = steps.step("Announce", "notices", "Say what came of it", BRIEF)

        over = sfn.Succeed(self, "LeaseIsOver", comment="Closed, expired or handed over: nothing left to do")
        close = self._close_after_failure(close_lab)
        is_missing = self._missing_nodes(again=arm)
        is_granted = (
            sfn.Choice(self, "IsGranted", comment="A lease that opens later has a schedule of its own")
            .when(
                sfn.Condition.and_(
                    sfn.Condition.string_equals("$.results.Admit.outcome", "granted"),
                    sfn.Condition.boolean_equals("$.results.Admit.later", False),
                ),
                arm,
            )
            .otherwise(announce)
        )
        is_in_force = (
            sfn.Choice(self, "IsInForce")
            .when(sfn.Condition.boolean_equals("$.results.Scale.over", True), over)
            .otherwise(await_nodes)
        )
        for ours in (admit, arm, scale, await_nodes, settings, await_gpus, validate):
            ours.add_catch(over, errors=["Stale"], result_path="$.failure")
            ours.add_catch(close, errors=["States.ALL"], result_path="$.failure")
        # Nobody loses a lab because a notice could not be sent.
        announce.add_catch(is_missing, errors=["States.ALL"], result_path="$.unsaid")

        admit.next(is_granted)
        arm.next(scale).next(is_in_force)
        await_nodes.next(settings).next(await_gpus).next(validate).next(announce).next(is_missing)
        self.workflow = state_machine(
            self,
            "Workflow",
            workflow="open",
            names=names,
            start=admit,
            comment="Opens a pool for a lease, proves its GPUs and says so",
            timeout=LONGEST,
        )

    def _missing_nodes(self, again: sfn.IChainable) -> sfn.Choice:
        wait = sfn.Wait(
            self,
            "WaitForCapacity",
            time=sfn.WaitTime.duration(AGAIN_AFTER),
            comment="A shortage outside: try again until the lease ends",
        )
        wait.next(again)
        shortage = "$.results.AwaitNodes.shortage"
        return (
            sfn.Choice(self, "IsNodeMissing")
            .when(
                sfn.Condition.and_(sfn.Condition.is_present(shortage), sfn.Condition.is_string(shortage)),
                wait,
            )
            .otherwise(sfn.Succeed(self, "Done"))
        )

    def _close_after_failure(self, close_lab: sfn.IStateMachine) -> tasks.StepFunctionsStartExecution:
        """Starts CloseLab without any function of ours: it may be our functions that fail."""
        close = tasks.StepFunctionsStartExecution(
            self,
            "CloseAfterFailure",
            comment="A failure of ours closes what it opened",
            state_machine=close_lab,
            integration_pattern=sfn.IntegrationPattern.REQUEST_RESPONSE,
            associate_with_parent=False,
            input=sfn.TaskInput.from_object(
                {
                    "command": {
                        "id": sfn.JsonPath.format("close-after-{}", sfn.JsonPath.string_at("$.command.id")),
                        "verb": "close",
                        "pool": sfn.JsonPath.string_at("$.command.pool"),
                        "opened_by": sfn.JsonPath.string_at("$.command.id"),
                        "owner": sfn.JsonPath.string_at("$.command.owner"),
                        "by": "OpenLab",
                        "source": "guard",
                        "because": sfn.JsonPath.format(
                            "{}: {}",
                            sfn.JsonPath.string_at("$.failure.Error"),
                            sfn.JsonPath.string_at("$.failure.Cause"),
                        ),
                        "issued": sfn.JsonPath.string_at("$$.State.EnteredTime"),
                        "expires": NEVER,
                    }
                }
            ),
            result_path=sfn.JsonPath.DISCARD,
        )
        close.add_retry(errors=["States.ALL"], interval=Duration.seconds(2), backoff_rate=2, max_attempts=8)
        close.next(
            sfn.Fail(
                self,
                "OpeningFailed",
                error_path="$.failure.Error",
                cause_path="$.failure.Cause",
                comment="CloseLab has taken over",
            )
        )
        return close
