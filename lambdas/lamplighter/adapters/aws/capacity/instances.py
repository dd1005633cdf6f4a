"""EC2 instances of a pool, found by the tags that prove them, and the instance type of a launch template."""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import THROTTLED, client, error_code, outside
from lamplighter.adapters.border import border
from lamplighter.adapters.checked import checked, instance_id
from lamplighter.domain.capacity.evidence import Instance, Interruption, InterruptionCause
from lamplighter.errors import OutsideFailed

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import FilterTypeDef, InstanceTypeDef, ResponseLaunchTemplateDataTypeDef

CLUSTER_TAG = "eks:eks-cluster-name"
"""On the instances of Karpenter and of EKS Auto Mode."""
AUTO_SCALING_GROUP = "aws:autoscaling:groupName"
TAKEN = (
    "marked-for-termination",
    "instance-terminated-by-experiment",
    "instance-terminated-by-price",
    "instance-terminated-by-service",
    "instance-terminated-capacity-oversubscribed",
    "instance-terminated-no-capacity",
)
"""Codes of a Spot request whose instance EC2 takes or took
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-request-status.html)."""
STATES = frozenset({"pending", "running", "shutting-down", "terminated", "stopping", "stopped"})
"""https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceState.html"""
_TYPE = re.compile(r"[a-z0-9-]{1,40}\.[a-z0-9-]{1,40}")
NOT_FOUND = "InvalidInstanceID.NotFound"
# "User initiated (2026-11-20 12:14:18 GMT)": only here EC2 says when an instance ended.
_ENDED = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:GMT|UTC)\)")


@border
class Instances:
    """The instances of the account and region."""

    def __init__(self, ec2: "EC2Client | None" = None) -> None:
        self._given = ec2

    @cached_property
    def _ec2(self) -> "EC2Client":
        """Made on first use: EC2's model loads slower than all the others together, and few events need it."""
        made: EC2Client = self._given or client("ec2")
        return made

    def connect(self) -> None:
        """Make the client now."""
        self._ec2  # noqa: B018 -- cached_property keeps it

    def tagged(
        self, tags: Mapping[str, str], subject: str, controller: str = AUTO_SCALING_GROUP
    ) -> tuple[Instance, ...]:
        """Every instance with all of these tags, those that ended in the last hour included.

        `controller` is the tag by which an instance names what started it.
        """
        listed = [_instance(instance, controller) for instance in self._described(tags, subject)]
        # Pages may have one twice; a lease counts them.
        found = {instance.id: instance for instance in listed}.values()
        return tuple(sorted(found, key=lambda instance: (instance.launched, instance.id)))

    def taken(self, instances: Sequence[str], subject: str) -> tuple[Interruption, ...]:
        """Those of these Spot Instances that EC2 is about to end or has ended, oldest first.

        EC2 itself says it of its Spot requests: an event about an instance may be late or forged. A request stays
        listed for hours after the end of its instance.
        """
        if not instances:
            return ()
        filters: list[FilterTypeDef] = [
            {"Name": "instance-id", "Values": sorted(instances)},
            {"Name": "status-code", "Values": list(TAKEN)},
        ]
        with outside("ec2:DescribeSpotInstanceRequests", subject):
            pages = self._ec2.get_paginator("describe_spot_instance_requests").paginate(Filters=filters)
            requests = [request for page in pages for request in page["SpotInstanceRequests"]]
            found = [
                checked(Interruption(instance, status["UpdateTime"], InterruptionCause.SPOT))
                for request in requests
                # A request without a status does not hide the others.
                if (instance := request.get("InstanceId", "")) in instances
                and (status := request.get("Status", {})).get("Code") in TAKEN
                and "UpdateTime" in status
            ]
        return tuple(sorted(found, key=lambda one: (one.at, one.claim)))

    def of_cluster(self, cluster: str) -> list[tuple[Instance, dict[str, str]]]:
        """Every instance with a tag that a cluster's nodes have, with its tags."""
        found: dict[str, tuple[Instance, dict[str, str]]] = {}
        for key, value in ((f"kubernetes.io/cluster/{cluster}", "owned"), (CLUSTER_TAG, cluster)):
            for instance in self._described({key: value}, cluster):
                found[instance["InstanceId"]] = _instance(instance, AUTO_SCALING_GROUP), _tags(instance)
        return list(found.values())

    def _described(self, tags: Mapping[str, str], subject: str) -> "Iterator[InstanceTypeDef]":
        with outside("ec2:DescribeInstances", subject):
            yield from described(self._ec2, tags)

    def template_type(self, template: str, version: str) -> str | None:
        """The instance type of a launch template; None where it has none."""
        return self._template(template, version).get("InstanceType")

    def template_user_data(self, template: str, version: str) -> str:
        """The user data of a launch template; empty where it has none."""
        return base64.b64decode(self._template(template, version).get("UserData", "")).decode(
            "utf-8", "replace"
        )

    def _template(self, template: str, version: str) -> "ResponseLaunchTemplateDataTypeDef":
        with outside("ec2:DescribeLaunchTemplateVersions", f"{template}, version {version}"):
            versions = self._ec2.describe_launch_template_versions(
                LaunchTemplateId=template, Versions=[version]
            )["LaunchTemplateVersions"]
        return versions[0]["LaunchTemplateData"] if versions else {}

    def terminate(self, instances: Sequence[str]) -> None:
        """Terminate instances that belong to no group. Instances that no longer exist are fine.

        One that EC2 does not know or will not end makes the whole call fail, and the others of it go on running
        (https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_TerminateInstances.html): then each has a call of
        its own. Raises the last error after the last call.
        """
        if not instances:
            return
        with outside("ec2:TerminateInstances", ", ".join(instances)):
            try:
                self._ec2.terminate_instances(InstanceIds=list(instances))
            except self._ec2.exceptions.ClientError as error:
                alone = len(instances) == 1
                if error_code(error) in THROTTLED or (alone and error_code(error) != NOT_FOUND):
                    raise
            else:
                return
        if not alone:
            self._terminate_each(instances)

    def _terminate_each(self, instances: Sequence[str]) -> None:
        failed: OutsideFailed | None = None
        for instance in instances:
            try:
                self.terminate([instance])
            except OutsideFailed as error:
                failed = error
        if failed is not None:
            raise failed


def described(ec2: "EC2Client", tags: Mapping[str, str]) -> "Iterator[InstanceTypeDef]":
    """Every instance with all of these tags, as EC2 describes it.

    EC2 leaves the instances of EKS Auto Mode out of a list, unless the call asks for managed resources
    (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/amazon-ec2-managed-instances.html). They bill all the same.
    """
    pages = ec2.get_paginator("describe_instances").paginate(
        Filters=[{"Name": f"tag:{key}", "Values": [value]} for key, value in tags.items()],
        IncludeManagedResources=True,
    )
    for page in pages:
        for reservation in page["Reservations"]:
            # EC2 describes none without instances. A half answer is not known, or nodes would not be there.
            yield from reservation["Instances"]


def _tags(found: "InstanceTypeDef") -> dict[str, str]:
    return {tag.get("Key", ""): tag.get("Value", "") for tag in found.get("Tags", [])}


def _instance(found: "InstanceTypeDef", controller: str) -> Instance:
    tags = _tags(found)
    state, kind = found["State"]["Name"], found["InstanceType"]
    if state not in STATES or not _TYPE.fullmatch(kind):
        # An ended one that seems to run would be a stray, and one of another type is removed.
        raise ValueError(f"no instance has the state {state[:80]!r} and the type {kind[:80]!r}")
    ended = _ENDED.search(found.get("StateTransitionReason", ""))
    return checked(
        Instance(
            id=instance_id(found["InstanceId"]),
            type=kind,
            zone=found.get("Placement", {}).get("AvailabilityZone", ""),
            state=state,
            launched=found["LaunchTime"],
            ended=(
                datetime.strptime(ended[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
                # An instance costs nothing from shutting-down on, however long that takes.
                if ended and state in {"shutting-down", "terminated", "stopped"}
                else None
            ),
            controller=tags.get(controller),
            private_dns=found.get("PrivateDnsName", ""),
        )
    )
