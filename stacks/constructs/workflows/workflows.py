"""Creates the state machine of a workflow: its fixed name, its role and its type.

The steps are in open_lab.py, close_lab.py, extend.py and change.py, those of a destroy in last_close.py. All are
standard workflows, because they wait for hours and must keep their history.
"""

from collections.abc import Iterable, Mapping

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from stacks.constructs.accepted import accept
from stacks.constructs.workflows.workflow_steps import WorkflowSteps
from stacks.names import Names


class Workflow(Construct):
    """A workflow whose steps are our functions; `workflow` is its state machine."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        functions: Mapping[str, lambda_.IFunction],
    ) -> None:
        super().__init__(scope, construct_id)
        self.workflow = self.draw(WorkflowSteps(self, functions), names)

    def draw(self, steps: WorkflowSteps, names: Names) -> sfn.StateMachine:
        """Creates the steps, their order and the state machine."""
        raise NotImplementedError


def state_machine(
    scope: Construct,
    construct_id: str,
    *,
    workflow: str,
    names: Names,
    start: sfn.IChainable,
    comment: str,
    timeout: Duration,
) -> sfn.StateMachine:
    """The state machine `<lab>-<workflow>`, with a role of its own."""
    role = iam.Role(
        scope,
        f"{construct_id}Role",
        role_name=names.role(workflow),
        assumed_by=iam.ServicePrincipal("states.amazonaws.com"),
        description=f"What the workflow {names.workflow(workflow)} may do",
    )
    machine = sfn.StateMachine(
        scope,
        construct_id,
        state_machine_name=names.workflow(workflow),
        state_machine_type=sfn.StateMachineType.STANDARD,
        definition_body=sfn.DefinitionBody.from_chainable(start),
        role=role,
        comment=comment,
        timeout=timeout,
    )
    accept(machine, "SF1", "Step Functions keeps every step for 90 days; the ledger keeps the decisions.")
    accept(
        machine, "SF2", "The history has each step with its time; a trace would cost more and show the same."
    )
    return machine


def accept_invocations(workflow: Construct, functions: Iterable[lambda_.IFunction]) -> None:
    """Accepts that CDK allows a workflow to invoke the versions of its functions as well."""
    for function in functions:
        resource = function.node.default_child
        if isinstance(resource, lambda_.CfnFunction):
            arn = f"<{Stack.of(workflow).get_logical_id(resource)}.Arn>"
            accept(workflow, f"IAM5[Resource::{arn}:*]", "The versions of that one function; it has none.")
