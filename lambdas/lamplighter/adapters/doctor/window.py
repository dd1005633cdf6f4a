"""Reads what is checked only before a window: who else uses the quotas, and the cluster's access entries."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.data.instance_types import gpu_type, quota
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.doctor.line import Unread
from lamplighter.domain.doctor.window import WindowFacts
from lamplighter.errors import LamplighterError
from lamplighter.lab.model import Lab

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_eks import EKSClient

RUNS = ("pending", "running")
"""States in which an instance counts against a quota
(https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html)."""


@border
class WindowReading:
    """The facts of one lab."""

    def __init__(self, ec2: "EC2Client | None" = None, eks: "EKSClient | None" = None) -> None:
        self._ec2: EC2Client = ec2 or client("ec2")
        self._eks: EKSClient = eks or client("eks")

    def facts(self, lab: Lab) -> WindowFacts:
        """The facts; of each that AWS does not give, the reason."""
        used: Mapping[str, int] | Unread
        entries: frozenset[str] | Unread
        try:
            used = self.used([identity(lab, pool).tags for pool in lab.pools])
        except LamplighterError as error:
            used = Unread(error.said)
        try:
            entries = self.entries(lab.cluster_name)
        except LamplighterError as error:
            entries = Unread(error.said)
        return WindowFacts(used, entries)

    def used(self, pools: Collection[Mapping[str, str]]) -> Mapping[str, int]:
        """vCPUs of running GPU instances that are in none of these pools, by the lab's keys for quotas."""
        vcpus: Counter[str] = Counter()
        with outside("ec2:DescribeInstances", "this region"):
            pages = self._ec2.get_paginator("describe_instances").paginate(
                Filters=[{"Name": "instance-state-name", "Values": list(RUNS)}], IncludeManagedResources=True
            )
            for instance in (
                one for page in pages for group in page["Reservations"] for one in group["Instances"]
            ):
                tags = {tag.get("Key", ""): tag.get("Value", "") for tag in instance.get("Tags", [])}
                kind = gpu_type(instance.get("InstanceType", ""))
                if kind is None or any(pool.items() <= tags.items() for pool in pools):
                    continue
                key = quota(kind.name, spot=instance.get("InstanceLifecycle") == "spot")
                if key is not None:
                    vcpus[key] += kind.vcpus
        return vcpus

    def entries(self, cluster: str) -> frozenset[str]:
        """The ARNs of the principals that have an access entry."""
        with outside("eks:ListAccessEntries", cluster):
            pages = self._eks.get_paginator("list_access_entries").paginate(clusterName=cluster)
            return frozenset(str(entry) for page in pages for entry in page["accessEntries"])
