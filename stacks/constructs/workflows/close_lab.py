"""The workflow CloseLab: Announce, RestoreExperiments, GiveBack, Drain, Scale, ProveZero, Settle, Disarm, Receipt.

If a step fails, the later steps still bring the pool to zero. Without proof of zero MarkLeaked marks the pool as
leaked, and the guard continues to close it.
"""

from aws_cdk import Duration
from aws_cdk import aws_stepfunctions as sfn

from stacks.constructs.workflows.workflow_steps import AN_HOUR, BRIEF, Poll, WorkflowSteps
from stacks.constructs.workflows.workflows import Workflow, state_machine
from stacks.names import Names

# EKS alone may drain for 15 minutes, and ProveZero tries for 30.
LONGEST = Duration.hours(3)


class CloseLab(Workflow):
    """`workflow` is the state machine `<lab>-close`.

    `functions` needs leases, nodegroups, cluster, guard and notices. Functions name this workflow by
    its ARN's text, not by reference: it depends on them.
    """

    def draw(self, steps: WorkflowSteps, names: Names) -> sfn.StateMachine:
        """The steps and their order."""
        announce = steps.step("Announce", "notices", "Say that the lease ends, and why", BRIEF)
        restore = steps.step(
            "RestoreExperiments", "leases", "End the lease, hand over, undo what was put in on purpose", BRIEF
        )
        give_back = steps.step(
            "GiveBack", "cluster", "Give the GPU settings that the window changed back to Helm", Poll(5, 24)
        )
        drain = steps.step("Drain", "cluster", "Empty the nodes that go", Poll(10, 180))
        scale = steps.step("Scale", "nodegroups", "Order what the remaining leases justify", Poll(10, 180))
        prove = steps.step("ProveZero", "guard", "See that nothing is left, everywhere", Poll(15, 180))
        leaked = steps.step("MarkLeaked", "guard", "Say that the pool will not close, and page", BRIEF)
        settle = steps.step("Settle", "leases", "Free the hold, count what was spent", BRIEF)
        # It waits while a schedule of the failsafe fires: seven and a half minutes at most.
        disarm = steps.step("Disarm", "leases", "Set the failsafe to the leases that remain", Poll(5, 100))
        receipt = steps.step("Receipt", "leases", "Keep the receipt", Poll(15, 250), AN_HOUR)

        # Before the nodes go: no pod of the class starts anew elsewhere.
        ended = steps.classes(give_back)
        failed = sfn.Fail(self, "PoolLeaked", error="Leaked", cause="Zero was not proven; the guard goes on")
        unsettled = sfn.Fail(
            self, "NotSettled", error="NotSettled", cause="The pool is at zero; the planner settles it later"
        )
        is_over = (
            sfn.Choice(self, "IsStillToClose")
            .when(
                sfn.Condition.and_(
                    sfn.Condition.is_present("$.results.RestoreExperiments.over"),
                    sfn.Condition.boolean_equals("$.results.RestoreExperiments.over", True),
                ),
                sfn.Succeed(self, "NothingToClose", comment="Extended or closed meanwhile"),
            )
            .otherwise(ended)
        )
        is_zero = (
            sfn.Choice(self, "IsZeroProven")
            .when(sfn.Condition.boolean_equals("$.results.ProveZero.zero", True), settle)
            .otherwise(leaked)
        )
        for step, following in (
            (announce, restore),
            (restore, ended),
            (give_back, drain),
            (drain, scale),
            (scale, prove),
        ):
            step.add_catch(following, errors=["States.ALL"], result_path=f"$.failures.{step.id}")
        prove.add_catch(leaked, errors=["States.ALL"], result_path="$.failures.ProveZero")
        leaked.add_catch(failed, errors=["States.ALL"], result_path="$.failures.MarkLeaked")
        settle.add_catch(unsettled, errors=["States.ALL"], result_path="$.failures.Settle")
        disarm.add_catch(receipt, errors=["States.ALL"], result_path="$.failures.Disarm")
        receipt.add_catch(unsettled, errors=["States.ALL"], result_path="$.failures.Receipt")

        announce.next(restore).next(is_over)
        give_back.next(drain).next(scale).next(prove).next(is_zero)
        leaked.next(failed)
        settle.next(disarm).next(receipt).next(sfn.Succeed(self, "Closed"))
        return state_machine(
            self,
            "Workflow",
            workflow="close",
            names=names,
            start=announce,
            comment="Ends a lease, brings the pool to what the others justify, proves it and settles",
            timeout=LONGEST,
        )
