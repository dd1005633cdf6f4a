"""Reads what is checked only before a window: who else uses the quotas, and the cluster's access entries."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.adapters.doctor.readable import read
from lamplighter.data.instance_types import gpu_type, quota
from lamplighter.domain.capacity.kinds import identity
from lamplighter.domain.doctor.window import WindowFacts
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_eks import EKSClient

RUNS = ("pending", "running")
"""A running instance counts against a quota, and a pending one soon will
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-on-demand-instances.html). Unused reservations and open Spot
requests count as well; nobody reads them here."""
BLOCK = "capacity-block"
"""The lifecycle of an instance that counts against no quota."""


@border
class WindowReading:
    """The facts of one lab."""

    def __init__(self, ec2: "EC2Client | None" = None, eks: "EKSClient | None" = None) -> None:
        self._ec2: EC2Client = ec2 or client("ec2")
        self._eks: EKSClient = eks or client("eks")

    def facts(self, lab: Lab) -> WindowFacts:
        """The facts; of each that AWS does not give, the reason."""
        tags = [identity(lab, pool).tags for pool in lab.pools]
        return WindowFacts(read(lambda: self.used(tags)), read(lambda: self.entries(lab.cluster_name)))

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
                name, lifecycle = instance.get("InstanceType", ""), instance.get("InstanceLifecycle")
                key = quota(name, spot=lifecycle == "spot")
                if key is None or lifecycle == BLOCK or any(pool.items() <= tags.items() for pool in pools):
                    continue
                kind = gpu_type(name)
                if kind is None:
                    raise OutsideFailed(
                        reason("doctor.readiness.vcpus", type=name[:40]), "ec2:DescribeInstances"
                    )
                vcpus[key] += kind.vcpus
        return vcpus

    def entries(self, cluster: str) -> frozenset[str]:
        """The ARNs of the principals that have an access entry."""
        with outside("eks:ListAccessEntries", cluster):
            pages = self._eks.get_paginator("list_access_entries").paginate(clusterName=cluster)
            return frozenset(str(entry) for page in pages for entry in page["accessEntries"])
