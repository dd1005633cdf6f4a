"""How an Auto Scaling group reaches its desired capacity, on timers.

It has launches, refusals and their retries, terminations with their lifecycle hooks, and the replacement of lost
instances. EKS registers as a listener. autoscaling.py sets the bounds of a group.
"""

import json
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from botocore.exceptions import ClientError
from moto.ec2.models import ec2_backends

from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext
from local.aws.autoscaling.group import TERMINATING, Activity, Group, Hook, Member, instant
from local.aws.ec2 import spot_requests
from local.aws.ec2.capacity.reservations import Reservations, named_by
from local.aws.ec2.ec2 import InstanceLives
from local.aws.ec2.launch_faults import AUTO_SCALING, Launch, LaunchFaults
from local.aws.timers import Timers

#: Seconds until a refused launch is tried again: the first time, and at most [est].
RETRY_SECONDS, LONGEST_RETRY_SECONDS = 60.0, 300.0
#: Seconds after which a group notices that somebody else ended an instance [est].
HEALTH_CHECK_SECONDS = 30.0
#: Seconds after which a group that passed over a zone looks whether the zone has capacity again [est].
BALANCE_SECONDS = 600.0


@dataclass
class Listeners:
    """Callbacks for other services. All are called on the thread of the timers, without the lock."""

    launched: list[Callable[[Group, Member], None]] = field(default_factory=list)
    refused: list[Callable[[Group, str], None]] = field(default_factory=list)
    waiting: list[Callable[[Group, Hook, Member], None]] = field(default_factory=list)
    gone: list[Callable[[Group, Member], None]] = field(default_factory=list)


class Scaling:
    """`lock` guards every group. Hold it to read or change one, but never while you call another service."""

    def __init__(
        self,
        service_context: ServiceContext,
        timers: Timers,
        lives: InstanceLives,
        faults: LaunchFaults,
        reservations: Reservations,
    ) -> None:
        self.groups: dict[str, Group] = {}
        self.lock = threading.RLock()
        self.listeners = Listeners()
        self._service_context = service_context
        self._clock = service_context.clock
        self._timers = timers
        self._faults = faults
        self.reservations = reservations
        lives.listen(self._instance_changed)

    def reconcile_soon(self, group: Group) -> None:
        """Brings the group to its desired capacity at once, without the delay of earlier refusals."""
        group.retry_at = 0.0
        self._timers.soon(lambda: self._reconcile(group))

    def retire(self, group: Group, member: Member, cause: str) -> Activity:
        """Takes a member out, through the terminating hook of the group if it has one."""
        with self.lock:
            activity = self._activity(group, f"Terminating EC2 instance: {member.id}", cause, member)
            member.activity = activity
            hook = next((h for h in group.hooks.values() if h.transition == TERMINATING), None)
            if hook is None or "Terminate" in group.suspended:
                self._timers.soon(lambda: self._terminate(group, member))
                member.state = "Terminating"
            else:
                member.state, member.token = "Terminating:Wait", str(uuid.uuid4())
                activity.status = "MidLifecycleAction"
                self._timers.soon(lambda: self._announce_wait(group, hook, member))
                token = member.token
                self._timers.after(hook.heartbeat, lambda: self.complete(group, member, token))
        return activity

    def replace_at_risk(self, instance: str) -> None:
        """A group that rebalances launches another instance first, and takes this one out once that is in service."""
        for group in list(self.groups.values()):
            if instance not in group.members or not group.rebalances:
                continue
            before = {*group.members}
            if self._launch(group):
                with self.lock:
                    group.at_risk[next(iter({*group.members} - before))] = instance

    def complete(self, group: Group, member: Member, token: str | None) -> None:
        """Ends the lifecycle action. A token that no longer waits changes nothing."""
        with self.lock:
            if member.state != "Terminating:Wait" or token != member.token:
                return
            member.state, member.token = "Terminating:Proceed", None
            member.activity.status = "InProgress"
        self._timers.soon(lambda: self._terminate(group, member))

    def _reconcile(self, group: Group) -> None:
        with self.lock:
            if self.groups.get(group.name) is not group or self._clock.time() < group.retry_at:
                return
            surplus = len(group.counted()) - group.desired
            if surplus > 0 and "Terminate" not in group.suspended:
                for member in group.victims(surplus):
                    self._shrink(group, member)
            missing = -surplus if "Launch" not in group.suspended else 0
        for _ in range(missing):
            if not self._launch(group):
                break

    def _balance(self, group: Group) -> None:
        """AZRebalance: once a zone has capacity again, starts an instance there, then ends one of the fullest zone.

        Its trigger and its words: EC2 Auto Scaling user guide, auto-scaling-benefits, and aws/containers-roadmap 1453.
        """
        if (
            self.groups.get(group.name) is not group
            or "AZRebalance" in group.suspended
            or not group.unbalanced
        ):
            return
        emptiest = group.next_zone_order()[0][1]
        _, zone, _, refusal = self._place(group, self._template(group))
        if refusal is None and zone == emptiest and len(group.counted()) == group.desired:
            now = instant(self._clock.now())
            group.request = (
                f"At {now} instances were launched to balance instances in zones {zone} with other zones.  "
            )
            self._launch(group)
        else:
            self._timers.after(BALANCE_SECONDS, lambda: self._balance(group))

    def _shrink(self, group: Group, member: Member) -> None:
        now, before = instant(self._clock.now()), len(group.counted())
        cause = (
            f"{group.request}At {now} an instance was taken out of service in response to a difference"
            f" between desired and actual capacity, shrinking the capacity from {before} to {before - 1}."
            f"  At {now} instance {member.id} was selected for termination."
        )
        self.retire(group, member, cause)

    def _launch(self, group: Group) -> bool:
        now, before = instant(self._clock.now()), len(group.counted())
        cause = (
            f"{group.request}At {now} an instance was started in response to a difference between desired"
            f" and actual capacity, increasing the capacity from {before} to {before + 1}."
        )
        data = self._template(group)
        subnet, zone, kind, refusal = self._place(group, data)
        if refusal is None:
            try:
                instance = self._run_instance(group, subnet, kind, data)
            except ClientError as error:
                refusal = f"{error.response['Error']['Message']}. Launching EC2 instance failed."
        if refusal is not None:
            self._refuse(group, zone, cause, refusal)
            return False
        with self.lock:
            activity = self._activity(group, f"Launching a new EC2 instance: {instance}", cause, None)
            activity.status = "PreInService"
            activity.details = _details(subnet, zone)
            member = Member(
                id=instance,
                type=kind,
                zone=zone,
                template=dict(group.template),
                activity=activity,
                joined=self._clock.now(),
                protected=group.protect_new,
            )
            group.members[instance] = member
        return True

    def _template(self, group: Group) -> Document:
        """The data of its launch template."""
        template = group.template
        versions = {"LaunchTemplateId": template["LaunchTemplateId"], "Versions": [template["Version"]]}
        found = self._service_context.call("ec2", "describe_launch_template_versions", versions)
        data: Document = found["LaunchTemplateVersions"][0]["LaunchTemplateData"]
        return data

    def _place(self, group: Group, data: Document) -> tuple[str, str, str, str | None]:
        """The subnet, zone and type for a launch; or, if no zone can launch any type, the reason.

        A balanced group chooses the zone first, and in a zone the types in their order [est].
        """
        order, types = group.next_zone_order(), group.types or [group.instance_type]
        zones = [zone for _, zone in order]
        running = self.running() if any(map(self._faults.limits, types)) else []
        first: str | None = None
        for subnet, zone in order:
            others = [other for other in zones if other != zone]
            by = f"arn:aws:sts::{self._service_context.account_id}:{AUTO_SCALING}"
            for kind in types:
                launch = Launch(group.nodegroup, kind, subnet, zone, others, by, group.spot)
                refusal = self._faults.refusal(launch, running)
                if named_by(data):
                    # A reservation has its nodes, whatever else its zone lacks.
                    lacks = refusal is not None and refusal.code == "InsufficientInstanceCapacity"
                    refusal = None if lacks else refusal
                    refusal = refusal or self.reservations.refusal(data, kind, zone)
                if refusal is None:
                    group.passed_over = zone != order[0][1]
                    return subnet, zone, kind, None
                first = first or refusal.activity(spot=group.spot)
        return *order[0], types[0], first

    def running(self) -> list[str]:
        """The types of all instances that EC2 counts."""
        alive = {"Name": "instance-state-name", "Values": ["pending", "running"]}
        asked = {"Filters": [alive], "IncludeManagedResources": True}
        reservations = self._service_context.call("ec2", "describe_instances", asked)
        return [i["InstanceType"] for r in reservations["Reservations"] for i in r["Instances"]]

    def _run_instance(self, group: Group, subnet: str, kind: str, data: Document) -> str:
        tags = {key: value for key, (value, propagated) in group.tags.items() if propagated}
        tags["aws:autoscaling:groupName"] = group.name
        template = {k: v for k, v in group.template.items() if k in ("LaunchTemplateId", "Version")}
        # moto takes these only from the call.
        said: Document = {
            key: data[key] for key in ("ImageId", "MetadataOptions", "BlockDeviceMappings") if key in data
        }
        reply = self._service_context.call(
            "ec2",
            "run_instances",
            {
                "LaunchTemplate": template,
                "InstanceType": kind,
                **said,
                "MinCount": 1,
                "MaxCount": 1,
                "SubnetId": subnet,
                "TagSpecifications": [
                    {"ResourceType": "instance", "Tags": [{"Key": k, "Value": v} for k, v in tags.items()]}
                ],
            },
        )
        identity: str = reply["Instances"][0]["InstanceId"]
        self.reservations.take(data, identity)
        context = self._service_context
        if group.spot:
            spot_requests.bought(ec2_backends[context.account_id][context.region].get_instance(identity))
        return identity

    def _refuse(self, group: Group, zone: str, cause: str, refusal: str) -> None:
        with self.lock:
            subnet = next(name for name, its in group.zones.items() if its == zone)
            description = f"Launching a new EC2 instance.  Status Reason: {refusal}"
            activity = self._activity(group, description, cause, None)
            activity.details = _details(subnet, zone)
            activity.end("Failed", self._clock.now(), refusal)
            group.failures += 1
            delay = min(RETRY_SECONDS * 2 ** (group.failures - 1), LONGEST_RETRY_SECONDS)
            group.retry_at = self._clock.time() + delay
            self._timers.at(group.retry_at, lambda: self._reconcile(group))
        self._event(group, "EC2 Instance Launch Unsuccessful", activity, "")
        for listener in self.listeners.refused:
            listener(group, refusal)

    def _announce_wait(self, group: Group, hook: Hook, member: Member) -> None:
        detail = {
            "LifecycleActionToken": member.token,
            "AutoScalingGroupName": group.name,
            "LifecycleHookName": hook.name,
            "EC2InstanceId": member.id,
            "LifecycleTransition": hook.transition,
            "Origin": "AutoScalingGroup",
            "Destination": "EC2",
        }
        self._put_event("EC2 Instance-terminate Lifecycle Action", [group.arn], detail)
        for listener in self.listeners.waiting:
            listener(group, hook, member)

    def _terminate(self, group: Group, member: Member) -> None:
        self._service_context.end_instances([member.id])
        self._timers.soon(lambda: self._reconcile(group))

    def _instance_changed(self, instance: str, state: str) -> None:
        with self.lock:
            found = [(g, g.members[instance]) for g in self.groups.values() if instance in g.members]
        for group, member in found:
            if state == "running" and member.state == "Pending":
                self._in_service(group, member)
            elif state in ("shutting-down", "stopping") and member.counts():
                self._timers.after(HEALTH_CHECK_SECONDS, partial(self._lost, group, member))
            elif state == "terminated":
                self._removed(group, member)

    def _in_service(self, group: Group, member: Member) -> None:
        with self.lock:
            member.state = "InService"
            member.activity.end("Successful", self._clock.now())
            group.failures = 0
            if len(group.counted()) > group.desired:
                self.reconcile_soon(group)
            elif group.passed_over:
                self._timers.after(BALANCE_SECONDS, lambda: self._balance(group))
            leaving = group.members.get(group.at_risk.pop(member.id, ""))
        if leaving is not None:
            self.retire(group, leaving, "At risk of interruption, it was replaced by Capacity Rebalancing.")
        self._event(group, "EC2 Instance Launch Successful", member.activity, member.id)
        for listener in self.listeners.launched:
            listener(group, member)

    def _lost(self, group: Group, member: Member) -> None:
        with self.lock:
            if not member.counts():
                return
            now = instant(self._clock.now())
            member.healthy, member.state = False, "Terminating"
            member.activity = self._activity(
                group,
                f"Terminating EC2 instance: {member.id}",
                f"At {now} an instance was taken out of service in response to an EC2 health check"
                " indicating it has been terminated or stopped.",
                member,
            )
        self._reconcile(group)
        self._service_context.end_instances([member.id])

    def _removed(self, group: Group, member: Member) -> None:
        if member.counts():
            self._lost(group, member)
        with self.lock:
            if group.members.pop(member.id, None) is None:
                return
            member.activity.end("Successful", self._clock.now())
        self._event(group, "EC2 Instance Terminate Successful", member.activity, member.id)
        for listener in self.listeners.gone:
            listener(group, member)

    def _activity(self, group: Group, description: str, cause: str, member: Member | None) -> Activity:
        activity = Activity(group.name, group.arn, description, cause, self._clock.now())
        if member is not None:
            activity.details = member.activity.details
        group.activities.insert(0, activity)
        return activity

    def _event(self, group: Group, kind: str, activity: Activity, instance: str) -> None:
        detail = {
            "StatusCode": "Failed" if activity.status == "Failed" else "InProgress",
            "StatusMessage": activity.message or "",
            "Description": activity.description.partition("  Status Reason")[0],
            "AutoScalingGroupName": group.name,
            "ActivityId": activity.id,
            "RequestId": activity.id,
            "Details": json.loads(activity.details),
            "Cause": activity.cause,
            "StartTime": activity.started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "EndTime": self._clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "EC2InstanceId": instance,
            "Origin": "EC2" if "Launch" in kind else "AutoScalingGroup",
            "Destination": "AutoScalingGroup" if "Launch" in kind else "EC2",
        }
        region, account = self._service_context.region, self._service_context.account_id
        arn = [f"arn:aws:ec2:{region}:{account}:instance/{instance}"] if instance else []
        self._put_event(kind, [group.arn, *arn], detail)

    def _put_event(self, kind: str, resources: list[str], detail: Document) -> None:
        entry = {
            "Source": "aws.autoscaling",
            "DetailType": kind,
            "Resources": resources,
            "Detail": json.dumps(detail),
            "Time": self._clock.time(),
        }
        self._service_context.tell(entry)


def _details(subnet: str, zone: str) -> str:
    return json.dumps({"Subnet ID": subnet, "Availability Zone": zone})
