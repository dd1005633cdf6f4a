"""What a world asks of a kind of capacity, and what the laws are judged by. Nothing else in the world names a kind."""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from lamplighter.lab.model import Lab
from tests.world.aws.event_queue import EventQueue
from tests.world.aws.machines import Machine, Machines
from tests.world.aws.security_groups import SecurityGroups
from tests.world.kubernetes.kubernetes import Kubernetes
from tests.world.outside import Passage

Json = dict[str, Any]
Task = Callable[[Json], Json]
"""What a state machine calls of AWS: its parameters, and the answer."""
Ordered = Callable[[str, int, int], None]
"""Called with a pool, its size before and its size now."""


@dataclass(frozen=True)
class Rail:
    """A call that AWS makes by itself, as Scheduler has it: which target, and what it is sent."""

    name: str
    target: str
    sent: Json


@dataclass(frozen=True)
class SizeStep:
    """The step of a deploy that asks our code which size it is to write: its kind, its answer, what it is told."""

    kind: str
    answer: str
    names: Json


@dataclass
class Heard:
    """Who hears of what a kind of capacity does; the laws put themselves here."""

    ordered: Ordered = lambda _pool, _before, _after: None
    retired: Callable[[str, Machine], None] = lambda _pool, _machine: None
    """A machine that was listed leaves."""
    started: Callable[[str, str], None] = lambda _pool, _name: None
    """Its controller has begun to start a machine, by this name: AWS let it pass the launch bar."""
    kept_back: Callable[[str], None] = lambda _pool: None
    """The launch bar kept a machine from starting that the size asks for."""
    terminated: Callable[[Sequence[str], Callable[[], None]], None] = lambda _ids, end: end()
    """Our code ends instances past their controller: called with the ids, and with what ends them."""
    event: Callable[[], None] = lambda: None
    """AWS tells of a start or an end."""


@dataclass(frozen=True)
class Site:
    """Where a kind of capacity is put up: the parts of the world that it needs."""

    event_queue: EventQueue
    chance: random.Random
    machines: Machines
    lab: Lab
    cross: Passage
    """The way of every call of our code to the outside."""
    kubernetes: Kubernetes
    """The API server, with what it knows of nodes and pods."""


class Supply(Protocol):
    """The capacity of all pools of a world, as the outside has it."""

    heard: Heard
    security_groups: SecurityGroups
    """EC2's groups, which only experiments change."""

    @property
    def services(self) -> Mapping[str, object]:
        """The services of AWS that exist with this kind."""

    @property
    def targets(self) -> Mapping[str, Callable[[Json], object]]:
        """What Scheduler can call, by ARN."""

    @property
    def workflows(self) -> Mapping[str, Json]:
        """State machines that AWS runs without our code, by name: Scheduler starts them."""

    @property
    def tasks(self) -> Mapping[str, Task]:
        """What their states call, by the end of the resource's ARN."""

    def barred(self, pool: str) -> bool:
        """Whether AWS starts nothing outside of the instants that our code has allowed."""

    def size_step(self, pool: str) -> SizeStep | None:
        """How a deploy asks our code which size it is to write; None where it writes none."""

    def locked(self, pool: str) -> bool:
        """Whether the failsafe's lock denies the pool's launches, or will in a moment."""

    def anew(self, pool: str) -> bool:
        """Whether a smaller size, that no machine leaves for, only has the controller try anew."""

    def install(self) -> AbstractContextManager[object]:
        """Makes our code find this kind, in the port's own registry."""

    def create(self, pool: str, maximum: int) -> None:
        """Makes a pool at zero, if it is not there yet."""

    def size(self, pool: str) -> int:
        """The size that the machines follow."""

    def staying(self, pool: str) -> list[Machine]:
        """The machines that its controller lists and keeps."""

    def listed(self, pool: str) -> list[Machine]:
        """All that its controller lists, those that leave included."""

    def node_labels(self, machine: Machine) -> dict[str, str]:
        """The labels of its node that tell its pool."""

    def rails(self, pool: str) -> tuple[Rail, Rail, Rail, Rail]:
        """What the four schedules of the pool's failsafe must be: whole, by name, and to zero."""

    def curfew(self, pool: str) -> Sequence[Rail]:
        """The daily calls of a curfew."""

    def resize(self, pool: str, size: int, *, otherwise: bool = False) -> None:
        """Somebody sets the size by hand, at one of two places. Raises what the place refuses with."""

    def stray(self, pool: str) -> Machine | None:
        """Somebody starts a machine with the pool's tags by hand; None where AWS does not let them."""

    def keep_busy(self, pool: str, seconds: float) -> None:
        """Another change of the pool begins and takes this long."""

    def rewrite(self, pool: str, size: int, maximum: int) -> None:
        """A deploy writes the pool with these sizes. Raises ClientError while it is busy."""
