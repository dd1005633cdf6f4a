"""The dependencies of the node-group steps and the guard: one lab, its ledger and its AWS clients.

Reads a pool and its target. The steps decide when a size is written, and which.

Every pool is an EKS node group with its Auto Scaling group. To add a second kind of capacity:
1. Name it in lab/pools.py and in `Lab.nodegroup_name` (lab/model.py), and check it in labfile/rules/parts.py.
2. Write its adapter with the functions of adapters/aws/capacity/nodegroups.py and autoscaling.py, and choose it in
   `of_lab` below. It fills the values of domain/pool/evidence.py. It has to fill `ScalingGroup` too: without one
   the guard takes running nodes for strays and arms no failsafe.
3. sizes.py beside this file is the only writer of a size; steps.py, missing.py and lives.py read further.
   adapters/kubernetes/nodes.py finds nodes by a label, and domain/slack/asked/using.py shows that label.
4. Give domain/schedules/failsafe.py and stacks/constructs/pool/curfew.py a call that AWS makes without our code.
   domain/pool/zero.py is the proof of zero, and domain/guard/sizes.py holds the bounds.
5. Create or adopt it: stacks/constructs/pool/, stacks/constructs/functions/permissions.py, application/deploy/,
   domain/pool/adoption.py, data/rbac.yaml for what lives in Kubernetes. stacks/constructs/functions/trail_rules.py
   names the events that wake the guard.
6. Imitate it in local/ and in tests/world/.
These read node groups without this file: application/deploy/, application/views/pools.py, application/cluster/run.py,
adapters/doctor/collect.py, adapters/diagnosis/. Import an adapter of Kubernetes on first use: at the top it is loaded
by every function that imports this file, and tests/unit/project/test_deferred_imports.py fails.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from lamplighter import clock
from lamplighter.adapters.aws.capacity.autoscaling import AutoScaling
from lamplighter.adapters.aws.capacity.instances import Instances
from lamplighter.adapters.aws.capacity.nodegroups import NodeGroups
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.application import environment
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.pool.adopted import as_found
from lamplighter.domain.pool.evidence import Instance, NodeGroup, ScalingGroup
from lamplighter.domain.pool.target import Target, begun, target_at
from lamplighter.domain.pool.zero import ZeroProof, zero_proof
from lamplighter.domain.schedules.of_leases import held_back
from lamplighter.errors import BadInput
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from lamplighter.lab.model import Lab


@dataclass(frozen=True)
class PoolReading:
    """One pool as AWS shows it. The group was read before the instances."""

    nodegroup: NodeGroup | None
    group: ScalingGroup | None
    instances: tuple[Instance, ...]

    @property
    def alive(self) -> tuple[Instance, ...]:
        return tuple(instance for instance in self.instances if instance.alive)

    @property
    def existing(self) -> tuple[Instance, ...]:
        return tuple(instance for instance in self.instances if instance.exists)

    def zero(self, at: datetime, kubernetes_nodes: tuple[str, ...] | None, justified: int = 0) -> ZeroProof:
        """Law 7: what this reading, with the pool's nodes in Kubernetes, proves about the pool being at zero."""
        return zero_proof(
            at=at,
            nodegroup=self.nodegroup,
            group=self.group,
            instances=self.instances,
            kubernetes_nodes=kubernetes_nodes,
            justified=justified,
        )


@dataclass
class CapacityServices:
    """The lab, its ledger and the AWS clients for its pools."""

    lab: "Lab"
    ledger: Ledger
    nodegroups: NodeGroups
    autoscaling: AutoScaling
    instances: Instances

    def now(self) -> datetime:
        """The present instant, in UTC."""
        return clock.now()

    def nodegroup(self, pool: str) -> NodeGroup:
        """The pool's node group; BadInput when it does not exist."""
        name = self.lab.nodegroup_name(pool)
        nodegroup = self.nodegroups.read(name)
        if nodegroup is None:
            raise BadInput(
                reason("capacity.no-node-group", pool=pool, group=name, cluster=self.lab.cluster_name)
            )
        return nodegroup

    def group_of(self, nodegroup: NodeGroup) -> ScalingGroup | None:
        """The Auto Scaling group behind a node group: the one that EKS names, else the one with EKS's tags."""
        named = self.autoscaling.group(nodegroup.group) if nodegroup.group else None
        return named or self.autoscaling.group_of(nodegroup.cluster, nodegroup.name)

    def see(self, pool: str) -> PoolReading:
        """The pool's node group, its Auto Scaling group and every instance with the pool's tags."""
        name = self.lab.nodegroup_name(pool)
        nodegroup = self.nodegroups.read(name)
        group = (
            self.group_of(nodegroup) if nodegroup else self.autoscaling.group_of(self.lab.cluster_name, name)
        )
        return PoolReading(nodegroup, group, self.instances.of_nodegroup(self.lab.cluster_name, name))

    def max_nodes(self, pool: str, nodegroup: NodeGroup | None) -> int:
        """The maximum in the lab file, or that of the node group where an adopted pool has none there."""
        stated = self.lab.pools[pool].max_nodes
        return stated or (nodegroup.maximum if nodegroup else 0)

    def as_found(self, pool: str, lab: "Lab | None" = None) -> "Lab":
        """The lab in which an adopted pool has the values that AWS has now, or had when they were last read.

        BadInput where there is no node group and its values were never read.
        """
        lab = lab or self.lab
        if not lab.pools[pool].unstated:
            return lab
        group = self.nodegroups.read(lab.nodegroup_name(pool))
        if group is None:
            kept = environment.as_kept(lab, self.ledger)
            if kept.pools[pool].unstated:
                self.nodegroup(pool)  # raises BadInput
            return kept
        types = group.instance_types
        named = types[0] if types else group.template and self.instances.template_type(*group.template)
        return as_found(lab, pool, group, named or None)

    def target(self, pool: str, nodegroup: NodeGroup | None, opening: str | None = None) -> Target:
        """The target of the pool's leases now; with `opening`, only of that lease and those that are open."""
        now = self.now()
        leases = self.ledger.leases(pool)
        leases = begun(leases, opening) if opening else without_held_back(leases, self.ledger, now)
        return target_at(leases, now, self.max_nodes(pool, nodegroup))


def without_held_back(leases: Sequence[Lease], ledger: Ledger, at: datetime) -> list[Lease]:
    """The leases except those that a pause keeps from opening. Pauses are read only where a lease waits to open."""
    if not any(
        lease.state is LeaseState.ADMITTED and lease.ordered is None and lease.in_force(at)
        for lease in leases
    ):
        return list(leases)

    held = held_back(leases, ledger.pauses(), at)
    return [lease for lease in leases if lease.id not in held]


@cache
def deployed() -> CapacityServices:
    """The lab that this function belongs to, from its environment."""
    return of_lab(environment.lab(), Ledger(environment.ENVIRONMENT.ledger_table))


def of_lab(lab: "Lab", ledger: Ledger) -> CapacityServices:
    """The pools of a lab, in the account and region of the AWS settings."""
    return CapacityServices(
        lab=lab,
        ledger=ledger,
        nodegroups=NodeGroups(lab.cluster_name),
        autoscaling=AutoScaling(),
        instances=Instances(),
    )
