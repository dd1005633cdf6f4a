"""Pools of several kinds in one world: each has the capacity of its own kind, over the same EC2 and Kubernetes."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from tests.world.aws.capacity import Eks
from tests.world.aws.machines import Controller, Machine
from tests.world.capacity.node_groups import NodeGroups
from tests.world.capacity.node_pools import NodePools
from tests.world.capacity.supply import Heard, Json, Rail, Site, SizeStep, Supply, Task


class Pools:
    """The machines' controller is that of each one's pool."""

    def __init__(self, site: Site) -> None:
        self._lab = site.lab
        self.heard = Heard()
        self.groups = NodeGroups(site)
        of_groups: Controller = site.machines.controller
        self.node_pools = NodePools(site)
        self._controllers = {"groups": of_groups, "node-pools": site.machines.controller}
        site.machines.controller = self
        self.groups.heard = self.node_pools.heard = self.node_pools.karpenter.heard = self.heard
        # One EC2 has the instances of both.
        self.security_groups = self.groups.security_groups
        self.node_pools.ec2 = self.groups.ec2
        self.eks: Eks = self.groups.eks
        self.services: Mapping[str, object] = {
            **self.node_pools.services,
            **self.groups.services,
        }
        self.targets: Mapping[str, Callable[[Json], object]] = self.groups.targets

    @property
    def workflows(self) -> Mapping[str, Json]:
        return self.node_pools.workflows

    @property
    def tasks(self) -> Mapping[str, Task]:
        return self.node_pools.tasks

    def runs(self, machine: Machine) -> None:
        self._controller(machine).runs(machine)

    def shuts_down(self, machine: Machine) -> None:
        self._controller(machine).shuts_down(machine)

    def ended(self, machine: Machine) -> None:
        self._controller(machine).ended(machine)

    def install(self) -> AbstractContextManager[object]:
        return nullcontext()

    def create(self, pool: str, maximum: int) -> None:
        self._of(pool).create(pool, maximum)

    def barred(self, pool: str) -> bool:
        return self._of(pool).barred(pool)

    def size_step(self, pool: str) -> SizeStep | None:
        return self._of(pool).size_step(pool)

    def locked(self, pool: str) -> bool:
        return self._of(pool).locked(pool)

    def anew(self, pool: str) -> bool:
        return self._of(pool).anew(pool)

    def size(self, pool: str) -> int:
        return self._of(pool).size(pool)

    def staying(self, pool: str) -> list[Machine]:
        return self._of(pool).staying(pool)

    def listed(self, pool: str) -> list[Machine]:
        return self._of(pool).listed(pool)

    def node_labels(self, machine: Machine) -> dict[str, str]:
        return self._of(machine.pool).node_labels(machine)

    def rails(self, pool: str) -> tuple[Rail, Rail, Rail, Rail]:
        return self._of(pool).rails(pool)

    def curfew(self, pool: str) -> Sequence[Rail]:
        return self._of(pool).curfew(pool)

    def resize(self, pool: str, size: int, *, otherwise: bool = False) -> None:
        self._of(pool).resize(pool, size, otherwise=otherwise)

    def stray(self, pool: str) -> Machine | None:
        return self._of(pool).stray(pool)

    def keep_busy(self, pool: str, seconds: float) -> None:
        self._of(pool).keep_busy(pool, seconds)

    def rewrite(self, pool: str, size: int, maximum: int) -> None:
        self._of(pool).rewrite(pool, size, maximum)

    def _of(self, pool: str) -> Supply:
        return self.node_pools if self._lab.pools[pool].has("node pool") else self.groups

    def _controller(self, machine: Machine) -> Controller:
        return self._controllers["node-pools" if self._lab.pools[machine.pool].has("node pool") else "groups"]
