"""What the demo reads from outside: samples of AWS, Kubernetes and the ledger at instants.

It reads with the account's own key, independent of our functions. laws.py judges the samples.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import boto3
from botocore.config import Config

from lamplighter.adapters.aws.calls import CALLED
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.leases.lease import Lease
from local.kubernetes.api import KubernetesApi

LIVE = ("pending", "running", "stopping", "shutting-down")


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of one pool. `failsafe` has the instant of each of its schedules."""

    at: datetime
    instances: tuple[str, ...]
    desired: int
    kubernetes_nodes: tuple[str, ...]
    failsafe: tuple[datetime, ...]
    leases: tuple[Lease, ...]
    committed: str
    """Held plus spent money of the present budget period, as a decimal number."""

    def justified(self) -> int:
        """How many nodes the leases in force justify."""
        return sum(lease.nodes for lease in self.leases if lease.in_force(self.at))


@dataclass(frozen=True, slots=True)
class Kind:
    """By what instances and nodes of a kind of capacity are known, and whether Kubernetes has its size."""

    tag: str
    label: str
    sized_in_kubernetes: bool


NODE_GROUP = Kind("eks:nodegroup-name", "eks.amazonaws.com/nodegroup", sized_in_kubernetes=False)
NODE_POOL = Kind("karpenter.sh/nodepool", "karpenter.sh/nodepool", sized_in_kubernetes=True)


@dataclass(frozen=True, slots=True)
class Pool:
    """The names of the pool's resources. `nodegroup` is its node group, or its NodePool."""

    name: str
    cluster: str
    nodegroup: str
    schedule_group: str
    kind: Kind = NODE_GROUP


class Outside:
    """The readers. `session` has the embedded cloud's endpoint, region and administrator key."""

    def __init__(
        self, session: boto3.session.Session, endpoint: str, ledger: Ledger, nodes: "NodeReader"
    ) -> None:
        config = Config(retries={"total_max_attempts": 2}, read_timeout=30, user_agent=CALLED)
        self._clients: dict[str, Any] = {
            service: session.client(service, endpoint_url=endpoint, config=config)
            for service in ("ec2", "eks", "scheduler")
        }
        self._ledger = ledger
        self._nodes = nodes

    def look(self, pool: Pool, at: datetime, committed: str) -> Sample:
        """One sample. Every read is a call to AWS or Kubernetes; nothing comes from our functions."""
        return Sample(
            at=at,
            instances=self._instances(pool),
            desired=self._desired(pool),
            kubernetes_nodes=self._nodes(pool),
            failsafe=self._failsafe(pool),
            leases=tuple(self._ledger.leases(pool.name)),
            committed=committed,
        )

    def entries(self, pool: str, since: datetime) -> list[Entry]:
        """The entries of the ledger's audit trail since an instant."""
        return list(self._ledger.audit(pool, since))

    def _instances(self, pool: Pool) -> tuple[str, ...]:
        reply = self._clients["ec2"].describe_instances(
            Filters=[
                {"Name": f"tag:{pool.kind.tag}", "Values": [pool.nodegroup]},
                {"Name": "instance-state-name", "Values": list(LIVE)},
            ],
            # EC2 hides the instances of EKS Auto Mode from any other list.
            IncludeManagedResources=True,
        )
        return tuple(
            sorted(found["InstanceId"] for group in reply["Reservations"] for found in group["Instances"])
        )

    def _desired(self, pool: Pool) -> int:
        if pool.kind.sized_in_kubernetes:
            return self._nodes.replicas(pool)
        reply = self._clients["eks"].describe_nodegroup(
            clusterName=pool.cluster, nodegroupName=pool.nodegroup
        )
        return int(reply["nodegroup"]["scalingConfig"]["desiredSize"])

    def _failsafe(self, pool: Pool) -> tuple[datetime, ...]:
        scheduler, group = self._clients["scheduler"], pool.schedule_group
        try:
            found = scheduler.list_schedules(GroupName=group, NamePrefix=f"failsafe-{pool.name}-")
        except scheduler.exceptions.ResourceNotFoundException:
            return ()  # before the lab is deployed, and after it is destroyed
        instants = (self._fires(group, one["Name"]) for one in found["Schedules"])
        return tuple(sorted(instant for instant in instants if instant is not None))

    def _fires(self, group: str, name: str) -> datetime | None:
        scheduler = self._clients["scheduler"]
        try:
            found = scheduler.get_schedule(GroupName=group, Name=name)
        except scheduler.exceptions.ResourceNotFoundException:
            return None  # it ran or was deleted after it was listed
        return _at(found["ScheduleExpression"])


def _at(expression: str) -> datetime:
    return datetime.fromisoformat(expression.removeprefix("at(").removesuffix(")") + "+00:00")


class NodeReader:
    """What Kubernetes has of a pool, read as the cluster's administrator."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    def __call__(self, pool: Pool) -> tuple[str, ...]:
        """The names of its nodes."""
        found = self._api.get(f"/api/v1/nodes?labelSelector={pool.kind.label}%3D{pool.nodegroup}")
        return tuple(sorted(node["metadata"]["name"] for node in found["items"]))

    def replicas(self, pool: Pool) -> int:
        """The size of its NodePool."""
        return int(self._api.get(f"/apis/karpenter.sh/v1/nodepools/{pool.nodegroup}")["spec"]["replicas"])
