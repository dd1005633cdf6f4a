"""ExtendLease, the picture: Extend, Announce. The failsafe moves first, inside Extend."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from stacks.constructs.workflows.workflow_steps import BRIEF, Poll, WorkflowSteps
from stacks.constructs.workflows.workflows import state_machine
from stacks.names import Names


class ExtendLease(Construct):
    """`workflow` is the state machine `<lab>-extend`; `functions` needs leases and notices."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        functions: Mapping[str, lambda_.IFunction],
    ) -> None:
        super().__init__(scope, construct_id)
        steps = WorkflowSteps(self, functions)
        extend = steps.step(
            "Extend", "leases", "Move the failsafe, then the end, or say why not", Poll(2, 60)
        )
        announce = steps.step("Announce", "notices", "Say until when, and who asked", BRIEF)
        steps.fail(extend, "NotExtended", "The lease ends when it would have ended")
        done = sfn.Succeed(self, "Done")
        announce.add_catch(done, errors=["States.ALL"], result_path="$.unsaid")
        extend.next(announce).next(done)
        self.workflow = state_machine(
            self,
            "Workflow",
            workflow="extend",
            names=names,
            start=extend,
            comment="Moves the end of a lease, within its bounds",
            timeout=Duration.hours(1),
        )
