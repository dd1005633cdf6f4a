"""NodePools as the capacity of a world: those of Karpenter and of EKS Auto Mode, with launch bar and failsafe."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from lamplighter.domain.capacity.node_pool import launch_bar, lock, off_switch
from lamplighter.domain.capacity.node_pool.kind import AUTO_MODE, CLUSTER_TAG, KARPENTER
from lamplighter.domain.capacity.node_pool.roles import launching_role
from stacks.constructs.pool.node_pool.manifest import node_pool
from tests.world.aws.cluster import Cluster
from tests.world.aws.ec2 import Ec2
from tests.world.aws.failsafe import failsafe_of, tasks_of
from tests.world.aws.machines import Machine
from tests.world.aws.roles import Roles
from tests.world.aws.security_groups import SecurityGroups
from tests.world.capacity.karpenter import Followed, Karpenter
from tests.world.capacity.supply import Heard, Json, Rail, Site, SizeStep, Task
from tests.world.kubernetes.node_pool_objects import LABEL, Admission, NodePoolObjects
from tests.world.outside import ACCOUNT, REGION

KINDS = {kind.code: kind for kind in (KARPENTER, AUTO_MODE)}


class NodePools:
    """A NodePool for each pool that is one, with its claims and its launch bar."""

    def __init__(self, site: Site) -> None:
        self._lab, self._kubernetes = site.lab, site.kubernetes
        self.heard = Heard()
        self.machines = site.machines
        self.roles = Roles(site.event_queue, site.chance)
        self.objects = NodePoolObjects(site.event_queue)
        self.objects.node_deleted = self._node_deleted
        self.objects.ordered = self._ordered
        self.karpenter = Karpenter(
            self.objects,
            site.event_queue,
            site.chance,
            site.machines,
            self.roles,
            self.heard,
            reachable=lambda: not site.kubernetes.health.silent,
            holds=lambda machine: machine.guarded or site.kubernetes.health.stubborn,
        )
        site.machines.controller = self.karpenter
        site.kubernetes.others = self.objects.answer
        self.ec2 = Ec2(site.machines, site.lab, lambda: site.event_queue.now)
        # The laws put themselves there later.
        self.ec2.ends = lambda ids, end: self.heard.terminated(ids, end)  # noqa: PLW0108
        self.security_groups: SecurityGroups = self.ec2
        self.eks = Cluster(site.lab.cluster_name)
        self.services: Mapping[str, object] = {"eks": self.eks, "ec2": self.ec2, "iam": self.roles}
        self.targets: Mapping[str, Callable[[Json], object]] = {}

    @property
    def workflows(self) -> Mapping[str, Json]:
        """The failsafe, as the controller's stack defines it."""
        return {f"{self._lab.name}-{off_switch.MACHINE}": failsafe_of(self._lab)}

    @property
    def tasks(self) -> Mapping[str, Task]:
        """What its states call."""
        return tasks_of(self.eks, self.ec2, self.roles, self._kubernetes)

    def install(self) -> AbstractContextManager[object]:
        return nullcontext()

    def create(self, pool: str, maximum: int) -> None:
        """The NodePool of the cluster stack at zero, and its launch bar, which nobody has opened."""
        del maximum
        name, kind = self._lab.node_pool_name(pool), KINDS[self._lab.pools[pool].kind]
        if name in self.objects.node_pools:
            return
        self.objects.bars[name] = Admission(
            launch_bar.policy_name(self._lab),
            launch_bar.parameter_name(self._lab, pool),
            acts=self._lab.mode(pool) == "enforce",
        )
        self.karpenter.followed[name] = Followed(
            name,
            pool,
            self._lab.pools[pool].last_grace,
            tags={kind.pool_tag: name, CLUSTER_TAG: self._lab.cluster_name},
            role=launching_role(self._lab, pool),
            managed=kind is AUTO_MODE,
            started_tag=kind.started_tag,
        )
        self.objects.node_pools[name] = dict(node_pool(self._lab, pool, replicas=0))

    def barred(self, pool: str) -> bool:
        """A pool that is only watched is not shut."""
        return self.objects.bars[self._name(pool)].acts

    def size_step(self, pool: str) -> SizeStep:
        names = {"Cluster": self._lab.cluster_name, "NodePool": self._name(pool)}
        return SizeStep("NodePoolSize", "Replicas", names)

    def locked(self, pool: str) -> bool:
        """By the lock's own name, on the role that launches."""
        of = self.karpenter.followed[self._name(pool)]
        return (of.role or "", lock.policy_name(of.name)) in self.roles.policies

    def anew(self, pool: str) -> bool:
        """Only a change of `replicas` cuts its wait after a refused claim short."""
        return True

    def size(self, pool: str) -> int:
        """The replicas, as far as the limit lets them come."""
        return self.objects.size(self._name(pool))

    def staying(self, pool: str) -> list[Machine]:
        """The instances of claims that nobody has deleted."""
        claims = self.objects.of(self._name(pool))
        return [claim.machine for claim in claims if claim.machine and claim.deleted is None]

    def listed(self, pool: str) -> list[Machine]:
        """The instances of claims. An ended one is a remark, and no instance."""
        claims = self.objects.of(self._name(pool))
        return [claim.machine for claim in claims if claim.machine and claim.machine.exists]

    def node_labels(self, machine: Machine) -> dict[str, str]:
        return {LABEL: self._name(machine.pool)}

    def rails(self, pool: str) -> tuple[Rail, Rail, Rail, Rail]:
        """Kubernetes, Kubernetes, then past it; of Auto Mode the lock."""
        past = "ec2" if self._lab.pools[pool].kind == KARPENTER.code else "lock"
        first, second, third, last = (
            self._rail(pool, rail) for rail in ("kubernetes", "kubernetes", past, past)
        )
        return first, second, third, last

    def curfew(self, pool: str) -> Sequence[Rail]:
        """Kubernetes, then past it."""
        _, kubernetes, past, _ = self.rails(pool)
        return kubernetes, past

    def resize(self, pool: str, size: int, *, otherwise: bool = False) -> None:
        """`kubectl scale`, or an edit of the NodePool that raises its limit as well."""
        limits = {"limits": {"nodes": str(max(size, 1))}} if otherwise else {}
        self.write(pool, {"spec": {"replicas": size, **limits}})

    def stray(self, pool: str) -> Machine | None:
        """With the tags of the pool. Nobody but EKS sets those of Auto Mode."""
        if self._lab.pools[pool].kind == AUTO_MODE.code:
            return None
        machine = self.machines.stray(pool, self._name(pool))
        machine.tags = dict(self.karpenter.followed[self._name(pool)].tags)
        return machine

    def keep_busy(self, pool: str, seconds: float) -> None:
        """A NodePool is never busy with another change."""

    def rewrite(self, pool: str, size: int, maximum: int) -> None:
        """`kubectl apply` writes the size that the step returned, and the limit."""
        self.write(pool, {"spec": {"replicas": size, "limits": {"nodes": str(maximum)}}})

    def write(self, pool: str, patch: Json) -> None:
        """Somebody writes to the NodePool."""
        self.objects.write(self._name(pool), patch)

    def _rail(self, pool: str, rail: str) -> Rail:
        machine = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{self._lab.name}-{off_switch.MACHINE}"
        return Rail(rail, machine, {"pool": pool, "rail": rail})

    def _name(self, pool: str) -> str:
        return self._lab.node_pool_name(pool)

    def _ordered(self, node_pool: str, before: int, after: int) -> None:
        if before != after:
            self.heard.ordered(self.karpenter.followed[node_pool].pool, before, after)

    def _node_deleted(self, node: str) -> None:
        for claim in list(self.objects.claims.values()):
            if claim.machine is not None and claim.machine.node == node:
                self.objects.delete(claim)
