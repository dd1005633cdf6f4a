"""What the controllers of Auto Mode in one cluster share: the cluster, the objects that they follow, and EC2."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from local.auto_mode.definitions import CLAIMS, GROUP
from local.auto_mode.launch import Launcher
from local.auto_mode.node_class import Resolved
from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext
from local.fleet.coroutines import Pause, Until
from local.fleet.machine import Machine
from local.fleet.world import Objects, World
from local.kubernetes.api import Object

POOL_LABEL = "karpenter.sh/nodepool"
FINALIZER = "karpenter.sh/termination"
SOURCE = {"component": "eks-auto-mode/compute", "host": ""}


@dataclass
class AutoModeCluster:
    """`describe` returns what DescribeCluster does. `start` gives a machine to the fleet, with the role of its node.

    `resolved` are the NodeClasses that are ready, by name. `ended` are the terminated instances.
    """

    name: str
    world: World
    context: ServiceContext
    launcher: Launcher
    describe: Callable[[], Document]
    start: Callable[[Machine, str], None]
    pools: Objects
    claims: Objects
    classes: Objects
    enabled: bool = True
    resolved: dict[str, Resolved] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    running: set[str] = field(default_factory=set)
    #: Until when an offer of EC2 counts as unavailable after a shortage.
    shut: dict[str, float] = field(default_factory=dict)

    def now(self) -> float:
        return self.world.coroutines.time()

    def is_shut(self, pool: str) -> bool:
        """Whether a shortage of the pool's types is so recent that no launch is tried."""
        return self.shut.get(pool, 0.0) > self.now()

    def within(self, seconds: float, condition: Callable[[], bool]) -> Iterator[Pause]:
        """Waits until the condition holds, for so many seconds at most."""
        over: list[bool] = []

        def ring() -> Iterator[Pause]:
            yield seconds
            over.append(True)
            self.world.coroutines.look_again()

        alarm = self.world.coroutines.tell(ring())
        yield Until(lambda: bool(over) or condition())
        alarm.stop()

    def claims_of(self, pool: str) -> list[Object]:
        """All claims of a pool, read from the API server, oldest first."""
        address = f"{CLAIMS}?labelSelector={POOL_LABEL}%3D{pool}"
        found: list[Object] = self.world.api.get(address)["items"]
        return sorted(found, key=lambda one: (one["metadata"]["creationTimestamp"], one["metadata"]["name"]))

    def event(self, item: Object, reason: str, message: str, *, warning: bool = False) -> None:
        """Records an event about one of the objects. Those of no namespace are in `default`."""
        about = {
            "apiVersion": item["apiVersion"],
            "kind": item["kind"],
            "name": item["metadata"]["name"],
            "uid": item["metadata"]["uid"],
        }
        self.world.events.record(about, SOURCE, reason, message, warning=warning)


def ours(item: Object) -> bool:
    """Whether a NodePool or NodeClaim is on a NodeClass of Auto Mode."""
    spec = item["spec"].get("template", {}).get("spec") or item["spec"]
    return bool(spec["nodeClassRef"]["group"] == GROUP)


def leaving(item: Object) -> bool:
    return "deletionTimestamp" in item["metadata"]
