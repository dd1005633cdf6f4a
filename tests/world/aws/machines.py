"""EC2 instances: the record of what EC2 ran, with AWS's delays. The laws are judged by it.

It decides nothing. A controller starts and ends them (an Auto Scaling group, or the fake's pool), and hears of each
change. Listeners are called at every start and end of an instance.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from tests.world.aws.event_queue import EventQueue

ZONE = "ap-northeast-2a"
USUAL = "g4dn.xlarge"
"""The type of machines whose pool has no other."""
DEAR = "p5.48xlarge"
"""A type that no lease of a history is granted for."""
#: Seconds, shortest and longest.
BOOT = (12.0, 40.0)
SHUT_DOWN = (15.0, 60.0)
JOIN = (30.0, 60.0)
GPUS_READY = (60.0, 120.0)
LEAVE_KUBERNETES = (3.0, 20.0)
LISTED = 30.0
"""So long at most EC2 does not list a new instance. https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html"""
NOTICED = 30.0
"""So long after an instance was ended past its controller the controller notices."""
REMEMBERED = timedelta(hours=1)
NO_CAPACITY = (
    "We currently do not have sufficient g4dn.xlarge capacity in the Availability Zone you requested "
    f"({ZONE}). Launching EC2 instance failed."
)


@dataclass
class Machine:
    """One EC2 instance, with the node it becomes in Kubernetes."""

    id: str
    pool: str
    launched: datetime
    group: str
    """Its controller's name, or that of the controller whose tags it has."""
    type: str = USUAL
    state: str = "pending"
    running: datetime | None = None
    shutting_down: datetime | None = None
    ended: datetime | None = None
    listed_after: float = 0.0
    """So long after its start DescribeInstances does not list it."""
    joins_after: float = 45.0
    gpus_after: float = 90.0
    leaves_after: float = 10.0
    stray: bool = False
    """Somebody started it outside of any group."""
    working: bool = False
    """Somebody's pod runs on it. Such a node is ended only after its people were asked to leave."""
    guarded: bool = False
    """Somebody's pod on it wants no disruption: no controller evicts it. Our code may."""
    cordoned: bool = False
    annotations: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    """The labels that our code put on its node."""
    tags: dict[str, str] = field(default_factory=dict)
    """The tags of the instance."""
    managed: bool = False
    """It belongs to EKS Auto Mode: AWS lets nobody else end it, and its node has the name of the instance."""
    taints: list[dict[str, str]] = field(default_factory=list)
    """Taints of its node that its controller has not removed yet."""
    held: bool = False
    """A finalizer of its controller keeps the node in Kubernetes, whatever becomes of the instance."""

    @property
    def exists(self) -> bool:
        return self.ended is None

    @property
    def alive(self) -> bool:
        return self.shutting_down is None

    @property
    def dear(self) -> bool:
        """Whether no lease was granted for its type."""
        return self.type == DEAR

    @property
    def node(self) -> str:
        return self.id if self.managed else self.private_dns

    @property
    def private_dns(self) -> str:
        return f"ip-{self.id.removeprefix('i-')}.{ZONE[:-1]}.compute.internal"


@dataclass
class Troubles:
    """The present failures of the outside. A history switches them on and off."""

    capacity: int | None = None
    """At most this many machines are available; None: no limit."""
    empty: frozenset[str] = frozenset()
    """Pools for which AWS has no machine."""
    refusal: str = NO_CAPACITY
    """How EC2 refuses more than these."""
    immortal: bool = False
    """Instances do not end although they were ordered to."""
    events_lost: bool = False


class Controller(Protocol):
    """What starts and ends the machines of all pools: it hears of what happens to each."""

    def runs(self, machine: Machine) -> None:
        """EC2 runs it now."""

    def shuts_down(self, machine: Machine) -> None:
        """It was ordered to end, or AWS takes it back."""

    def ended(self, machine: Machine) -> None:
        """It is gone."""


class Machines:
    """All instances of the world."""

    controller: Controller

    def __init__(self, event_queue: EventQueue, chance: random.Random) -> None:
        self.event_queue, self.chance = event_queue, chance
        self.machines: dict[str, Machine] = {}
        self.troubles = Troubles()
        self.types: dict[str, str] = {}
        """By pool, the type of the machines that start now, if it is another than the usual one."""
        self.changed: list[Callable[[Machine], None]] = []
        self._number = 0

    def of_pool(self, pool: str) -> list[Machine]:
        """The machines of a pool that exist, listed by its controller or not."""
        return [machine for machine in self.machines.values() if machine.pool == pool and machine.exists]

    def available(self, pool: str) -> bool:
        """Whether AWS has capacity for one more."""
        if pool in self.troubles.empty:
            return False
        if self.troubles.capacity is None:
            return True
        return sum(1 for machine in self.machines.values() if machine.alive) < self.troubles.capacity

    def number(self) -> int:
        """A number that no instance and no record has."""
        self._number += 1
        return self._number

    def shut_down(self, machine: Machine) -> None:
        """Orders EC2 to end it."""
        if machine.shutting_down is not None:
            return
        if self.troubles.immortal:
            # EC2 accepts the order and does nothing. The order is repeated until the failure is over.
            self.event_queue.after(60.0, lambda: self.shut_down(machine))
            return
        machine.state, machine.shutting_down = "shutting-down", self.event_queue.now
        self._tell(machine)
        self.event_queue.after(self.chance.uniform(*SHUT_DOWN), lambda: self._end(machine))
        self.controller.shuts_down(machine)

    def stray(self, pool: str, group: str) -> Machine:
        """Somebody starts a machine by hand with a pool's tags, which no controller lists."""
        machine = self.start(pool, group)
        machine.group, machine.stray = group, True
        self._tell(machine)
        return machine

    def start(self, pool: str, group: str) -> Machine:
        """A controller starts one."""
        uniform = self.chance.uniform
        machine = Machine(
            id=f"i-{self.number():017x}",
            pool=pool,
            launched=self.event_queue.now.replace(microsecond=0),
            group=group,
            type=self.types.get(pool, USUAL),
            # A source of its own: what else happens in a history does not depend on it.
            listed_after=random.Random(f"{self.event_queue.now}").uniform(0.0, LISTED),
            joins_after=uniform(*JOIN),
            gpus_after=uniform(*GPUS_READY),
            leaves_after=uniform(*LEAVE_KUBERNETES),
        )
        self.machines[machine.id] = machine
        self._tell(machine)
        self.event_queue.after(uniform(*BOOT), lambda: self._runs(machine))
        return machine

    def _runs(self, machine: Machine) -> None:
        if machine.state != "pending":
            return
        machine.state, machine.running = "running", self.event_queue.now
        self._tell(machine)
        self.controller.runs(machine)

    def _end(self, machine: Machine) -> None:
        machine.state, machine.ended = "terminated", self.event_queue.now
        self._tell(machine)
        self.event_queue.at(
            self.event_queue.now + REMEMBERED + timedelta(minutes=5), lambda: self._forget(machine.id)
        )
        self.controller.ended(machine)

    def _forget(self, machine: str) -> None:
        del self.machines[machine]

    def _tell(self, machine: Machine) -> None:
        for listener in self.changed:
            listener(machine)
