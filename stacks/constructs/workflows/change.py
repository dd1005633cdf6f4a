"""The workflow ChangeLab: Change, Plan, Announce. What people change about a lab without a deploy.

The first step decides on skips, pauses and orders to the guard, and keeps the answer. After a change of the calendar
the planner runs at once, so the announcement is true when it is sent.
"""

from aws_cdk import Duration
from aws_cdk import aws_stepfunctions as sfn

from stacks.constructs.workflows.workflow_steps import A_COMMAND, BRIEF, Poll, WorkflowSteps
from stacks.constructs.workflows.workflows import Workflow, state_machine
from stacks.names import Names


class ChangeLab(Workflow):
    """`workflow` is the state machine `<lab>-change`; `functions` needs leases, planner and notices."""

    def draw(self, steps: WorkflowSteps, names: Names) -> sfn.StateMachine:
        """The steps and their order."""
        change = steps.step(
            "Change", "leases", "Keep what a person decided, or say why not", Poll(2, 60), A_COMMAND
        )
        plan = steps.step("Plan", "planner", "Bring leases-to-be and schedules to the new calendar", BRIEF)
        announce = steps.step("Announce", "notices", "Say what changed, and who changed it", BRIEF)
        steps.fail(change, "NotChanged", "Everything is as it was")
        # The decision is in the ledger: the planner's next hourly run applies it.
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
