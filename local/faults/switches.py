"""Which faults are on, and where. EC2, EKS and the simulated machines read it.

It does not know what a fault does: catalogue.py has its meaning, local/aws and local/fleet its effect.
"""

import threading
from collections.abc import Callable

#: Every pool of the lab.
ALL = "*"


class Switches:
    """All faults are off at first. Any thread may use it."""

    def __init__(self) -> None:
        self._on: dict[str, set[str]] = {}
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []

    def on(self, fault: str, nodegroup: str = ALL) -> None:
        """Switches a fault on, for one node group or for all."""
        with self._lock:
            self._on.setdefault(fault, set()).add(nodegroup)
        self._tell()

    def off(self, fault: str | None = None, nodegroup: str | None = None) -> None:
        """Switches a fault off, everywhere or for one node group; without a fault, all of them."""
        with self._lock:
            for name in [fault] if fault else list(self._on):
                left = self._on.get(name, set()) - ({nodegroup} if nodegroup else self._on.get(name, set()))
                self._on.pop(name, None)
                if left:
                    self._on[name] = left
        self._tell()

    def holds(self, fault: str, nodegroup: str = ALL) -> bool:
        """Whether the fault is on for the node group. A fault that is on for all is on for each."""
        with self._lock:
            return bool({nodegroup, ALL} & self._on.get(fault, set()))

    def where(self, fault: str) -> list[str]:
        """The node groups for which it is on; ALL may be among them."""
        with self._lock:
            return sorted(self._on.get(fault, set()))

    def listen(self, listener: Callable[[], None]) -> None:
        """The listener is called after every change, on the thread that made it."""
        self._listeners.append(listener)

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()
