"""The workflow OpenLab: Admit, ArmFailsafe, Scale, AwaitNodes, ApplyGpuSettings, AwaitGpus, Validate, Announce.

States before Admit and Validate start workers of functions that are needed soon.

A failure of ours closes the lease. A shortage outside degrades it: the nodes that came are opened, and the missing
ones are no longer ordered or held for. The run repeats from ArmFailsafe every five minutes until all nodes are there
or the lease ends, and while pods have brought no node of a dynamic NodePool. Where a pool has a fallback, a lease
without any node moves there instead. A run with a long history hands its lease
on to a new run. Late or unproven GPUs are diagnosed before the announcement. Nodes with failed GPUs are kept, closed or
replaced once, as the lab says.
"""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from stacks.constructs.workflows.workflow_steps import A_COMMAND, BRIEF, Poll, WorkflowSteps
from stacks.constructs.workflows.workflows import state_machine
from stacks.names import Names

AGAIN_AFTER = Duration.minutes(5)
# Longer than any lease. A run ends when its lease ends.
LONGEST = Duration.days(8)
NEVER = "9999-12-31T23:59:59Z"
# Admit waits while a schedule of the failsafe fires: seven and a half minutes at most.
ADMITTED_WITHIN = Poll(2, 240)
# And for NodePools while a run of their failsafe goes on: for half an hour, which is three of them.
ADMITTED_AFTER_RUNS = Poll(2, 240, 10)


class OpenLab(Construct):
    """`workflow` is the state machine `<lab>-open`.

    `functions` needs leases, nodegroups, cluster and notices. `close_lab` is started after a failure. `admission` says
    for how long a command waits for its decision. `adopts_node_pools`: pods may bring the nodes of a pool.
    `falls_back`: a pool of the lab has a fallback.
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
        admission: Poll = ADMITTED_WITHIN,
        adopts_node_pools: bool = False,
        falls_back: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        self._adopts_node_pools = adopts_node_pools
        steps = WorkflowSteps(self, functions)
        admit = steps.step("Admit", "leases", "Grant the lease, or say why not", admission, A_COMMAND)
        arm = steps.step("ArmFailsafe", "leases", "Set the schedules that bring the pool to zero", BRIEF)
        # It also waits for a deploy of the node group, which may roll back.
        scale = steps.step("Scale", "nodegroups", "Order what the leases justify", Poll(10, 360))
        await_nodes = steps.step("AwaitNodes", "nodegroups", "See the nodes come", Poll(10, 180))
        settings = steps.step("ApplyGpuSettings", "cluster", "Verify the lab's GPU settings", Poll(10, 90))
        await_gpus = steps.step("AwaitGpus", "cluster", "See the GPUs become ready", Poll(2, 600))
        # The lease is announced without these, so nobody counts the seconds any more.
        await_late = steps.step(
            "AwaitGpus", "cluster", "See late GPUs become ready", Poll(10, 120), state="AwaitLateGpus"
        )
        # Two minutes at level smoke, three hours with dcgmi's level 4. It polls often, to announce at once.
        validate = steps.step("Validate", "cluster", "Prove the GPUs by running pods", Poll(1, 1400, 10))
        aloud = steps.step("AnnounceReplacement", "notices", "Say which nodes go, and why", BRIEF)
        empty = steps.step("Empty", "cluster", "Empty the nodes whose GPUs failed", Poll(10, 180))
        replace = steps.step("Replace", "nodegroups", "Change them for fresh ones, once", Poll(10, 90))
        diagnose = steps.step("Diagnose", "diagnosis", "Name the cause of what is late or failed", BRIEF)
        announce = steps.step("Announce", "notices", "Say what came of it", BRIEF)
        release = steps.step(
            "Release", "nodegroups", "Order and hold no more what did not come", Poll(10, 60)
        )

        hand_on = steps.step(
            "HandOn",
            "leases",
            "Go on in a new run before this one's history is full",
            BRIEF,
        )

        over = sfn.Succeed(self, "LeaseIsOver", comment="Closed, expired or handed over: nothing left to do")
        close = self._close_after_failure(close_lab)
        is_missing = self._missing_nodes(
            release, again=self._again(hand_on, arm), late=await_late, failed=self._checks_failed(close)
        )
        is_all_well = self._all_well(diagnose, announce, replacing=aloud)
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
            # While the nodes boot.
            .otherwise(steps.classes(await_nodes))
        )
        nodes = (await_nodes, settings, await_gpus, await_late, validate, empty, replace, release)
        for ours in (admit, arm, scale, *nodes):
            ours.add_catch(over, errors=["Stale"], result_path="$.failure")
            ours.add_catch(close, errors=["States.ALL"], result_path="$.failure")
        # A failed diagnosis or announcement does not close the lab.
        diagnose.add_catch(announce, errors=["States.ALL"], result_path="$.results.Diagnose")
        # If the next run was not started, a later round tries again; the history has room until then.
        hand_on.add_catch(arm, errors=["States.ALL"], result_path="$.results.HandOn")
        aloud.add_catch(empty, errors=["States.ALL"], result_path="$.unsaid")
        announce.add_catch(is_missing, errors=["States.ALL"], result_path="$.unsaid")

        admit.next(is_granted)
        arm.next(scale).next(is_in_force)
        # Each worker starts while earlier steps run, which saves a second or more.
        warm = steps.warm("WarmNodegroups", "nodegroups", "Start the function that orders the nodes", admit)
        warm_notices = steps.warm("WarmNotices", "notices", "Start the function that says it", validate)
        await_nodes.next(self._fallback(steps, settings, close, over) if falls_back else settings)
        settings.next(await_gpus).next(warm_notices)
        await_late.next(warm_notices)
        validate.next(is_all_well)
        aloud.next(empty).next(replace).next(await_nodes)
        diagnose.next(announce).next(is_missing)
        self.workflow = state_machine(
            self,
            "Workflow",
            workflow="open",
            names=names,
            start=warm,
            comment="Opens a pool for a lease, proves its GPUs and says so",
            timeout=LONGEST,
        )

    def _all_well(
        self, diagnose: sfn.IChainable, announce: sfn.IChainable, replacing: sfn.IChainable
    ) -> sfn.Choice:
        """Runs a diagnosis only if GPUs are late, missing or not proven."""
        shortage, not_ready = "$.results.AwaitNodes.shortage", "$.results.AwaitGpus.not_ready[0]"
        return (
            sfn.Choice(self, "IsAllWell", comment="What is late, missing or not proven has a cause")
            .when(sfn.Condition.is_present("$.results.Validate.over"), announce)
            .when(_follows("replace"), replacing)
            .when(
                sfn.Condition.or_(
                    sfn.Condition.and_(sfn.Condition.is_present(shortage), sfn.Condition.is_string(shortage)),
                    sfn.Condition.is_present(not_ready),
                    sfn.Condition.not_(sfn.Condition.string_equals("$.results.Validate.verdict", "passed")),
                ),
                diagnose,
            )
            .otherwise(announce)
        )

    def _fallback(
        self, steps: WorkflowSteps, settings: sfn.IChainable, close: sfn.IChainable, over: sfn.IChainable
    ) -> sfn.Choice:
        """Moves a lease without any node to a fallback pool, or goes on here."""
        comment = "Order and hold nothing before another pool does"
        release = steps.step("Release", "nodegroups", comment, Poll(10, 60), state="ReleaseForFallback")
        release.add_catch(over, errors=["Stale"], result_path="$.failure")
        release.add_catch(close, errors=["States.ALL"], result_path="$.failure")
        move = steps.step("FallBack", "leases", "Move the lease to a pool that has capacity", Poll(10, 60))
        # A failed move leaves the lease where it is.
        move.add_catch(settings, errors=["States.ALL"], result_path="$.results.FallBack")
        release.next(move)
        move.next(
            sfn.Choice(self, "IsMoved")
            .when(
                sfn.Condition.boolean_equals("$.results.FallBack.moved", True),
                sfn.Succeed(self, "Moved", comment="A run on the other pool carries the lease on"),
            )
            .otherwise(settings)
        )
        falls_back = "$.results.AwaitNodes.falls_back"
        return (
            sfn.Choice(self, "HasNoNode", comment="Another pool of the lab may have capacity")
            .when(
                sfn.Condition.and_(
                    sfn.Condition.is_present(falls_back), sfn.Condition.boolean_equals(falls_back, True)
                ),
                release,
            )
            .otherwise(settings)
        )

    def _again(self, hand_on: sfn.TaskStateBase, arm: sfn.IChainable) -> sfn.IChainable:
        """The next round, in this run or in the run that continues the lease."""
        is_handed_on = (
            sfn.Choice(self, "IsHandedOn")
            .when(
                sfn.Condition.boolean_equals("$.results.HandOn.handed_on", True),
                sfn.Succeed(self, "HandedOn", comment="Another run carries the lease on"),
            )
            .otherwise(arm)
        )
        hand_on.next(is_handed_on)
        return hand_on

    def _checks_failed(self, close: sfn.IChainable) -> sfn.Pass:
        """The lab closes a lease whose GPUs fail, with the reason that Validate returned."""
        said = sfn.Pass(
            self,
            "ChecksFailed",
            comment="checks.on_failure: close",
            parameters={
                "Error": "ChecksFailed",
                "Cause": sfn.JsonPath.string_at("$.results.Validate.because"),
            },
            result_path="$.failure",
        )
        said.next(close)
        return said

    def _missing_nodes(
        self,
        release: sfn.TaskStateBase,
        *,
        again: sfn.IChainable,
        late: sfn.IChainable,
        failed: sfn.IChainable,
    ) -> sfn.Choice:
        wait = sfn.Wait(
            self,
            "WaitForCapacity",
            time=sfn.WaitTime.duration(AGAIN_AFTER),
            comment="A shortage outside: try again until the lease ends",
        )
        release.next(wait)
        wait.next(again)
        shortage, is_late = "$.results.AwaitNodes.shortage", "$.results.AwaitGpus.late"
        comment = "What was only late is waited for, and proven too"
        choice = sfn.Choice(self, "IsNodeMissing", comment=comment)
        if self._adopts_node_pools:
            # Nothing is missing, so nothing is released.
            choice.when(_no_node_yet(), wait)
        return (
            choice.when(_follows("close"), failed)
            .when(
                sfn.Condition.and_(
                    sfn.Condition.is_present(is_late), sfn.Condition.boolean_equals(is_late, True)
                ),
                late,
            )
            .when(
                sfn.Condition.and_(sfn.Condition.is_present(shortage), sfn.Condition.is_string(shortage)),
                release,
            )
            .otherwise(sfn.Succeed(self, "Done"))
        )

    def _close_after_failure(self, close_lab: sfn.IStateMachine) -> tasks.StepFunctionsStartExecution:
        """Starts CloseLab without any function of ours, since our functions may be what fails."""
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


def _no_node_yet() -> sfn.Condition:
    """Pods bring the nodes, and none has brought one."""
    with_pods = "$.results.AwaitNodes.with_pods"
    return sfn.Condition.and_(
        sfn.Condition.is_present(with_pods),
        sfn.Condition.is_string(with_pods),
        sfn.Condition.not_(sfn.Condition.is_present("$.results.AwaitNodes.instances[0]")),
    )


def _follows(choice: str) -> sfn.Condition:
    """The decision of Validate; false if the run did not reach Validate."""
    then = "$.results.Validate.then"
    return sfn.Condition.and_(sfn.Condition.is_present(then), sfn.Condition.string_equals(then, choice))
