"""The controller: ledger, functions, workflows, schedules, rules, failsafe role, alarms, Slack and the lab's bus.

It is deployed beside a created or an adopted cluster and knows the cluster's resources by name. On a destroy
CloudFormation deletes LastClosed first: it brings every pool to zero while the other resources still exist.
"""

import hashlib
from collections.abc import Sequence

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_ssm as ssm
from constructs import Construct, IConstruct

from lamplighter.domain.capacity.kinds import identity
from lamplighter.lab.model import Lab
from stacks.constructs.alarms import Alarms
from stacks.constructs.channels import Channels
from stacks.constructs.classes import class_function
from stacks.constructs.cluster_access import cluster_access
from stacks.constructs.dashboard import Dashboard
from stacks.constructs.deploy_steps import deploy_step, pools_step
from stacks.constructs.events import Events
from stacks.constructs.failsafe.machine import failsafe_machine
from stacks.constructs.functions.functions import FunctionCode
from stacks.constructs.functions.lab_functions import LabFunctions
from stacks.constructs.functions.permissions import Permissions
from stacks.constructs.functions.rules import Rules
from stacks.constructs.functions.schedules import Schedules
from stacks.constructs.functions.trail_rules import group_names
from stacks.constructs.http.commands import Commands
from stacks.constructs.http.pages import Pages, PagesBucket
from stacks.constructs.http.throttle import GUARD_AT_ONCE
from stacks.constructs.last_close import LastClose
from stacks.constructs.ledger import Ledger
from stacks.constructs.pool.curfew import Curfew
from stacks.constructs.pool.node_pool.bar_tried import launch_bar_step
from stacks.constructs.pool.node_pool.lock_off import lock_off_steps
from stacks.constructs.rule_queues import admit_rules_together
from stacks.constructs.slack import Slack
from stacks.constructs.workflows.change import ChangeLab
from stacks.constructs.workflows.close_lab import CloseLab
from stacks.constructs.workflows.doctor import Doctor
from stacks.constructs.workflows.experiment import RunExperiment
from stacks.constructs.workflows.extend import ExtendLease
from stacks.constructs.workflows.open_lab import ADMITTED_AFTER_RUNS, ADMITTED_WITHIN, OpenLab
from stacks.constructs.workflows.workflows import accept_invocations
from stacks.names import Names


class ControllerStack(Stack):
    """All resources that open, guard and close the pools of one lab."""

    def __init__(self, scope: Construct, construct_id: str, *, lab: Lab, names: Names) -> None:
        super().__init__(
            scope, construct_id, env={"region": lab.region}, description=f"GPU lab {lab.name}: the controller"
        )
        permissions = Permissions(lab, names)
        ledger = Ledger(self, "Ledger", table_name=names.ledger)
        channels = Channels(self, "Channels", names=names, notify=lab.notify)
        schedules = Schedules(
            self,
            "Schedules",
            names=names,
            permissions=permissions,
            dead_letters_arn=channels.dead_letters.queue_arn,
            failsafe_failed_arn=channels.failsafe_failed.queue_arn,
            looks_again=bool(lab.guard.look_again),
        )
        failsafe = failsafe_machine(self, lab, names, channels)
        code = FunctionCode(self, "Code", lab=lab)
        shelf = PagesBucket(self, "Shelf")
        functions = LabFunctions(
            self,
            "Functions",
            names=names,
            code=code,
            permissions=permissions,
            channels=channels,
            pages=shelf.bucket,
            failsafe_machine=bool(failsafe),
            falls_back=lab.falls_back,
            looks_again=bool(lab.guard.look_again),
        )
        functions.guard.reserve(lab.guard.reserved_concurrency)
        pages = Pages(
            self,
            "PagesToLookAt",
            names=names,
            code=code,
            permissions=permissions,
            bucket=shelf.bucket,
            stream_arn=ledger.stream_arn,
            deploy=functions.deploy,
        )
        doctor = Doctor(
            self, "Doctor", lab=lab, names=names, code=code, permissions=permissions, channels=channels
        )
        commands = Commands(self, "Commands", names=names, code=code, permissions=permissions)
        slack = lab.slack and Slack(
            self,
            "Slack",
            lab=lab,
            slack=lab.slack,
            names=names,
            code=code,
            permissions=permissions,
            channels=channels,
            pages=shelf.bucket,
            stream_arn=ledger.stream_arn,
        )
        events = lab.events and Events(
            self,
            "Events",
            lab=lab,
            names=names,
            code=code,
            permissions=permissions,
            channels=channels,
            stream_arn=ledger.stream_arn,
        )
        classes = class_function(self, lab=lab, names=names, code=code, permissions=permissions)
        steps = {**functions.by_name(), **({"classes": classes.function} if classes else {})}
        close = CloseLab(self, "CloseLab", names=names, functions=steps)
        opening = OpenLab(
            self,
            "OpenLab",
            names=names,
            functions=steps,
            close_lab=close.workflow,
            admission=ADMITTED_AFTER_RUNS if lab.pools_with("failsafe machine") else ADMITTED_WITHIN,
            adopts_node_pools=any(lab.pools[pool].existing for pool in lab.pools_with("launch bar")),
            falls_back=lab.falls_back,
        )
        extend = ExtendLease(self, "ExtendLease", names=names, functions=steps)
        change = ChangeLab(self, "ChangeLab", names=names, functions=steps)
        experiment = RunExperiment(self, "Experiment", names=names, functions=steps)
        for picture in (close, opening, extend, change, experiment):
            accept_invocations(picture, steps.values())
        rules = Rules(
            self,
            "Rules",
            lab=lab,
            names=names,
            guard=functions.guard,
            guard_at_once=GUARD_AT_ONCE,
            planner=functions.planner.function,
            nodegroups=permissions.nodegroup_names,
            groups=group_names(lab),
            close_lab=close.workflow,
            pages=channels.pages,
            dead_letters=channels.dead_letters,
        )
        alarms = Alarms(
            self,
            "Alarms",
            lab=lab.name,
            swept=channels.swept,
            failsafe_failed=channels.failsafe_failed,
            pages=channels.pages,
        )
        if lab.observability.dashboard:
            Dashboard(
                self,
                "Dashboard",
                lab=lab.name,
                swept=channels.swept,
                functions=[names.function(name) for name in (*steps, "planner", "pages", "commands")],
            )
        digest = hashlib.sha256(lab.to_json().encode()).hexdigest()[:16]
        curfew = Curfew(
            self,
            "Curfew",
            lab=lab,
            names=names,
            schedules=schedules,
            deploy=functions.deploy,
            dead_letters=channels.failsafe_failed,
            digest=digest,
        )
        entries = cluster_access(
            self,
            lab=lab,
            names=names,
            roles={
                "cluster": functions.cluster.role,
                "diagnosis": functions.diagnosis.role,
                "doctor": doctor.function.role,
                "experiments": functions.experiments.role,
                "guard": functions.guard.role,
                "leases": functions.leases.role,
                "nodegroups": functions.nodegroups.role,
                "deploy": functions.deploy.role,
                "planner": functions.planner.role,
                **({"classes": classes.role} if classes else {}),
            },
        )
        claims = [self._claim(lab, names, pool) for pool in lab.pools]
        # A claim that another lab holds fails the deploy before a function of this lab knows the pool.
        functions.node.add_dependency(*claims)
        curfew.node.add_dependency(*claims, *failsafe)
        everything: list[IConstruct] = [
            ledger,
            channels,
            schedules,
            functions,
            shelf,
            pages,
            doctor,
            commands,
            *(part for part in (slack, events, classes) if part),
            close,
            opening,
            extend,
            change,
            experiment,
            rules,
            *failsafe,
            curfew,
            *entries,
        ]
        if lab.cluster.existing is not None and lab.pools_with("launch bar"):
            everything += self._node_pool_steps(lab, names, functions, entries)
        plan = deploy_step(
            self,
            "PlanNow",
            kind="Plan",
            function=functions.deploy,
            properties={"Digest": digest},
        )
        plan.node.add_dependency(*everything)
        # A sweep publishes its success only after the planner has run.
        swept = deploy_step(
            self,
            "FirstSweep",
            kind="Swept",
            function=functions.deploy,
            properties={"Topic": channels.swept.topic_arn},
            timeout=Duration.minutes(11),
        )
        swept.node.add_dependency(plan)
        alarms.guard_silent.node.add_dependency(swept)
        pools = pools_step(self, lab.pools, function=functions.deploy)
        budget = lab.guard.budget
        currency = deploy_step(
            self,
            "Currency",
            kind="Currency",
            function=functions.deploy,
            properties={"Currency": budget.currency, "Period": budget.period, "TimeZone": lab.time_zone},
        )
        # Its function reads the ledger, so the functions' permissions come first.
        currency.node.add_dependency(ledger, functions)
        last = LastClose(
            self,
            "LastClose",
            names=names,
            deploy=functions.deploy,
            pools=list(lab.pools),
            close_lab=close.workflow,
        )
        # CloudFormation deletes it first, so all that closes pools, or tells of it, exists until zero is proven.
        last.closed.node.add_dependency(*everything, plan, pools, currency, swept, alarms)

        admit_rules_together(channels.dead_letters)
        # The command line and people read these outputs.
        for name, value in {
            "LabName": lab.name,
            "Region": lab.region,
            "ClusterName": names.cluster,
            "LedgerTable": names.ledger,
            "CommandsUrl": commands.url,
            "OpenLabArn": opening.workflow.state_machine_arn,
            "CloseLabArn": close.workflow.state_machine_arn,
            "ExtendLeaseArn": extend.workflow.state_machine_arn,
            "ChangeLabArn": change.workflow.state_machine_arn,
            "ExperimentArn": experiment.workflow.state_machine_arn,
            "PagesBucket": shelf.bucket.bucket_name,
            **({"SlackUrl": slack.url, "SlackSecretArn": slack.secret_arn} if slack else {}),
            **({"EventBusName": names.event_bus} if events else {}),
        }.items():
            CfnOutput(self, name, value=value)

    def _node_pool_steps(
        self, lab: Lab, names: Names, functions: LabFunctions, entries: Sequence[IConstruct]
    ) -> list[IConstruct]:
        """Of an adopted cluster: a try of the launch bar at a deploy, and the locks taken off at a destroy."""
        tried = launch_bar_step(self, lab, cluster_name=names.cluster, function=functions.deploy)
        tried.node.add_dependency(functions, *entries)
        locks = lock_off_steps(self, lab, function=functions.deploy)
        for step in locks:
            step.node.add_dependency(functions)
        return [tried, *locks]

    def _claim(self, lab: Lab, names: Names, pool: str) -> ssm.CfnParameter:
        """One guarded node group belongs to one lab: a second claim fails, since the parameter's name is taken."""
        return ssm.CfnParameter(
            self,
            f"Claim-{pool}",
            name=names.claim(identity(lab, pool).name),
            type="String",
            value=lab.name,
            description=f"The lab that guards this {lab.pools[pool].noun}",
        )
