"""The workflow Experiment: Prepare, AnnounceChange, Change, Observe, Restore, ProveRestored, Report, Announce.

After any failure Restore runs. If Report finds that the restore failed, the run fails; the schedules that Prepare
armed and the guard then continue. A command to restore starts at Restore.
"""

from aws_cdk import Duration
from aws_cdk import aws_stepfunctions as sfn

from stacks.constructs.workflows.workflow_steps import BRIEF, Poll, WorkflowSteps
from stacks.constructs.workflows.workflows import Workflow, state_machine
from stacks.names import Names

# The longest experiment observes for ten minutes, and its restore is proven for ten.
LONGEST = Duration.hours(2)


class RunExperiment(Workflow):
    """`workflow` is the state machine `<lab>-experiment`; `functions` needs experiments and notices."""

    def draw(self, steps: WorkflowSteps, names: Names) -> sfn.StateMachine:
        """The steps and their order."""
        prepare = steps.step(
            "Prepare", "experiments", "Keep what is there and arm what undoes it, or say why not", Poll(5, 60)
        )
        warn = steps.step("AnnounceChange", "notices", "Say what will not work, and until when", BRIEF)
        change = steps.step("Change", "experiments", "Put the fault in", BRIEF)
        observe = steps.step(
            "Observe", "experiments", "See what the checks and the diagnosis say", Poll(10, 180)
        )
        restore = steps.step("Restore", "experiments", "Put everything back as it was", Poll(5, 60))
        prove = steps.step("ProveRestored", "experiments", "See the same checks pass again", Poll(10, 120))
        report = steps.step("Report", "experiments", "Keep what it showed", BRIEF)
        announce = steps.step("Announce", "notices", "Say what it showed, and that it is over", BRIEF)

        done = sfn.Succeed(self, "Done")
        not_restored = sfn.Fail(
            self,
            "NotRestored",
            error="NotRestored",
            cause="The run's schedules and the guard go on undoing it",
        )
        is_restore = (
            sfn.Choice(self, "IsRestore", comment="A person, a schedule or the guard wants it undone")
            .when(sfn.Condition.string_equals("$.command.verb", "experiment"), prepare)
            .otherwise(restore)
        )
        is_prepared = (
            sfn.Choice(self, "IsPrepared")
            .when(sfn.Condition.string_equals("$.results.Prepare.outcome", "granted"), warn)
            .otherwise(sfn.Succeed(self, "NotRun", comment="Refused, with the reason; or undone meanwhile"))
        )
        is_restored = (
            sfn.Choice(self, "IsRestored")
            .when(sfn.Condition.string_equals("$.results.Restore.outcome", "restored"), prove)
            .otherwise(sfn.Succeed(self, "NothingToRestore"))
        )
        for step, following in (
            (prepare, restore),
            (warn, change),
            (change, restore),
            (observe, restore),
            # A failed Restore may have restored everything: Report verifies it.
            (restore, prove),
            (prove, report),
            (report, announce),
            (announce, done),
        ):
            if step is report:
                step.add_catch(not_restored, errors=["Stale"], result_path="$.failures.Report")
            step.add_catch(following, errors=["States.ALL"], result_path=f"$.failures.{step.id}")

        prepare.next(is_prepared)
        warn.next(change).next(observe).next(restore).next(is_restored)
        prove.next(report).next(announce).next(done)
        return state_machine(
            self,
            "Workflow",
            workflow="experiment",
            names=names,
            start=is_restore,
            comment="Puts a fault in on purpose, sees what comes of it, and puts everything back",
            timeout=LONGEST,
        )
