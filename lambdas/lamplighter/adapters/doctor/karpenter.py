"""Reads what a lab with NodePools needs: Karpenter, its queue and roles, the NodePools, their access, and the bar.

Each read stands by itself. One that fails has the reason instead of its fact.
"""

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.aws.capacity.queues import exists
from lamplighter.adapters.border import border
from lamplighter.adapters.capacity.node_pool.claims import Claims
from lamplighter.adapters.capacity.node_pool.karpenter import absent_kinds, controllers_of
from lamplighter.adapters.capacity.node_pool.launch_bar import LaunchBar
from lamplighter.adapters.capacity.node_pool.node_pools import NodePools
from lamplighter.adapters.doctor.readable import read
from lamplighter.adapters.doctor.spot_role import SpotRole
from lamplighter.adapters.kubernetes import existing_node_pools
from lamplighter.adapters.kubernetes.connection import Connection
from lamplighter.domain.capacity.node_pool import probe
from lamplighter.domain.capacity.node_pool.launch_bar import parameter_name, policy_name
from lamplighter.domain.capacity.node_pool.roles import launching_role, nodes_role
from lamplighter.domain.doctor.karpenter_facts import (
    BarState,
    KarpenterFacts,
    LaunchingRole,
    NodePoolFacts,
)
from lamplighter.domain.doctor.line import Unread
from lamplighter.domain.pool.node_pool_adoption import ExistingNodePool
from lamplighter.lab.model import Lab

if TYPE_CHECKING:
    from mypy_boto3_eks import EKSClient
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_sqs import SQSClient

T = TypeVar("T")


@border
class KarpenterReading:
    """One reading. The clients are made at once: boto3 cannot make them in several threads."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._eks: EKSClient = client("eks")
        self._iam: IAMClient = client("iam")
        self._sqs: SQSClient = client("sqs")

    def read(self, connection: Connection, caller_arn: str) -> KarpenterFacts:
        """All facts; `caller_arn` names the account and the partition."""
        lab = self._lab
        of_karpenter = bool(lab.pools_with("karpenter"))
        controllers = read(lambda: controllers_of(connection)) if of_karpenter else ()
        seen = () if isinstance(controllers, Unread) else controllers
        pools = {
            pool: read(partial(self._pool, connection, pool, caller_arn))
            for pool in lab.pools_with("node pool")
        }
        return KarpenterFacts(
            controllers=controllers,
            absent_kinds=read(lambda: tuple(absent_kinds(connection))) if of_karpenter else (),
            queues={one.queue: read(partial(exists, one.queue, self._sqs)) for one in seen if one.queue},
            spot_role=read(SpotRole(self._iam).exists) if any(map(_spot, pools.values())) else True,
            pools=pools,
        )

    def _pool(self, connection: Connection, pool: str, caller_arn: str) -> NodePoolFacts:
        found = existing_node_pools.node_pool(connection, self._lab.node_pool_name(pool))
        launching = launching_role(self._lab, pool)
        named = found.node_class.role if found and found.node_class else ""
        # Our own class names an instance profile.
        role = named or nodes_role(self._lab, pool) or ""
        return NodePoolFacts(
            found=found,
            bar=read(lambda: self._bar(connection, pool)),
            access=read(lambda: self._access(role, caller_arn)) if role else None,
            role=role,
            launching=read(lambda: self._policies(launching)) if launching else None,
        )

    def _bar(self, connection: Connection, pool: str) -> BarState:
        """What the API server answers to a claim that it must refuse: one without a grace, or one at a shut bar."""
        node_pool = NodePools(connection).read(self._lab.node_pool_name(pool))
        if node_pool is None:
            return BarState.NOTHING_TO_BAR
        ours = self._lab.pools[pool].existing is None
        claim = dict(probe.claim(node_pool, self._lab.pools[pool].types, ends=not ours))
        if not Claims(connection).admitted(claim, policy_name(self._lab)):
            return BarState.REFUSES
        until = None if ours else LaunchBar(connection, parameter_name(self._lab, pool)).read().until
        now = connection.server_time
        return BarState.OPEN if until and now and until > now else BarState.ACCEPTS

    def _access(self, role: str, caller_arn: str) -> str | None:
        _, partition, _, _, account, *_ = caller_arn.split(":")
        arn = f"arn:{partition}:iam::{account}:role/{role}"
        with outside("eks:DescribeAccessEntry", f"{self._lab.cluster_name}/{arn}"):
            try:
                entry = self._eks.describe_access_entry(clusterName=self._lab.cluster_name, principalArn=arn)[
                    "accessEntry"
                ]
            except self._eks.exceptions.ClientError as error:
                if error_code(error) != "ResourceNotFoundException":
                    raise
                return None
        return entry.get("type", "")

    def _policies(self, role: str) -> LaunchingRole:
        with outside("iam:ListRolePolicies", role):
            pages = self._iam.get_paginator("list_role_policies").paginate(RoleName=role)
            inline = tuple(name for page in pages for name in page["PolicyNames"])
        with outside("iam:ListAttachedRolePolicies", role):
            of_others = self._iam.get_paginator("list_attached_role_policies").paginate(RoleName=role)
            attached = tuple(
                one.get("PolicyName", "") for page in of_others for one in page["AttachedPolicies"]
            )
        return LaunchingRole(role, inline, attached)


def _spot(found: NodePoolFacts | Unread) -> bool:
    pool: ExistingNodePool | None = found.found if isinstance(found, NodePoolFacts) else None
    return pool is not None and "spot" in pool.capacity_types
