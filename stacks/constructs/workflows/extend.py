"""The workflow ExtendLease: Extend, Announce. Extend moves the failsafe first."""

from aws_cdk import Duration
from aws_cdk import aws_stepfunctions as sfn

from stacks.constructs.workflows.workflow_steps import A_COMMAND, BRIEF, Poll, WorkflowSteps
from stacks.constructs.workflows.workflows import Workflow, state_machine
from stacks.names import Names


class ExtendLease(Workflow):
    """`workflow` is the state machine `<lab>-extend`; `functions` needs leases and notices."""

    def draw(self, steps: WorkflowSteps, names: Names) -> sfn.StateMachine:
        """The steps and their order."""
        extend = steps.step(
            "Extend", "leases", "Move the failsafe, then the end, or say why not", Poll(2, 60), A_COMMAND
        )
        announce = steps.step("Announce", "notices", "Say until when, and who asked", BRIEF)
        steps.fail(extend, "NotExtended", "The lease ends when it would have ended")
        done = sfn.Succeed(self, "Done")
        announce.add_catch(done, errors=["States.ALL"], result_path="$.unsaid")
        extend.next(announce).next(done)
        return state_machine(
            self,
            "Workflow",
            workflow="extend",
            names=names,
            start=extend,
            comment="Moves the end of a lease, within its bounds",
            timeout=Duration.hours(1),
        )
