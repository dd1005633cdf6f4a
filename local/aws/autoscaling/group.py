"""An Auto Scaling group: its bounds, its members, its activities, and AWS's texts about them.

Values only; scaling.py decides when something happens.
"""

import uuid
from dataclasses import dataclass, field
from datetime import datetime

from local.aws.api.own_services import Document

TERMINATING = "autoscaling:EC2_INSTANCE_TERMINATING"
#: Lifecycle states in which a member counts towards the desired capacity.
COUNTED = ("Pending", "InService")


@dataclass
class Activity:
    """One scaling activity; `ended` and 100 % once it is over."""

    group: str
    group_arn: str
    description: str
    cause: str
    started: datetime
    status: str = "InProgress"
    message: str | None = None
    ended: datetime | None = None
    details: str = "{}"
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def end(self, status: str, at: datetime, message: str | None = None) -> None:
        self.status, self.ended, self.message = status, at, message

    def document(self) -> Document:
        return {
            "ActivityId": self.id,
            "AutoScalingGroupName": self.group,
            "AutoScalingGroupARN": self.group_arn,
            "Description": self.description,
            "Cause": self.cause,
            "StartTime": self.started,
            "EndTime": self.ended,
            "StatusCode": self.status,
            "StatusMessage": self.message,
            "Progress": 100 if self.ended else 50,
            "Details": self.details,
        }


@dataclass
class Member:
    """An instance of a group. `token` is set while a lifecycle action waits for it."""

    id: str
    type: str
    zone: str
    template: Document
    activity: Activity
    joined: datetime
    state: str = "Pending"
    healthy: bool = True
    protected: bool = False
    token: str | None = None

    def counts(self) -> bool:
        return self.state in COUNTED

    def document(self) -> Document:
        return {
            "InstanceId": self.id,
            "InstanceType": self.type,
            "AvailabilityZone": self.zone,
            "LifecycleState": self.state,
            "HealthStatus": "Healthy" if self.healthy else "Unhealthy",
            "LaunchTemplate": self.template,
            "ProtectedFromScaleIn": self.protected,
        }


@dataclass
class Hook:
    """A lifecycle hook; `heartbeat` in seconds."""

    group: str
    name: str
    transition: str
    heartbeat: int = 3600
    default_result: str = "ABANDON"

    def document(self) -> Document:
        return {
            "LifecycleHookName": self.name,
            "AutoScalingGroupName": self.group,
            "LifecycleTransition": self.transition,
            "HeartbeatTimeout": self.heartbeat,
            "GlobalTimeout": min(172800, 100 * self.heartbeat),
            "DefaultResult": self.default_result,
        }


@dataclass
class Group:
    """`zones` maps each subnet of the group to its availability zone."""

    name: str
    arn: str
    minimum: int
    maximum: int
    desired: int
    template: Document
    instance_type: str
    """The first choice of `types`."""
    zones: dict[str, str]
    created: datetime
    types: list[str] = field(default_factory=list)
    """Of a mixed instances policy, in order of preference; empty without one."""
    tags: dict[str, tuple[str, bool]] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    hooks: dict[str, Hook] = field(default_factory=dict)
    activities: list[Activity] = field(default_factory=list)
    suspended: set[str] = field(default_factory=set)
    scheduled: dict[str, Document] = field(default_factory=dict)
    """Scheduled actions, by name."""
    warm_pool: Document = field(default_factory=dict)
    """Its settings; empty without one."""
    protect_new: bool = False
    spot: bool = False
    """Whether it launches Spot Instances."""
    rebalances: bool = False
    """Whether it replaces a Spot Instance at a rebalance recommendation."""
    at_risk: dict[str, str] = field(default_factory=dict)
    """Members that leave once their replacement is in service, by its id."""
    #: Why the desired capacity has its value: the beginning of the next activity's cause.
    request: str = ""
    #: When the bounds last changed, as an epoch.
    resized: float = 0.0
    #: Whether a launch passed over a zone that had no capacity.
    passed_over: bool = False
    failures: int = 0
    retry_at: float = 0.0

    @property
    def nodegroup(self) -> str:
        """The EKS node group of this group; "" for any other group."""
        return self.tags.get("eks:nodegroup-name", ("", False))[0]

    def counted(self) -> list[Member]:
        return [member for member in self.members.values() if member.counts()]

    def _launched_from(self) -> Document:
        if not self.types:
            return {"LaunchTemplate": self.template}
        template = {
            "LaunchTemplateSpecification": self.template,
            "Overrides": [{"InstanceType": name} for name in self.types],
        }
        # EKS user guide, managed-node-groups: On-Demand is `prioritized`, by the order of the types.
        distribution: Document = {
            "OnDemandAllocationStrategy": "prioritized",
            "OnDemandPercentageAboveBaseCapacity": 100,
        }
        if self.spot:
            distribution = {
                "SpotAllocationStrategy": "price-capacity-optimized",
                "OnDemandPercentageAboveBaseCapacity": 0,
            }
        policy = {"LaunchTemplate": template, "InstancesDistribution": distribution}
        return {"MixedInstancesPolicy": policy}

    def tag_documents(self) -> list[Document]:
        return [
            {
                "ResourceId": self.name,
                "ResourceType": "auto-scaling-group",
                "Key": key,
                "Value": value,
                "PropagateAtLaunch": propagated,
            }
            for key, (value, propagated) in self.tags.items()
        ]

    @property
    def unbalanced(self) -> bool:
        """Whether AZRebalance would move an instance to another zone."""
        members = [member.zone for member in self.counted()]
        held = [members.count(zone) for zone in set(self.zones.values())]
        return max(held) - min(held) > 1

    def next_zone_order(self) -> list[tuple[str, str]]:
        """Subnets with their zones, the emptiest zone first, because a balanced group launches there."""
        members = [member.zone for member in self.counted()]
        return sorted(self.zones.items(), key=lambda pair: members.count(pair[1]))

    def victims(self, number: int) -> list[Member]:
        """The members that a scale-in takes: from the fullest zone, the oldest first, as the default policy does."""
        chosen: list[Member] = []
        left = [member for member in self.counted() if not member.protected]
        while left and len(chosen) < number:
            zones = [member.zone for member in left]
            victim = min(left, key=lambda member: (-zones.count(member.zone), member.joined))
            left.remove(victim)
            chosen.append(victim)
        return chosen

    def document(self) -> Document:
        return {
            "AutoScalingGroupName": self.name,
            "AutoScalingGroupARN": self.arn,
            **self._launched_from(),
            "MinSize": self.minimum,
            "MaxSize": self.maximum,
            "DesiredCapacity": self.desired,
            "DefaultCooldown": 300,
            "AvailabilityZones": sorted(set(self.zones.values())),
            "LoadBalancerNames": [],
            "TargetGroupARNs": [],
            "HealthCheckType": "EC2",
            "HealthCheckGracePeriod": 15,
            "Instances": [member.document() for member in self.members.values()],
            "CreatedTime": self.created,
            "SuspendedProcesses": [
                {"ProcessName": name, "SuspensionReason": "User suspended"} for name in sorted(self.suspended)
            ],
            "VPCZoneIdentifier": ",".join(self.zones),
            "EnabledMetrics": [],
            "Tags": self.tag_documents(),
            "TerminationPolicies": ["Default"],
            "NewInstancesProtectedFromScaleIn": self.protect_new,
            "ServiceLinkedRoleARN": self.arn.split(":autoScalingGroup")[0].replace(
                f"autoscaling:{self.arn.split(':')[3]}", "iam:"
            )
            + ":role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling",
            "CapacityRebalance": self.rebalances,
            "TrafficSources": [],
        } | ({"WarmPoolConfiguration": self.warm_pool, "WarmPoolSize": 0} if self.warm_pool else {})


def instant(moment: datetime) -> str:
    """An instant as the cause of an activity writes it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
