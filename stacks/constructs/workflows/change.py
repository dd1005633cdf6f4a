"""Change, the picture: Change, Plan, Announce. What people change about a lab without a deploy.

Skips, pauses and what a person says to the guard are decided and kept by the first step; where the
calendar changed, the planner runs at once, so that what is said then is already so.
"""

from aws_cdk import Duration
from aws_cdk import aws_stepfunctions as sfn

from stacks.constructs.workflows.workflow_steps import BRIEF, Poll, WorkflowSteps
from stacks.constructs.workflows.workflows import Workflow, state_machine
from stacks.names import Names


class ChangeLab(Workflow):
    """`workflow` is the state machine `<lab>-change`; `functions` needs leases, planner and notices."""

    def draw(self, steps: WorkflowSteps, names: Names) -> sfn.StateMachine:
        """The steps, and which follows which."""
        change = steps.step("Change", "leases", "Keep what a person decided, or say why not", Poll(2, 60))
        plan = steps.step("Plan", "planner", "Bring leases-to-be and schedules to the new calendar", BRIEF)
        announce = steps.step("Announce", "notices", "Say what changed, and who changed it", BRIEF)
        steps.fail(change, "NotChanged", "Everything is as it was")
        # What was decided stands in the ledger: the planner takes it up in its next hour.
        plan.add_catch(announce, errors=["States.ALL"], result_path="$.unplanned")
        done = sfn.Succeed(self, "Done")
        announce.add_catch(done, errors=["States.ALL"], result_path="$.unsaid")
        is_calendar = (
            sfn.Choice(self, "IsCalendarChanged")
            .when(sfn.Condition.boolean_equals("$.results.Change.calendar", True), plan)
            .otherwise(announce)
        )
        change.next(is_calendar)
        plan.next(announce)
        announce.next(done)
        return state_machine(
            self,
            "Workflow",
            workflow="change",
            names=names,
            start=change,
            comment="Keeps what people change without a deploy, plans anew and says so",
            timeout=Duration.hours(1),
        )
