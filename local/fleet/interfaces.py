"""The interfaces of container, pod and node for programs, faults and GPU software."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Protocol

from local.fleet.coroutines import Pause
from local.fleet.gpus.hardware import Hardware
from local.fleet.machine import Machine
from local.fleet.world import World
from local.kubernetes.api import Object


class Node(Protocol):
    """A node, as its kubelet knows it."""

    machine: Machine
    world: World
    hardware: Hardware
    dead: set[int]
    slices: dict[str, int]
    feature_file: dict[str, str]
    ready: bool
    was_ready: bool
    allocatable: dict[str, int]
    images: set[str]
    stopped: bool
    missing: int

    @property
    def name(self) -> str: ...

    @property
    def gpus(self) -> int: ...

    @property
    def monitored(self) -> bool: ...

    @property
    def pods(self) -> "Sequence[Pod]": ...

    def suffers(self, fault: str) -> bool: ...

    def free_gpus(self) -> int: ...

    def delay(self, stage: float, *subject: str) -> float: ...

    def announce(self, resource: str, count: int, *, healthy: int | None = None) -> None: ...

    def announce_efa(self, count: int) -> None: ...

    def withdraw(self, resource: str) -> None: ...

    def label(self, labels: Mapping[str, str | None]) -> None: ...

    def retaint(self, keep: Callable[[Object], bool], *more: Object) -> None: ...

    def set_network(self, *, up: bool) -> None: ...

    def set_condition(self, condition: Object) -> None: ...


class Pod(Protocol):
    """A pod on its node."""

    @property
    def kubelet(self) -> Node: ...

    @property
    def world(self) -> World: ...

    pod: Object

    @property
    def name(self) -> str: ...

    @property
    def namespace(self) -> str: ...

    @property
    def gpus(self) -> int: ...

    @property
    def containers(self) -> "Sequence[Container]": ...

    def at_end(self, undo: Callable[[], None]) -> None: ...

    @property
    def base_name(self) -> str: ...

    @property
    def init_containers(self) -> "Sequence[Container]": ...

    def pull(self, image: str) -> Generator[Pause, None, str]: ...

    def post(self) -> None: ...


class Container(Protocol):
    """A container of a pod."""

    @property
    def pod(self) -> Pod: ...

    spec: Object
    running: bool
    serves: Callable[[], bool]

    @property
    def name(self) -> str: ...

    @property
    def image(self) -> str: ...

    @property
    def holds_gpus(self) -> bool: ...

    @property
    def environment(self) -> dict[str, str]: ...

    @property
    def words(self) -> str: ...

    def say(self, text: str) -> None: ...
