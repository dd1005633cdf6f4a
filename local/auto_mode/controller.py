"""Auto Mode of one cluster: it begins and ends with `computeConfig`, and gives each object its coroutine.

EKS calls `switched` and `removed`, EC2 calls `instance_changed`, all in the lab's time.
"""

import threading
from collections.abc import Callable, Iterator

from local.auto_mode.cluster import AutoModeCluster, ours
from local.auto_mode.conditions import set_status
from local.auto_mode.definitions import ADDRESS, CLAIMS, CLASSES, POOLS, definitions
from local.auto_mode.launch import Launcher
from local.auto_mode.lifecycle import claim_life
from local.auto_mode.node_class import remove_profile, resolve
from local.auto_mode.provisioning import pool_life
from local.aws.api.service_context import ServiceContext
from local.aws.eks.clusters import Clusters
from local.aws.eks.self_managed import SelfManagedNodes
from local.fleet.coroutines import Pause, Until
from local.fleet.fleet import Fleet
from local.fleet.world import Objects
from local.kubernetes.api import Object

_MANAGER = "eks-auto-mode"
#: A NodeClass is looked at again so often: what it selects may change in EC2 and IAM.
_LOOK_SECONDS = 60.0
#: Real seconds between two looks at whether the API server serves a new kind.
_LOOK_EVERY = 0.05
Life = Callable[[AutoModeCluster, Object], Iterator[Pause]]


class AutoMode:
    """For one control plane, and the cluster of EKS that switches it on."""

    def __init__(
        self, fleet: Fleet, context: ServiceContext, clusters: Clusters, nodes: SelfManagedNodes
    ) -> None:
        self._fleet = fleet
        self._world = fleet.world
        self._context = context
        self._clusters = clusters
        self._nodes = nodes
        self._launcher = Launcher(context)
        self._watched: tuple[Objects, Objects, Objects] | None = None
        self._cluster: AutoModeCluster | None = None

    def switched(self, name: str) -> None:
        """Called by EKS after Auto Mode was switched on or off in a cluster."""
        compute = self._clusters.described(name).get("computeConfig") or {}
        on = bool(compute.get("enabled"))
        present = self._cluster if self._cluster is not None and self._cluster.enabled else None
        if on and present is None:
            self._cluster = self._begin(name)
        elif not on:
            self.removed(name)

    def removed(self, name: str) -> None:
        """Ends all instances of Auto Mode; nothing is drained (user guide, auto-disable)."""
        if self._cluster is not None and self._cluster.name == name:
            self._cluster.enabled = False
            self._world.coroutines.look_again()

    def instance_changed(self, instance: str, state: str) -> None:
        """Called by EC2 for every instance."""
        if self._cluster is None or state not in ("running", "terminated"):
            return
        changes = {"running": self._cluster.running, "terminated": self._cluster.ended}
        changes[state].add(instance)
        self._world.coroutines.look_again()

    def _begin(self, name: str) -> AutoModeCluster:
        pools, claims, classes = self._watched = self._watched or self._install()
        cluster = AutoModeCluster(
            name=name,
            world=self._world,
            context=self._context,
            launcher=self._launcher,
            describe=lambda: self._clusters.described(name),
            start=self._nodes.take,
            pools=pools,
            claims=claims,
            classes=classes,
        )
        for objects, life in ((classes, _class_life), (pools, pool_life), (claims, claim_life)):
            self._world.coroutines.tell(_each(cluster, objects, life))
        return cluster

    def _install(self) -> tuple[Objects, Objects, Objects]:
        """Makes the kinds, and follows them."""
        for definition in definitions():
            self._world.api.apply(f"{ADDRESS}/{definition['metadata']['name']}", definition, _MANAGER)
        while not all(map(self._world.api.is_there, (POOLS, CLAIMS, CLASSES))):
            threading.Event().wait(_LOOK_EVERY)
        return (
            self._fleet.watch("NodePool", POOLS),
            self._fleet.watch("NodeClaim", CLAIMS),
            self._fleet.watch("NodeClass", CLASSES),
        )


def _each(cluster: AutoModeCluster, objects: Objects, life: Life) -> Iterator[Pause]:
    """Gives every object of Auto Mode its own coroutine."""
    known: set[str] = set()

    def new() -> list[Object]:
        return [one for one in objects.all() if one["metadata"]["uid"] not in known]

    while cluster.enabled:
        yield Until(lambda: bool(new()) or not cluster.enabled)
        for item in new() if cluster.enabled else ():
            known.add(item["metadata"]["uid"])
            if life is _class_life or ours(item):
                cluster.world.coroutines.tell(life(cluster, item))


def _forget_role(cluster: AutoModeCluster, deleted: Object) -> None:
    """Removes the instance profile of a deleted NodeClass's role, unless another NodeClass has the role."""
    role = deleted["spec"].get("role")
    others = cluster.world.api.get(CLASSES)["items"]
    if role and all(one["spec"].get("role") != role for one in others):
        remove_profile(cluster.context, cluster.name, role)


def _class_life(cluster: AutoModeCluster, first: Object) -> Iterator[Pause]:
    name, uid = first["metadata"]["name"], first["metadata"]["uid"]
    while cluster.enabled:
        known = cluster.classes.find("", name)
        generation = known and known["metadata"].get("generation")
        node_class = cluster.world.api.find(f"{CLASSES}/{name}")
        if node_class is None:
            cluster.resolved.pop(name, None)
            _forget_role(cluster, first)
        if node_class is None or node_class["metadata"]["uid"] != uid:
            return
        resolved, conditions = resolve(cluster.context, cluster.name, node_class)
        if resolved is None:
            cluster.resolved.pop(name, None)
        else:
            cluster.resolved[name] = resolved
        more = {"instanceProfile": resolved.profile} if resolved else {}
        set_status(cluster.world, f"{CLASSES}/{name}", conditions, **more)
        cluster.world.coroutines.look_again()

        def changed(generation: object = generation) -> bool:
            present = cluster.classes.find("", name)
            return (
                not cluster.enabled or present is None or present["metadata"].get("generation") != generation
            )

        yield from cluster.within(_LOOK_SECONDS, changed)
