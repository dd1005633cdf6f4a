"""The first step of destroying the controller: close every pool, prove zero, then answer CloudFormation.

The deploy function starts a small workflow with CloudFormation's event, because closing takes longer than a function
may run. The workflow runs CloseLab for each pool, then the function answers. Without proof of zero the destroy fails
and all resources stay.
"""

from collections.abc import Sequence

from aws_cdk import Duration, Stack
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from stacks.constructs.accepted import accept
from stacks.constructs.deploy_steps import deploy_step
from stacks.constructs.functions.functions import Function
from stacks.constructs.workflows.workflows import accept_invocations, state_machine
from stacks.names import Names

# CloudFormation waits for a custom resource at most an hour; closing a pool takes at most 50 minutes.
ANSWER_WITHIN = Duration.hours(1)


class LastClose(Construct):
    """`closed` is the custom resource: CloudFormation creates it last and deletes it first."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        deploy: Function,
        pools: Sequence[str],
        close_lab: sfn.IStateMachine,
    ) -> None:
        super().__init__(scope, construct_id)
        close = tasks.StepFunctionsStartExecution(
            self,
            "CloseLab",
            state_machine=close_lab,
            integration_pattern=sfn.IntegrationPattern.RUN_JOB,
            input=sfn.TaskInput.from_object({"command": sfn.JsonPath.object_at("$.command")}),
            result_path=sfn.JsonPath.DISCARD,
        )
        # A failed close does not end the workflow: the answer depends on the proof alone.
        close.add_catch(sfn.Pass(self, "NotClosed"), result_path="$.error")
        each = sfn.Map(
            self, "EachPool", items_path="$.closes", result_path=sfn.JsonPath.DISCARD, max_concurrency=10
        )
        each.item_processor(close)
        answer = tasks.LambdaInvoke(
            self,
            "Respond",
            lambda_function=deploy.function,
            payload=sfn.TaskInput.from_object({"step": "Respond", "run": sfn.JsonPath.entire_payload}),
            payload_response_only=True,
            retry_on_service_exceptions=True,
        )
        self.workflow = state_machine(
            self,
            "Workflow",
            workflow="destroy",
            names=names,
            start=each.next(answer),
            comment="Closes every pool before the controller is destroyed, and answers CloudFormation",
            timeout=Duration.hours(2),
        )
        accept_invocations(self, [deploy.function])
        closings = Stack.of(self).get_logical_id(close_lab.node.default_child)  # type: ignore[arg-type]
        name = f'{{"Fn::Select":[6,{{"Fn::Split":[":",{{"Ref":"{closings}"}}]}}]}}'
        accept(
            self,
            f"IAM5[Resource::arn:aws:states:{names.region}:<AWS::AccountId>:execution:{name}*]",
            "The runs of CloseLab that it waits for; their names are given at run time.",
        )
        self.closed = deploy_step(
            self,
            "Closed",
            kind="LastClosed",
            function=deploy,
            properties={"Pools": list(pools)},
            timeout=ANSWER_WITHIN,
        )
        self.closed.node.add_dependency(self.workflow)
