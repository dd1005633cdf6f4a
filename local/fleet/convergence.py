"""Tells the clock when Kubernetes has answered all events, so that time may move.

The answer depends only on the state of the cluster. If an expected state does not come for long, our reading of the
cluster is wrong. This is reported once, and the clock waits for it no longer.
"""

import logging
import time

from local.fleet.controllers import owed
from local.fleet.world import World
from local.kubernetes.pending_changes import Written

LOG = logging.getLogger(__name__)
#: Real seconds in which a running controller has answered, also on a busy machine.
_LOST_AFTER = 30.0


class Convergence:
    """The clock asks `settled`; `touch` says that a watch has shown something."""

    def __init__(self, world: World, written: Written) -> None:
        self._world = world
        self._written = written
        self._changes = 0
        self._judged: tuple[int, list[str]] = (-1, [])
        #: Since when each expected state is missing, by the machine's clock.
        self._since: dict[str, float] = {}
        self._lost: set[str] = set()
        self._never_came: set[str] = set()

    @property
    def never_came(self) -> frozenset[str]:
        """The expected states that never came."""
        return frozenset(self._never_came)

    def touch(self) -> None:
        self._changes += 1

    def settled(self) -> bool:
        """Whether the watches show no missing state, and show everything that was written."""
        debts, now = {*self._written.unseen(), *self._owed()}, time.monotonic()
        self._since = {debt: self._since.get(debt, now) for debt in debts}
        self._lost &= debts
        for debt in debts - self._lost:
            if now - self._since[debt] > _LOST_AFTER:
                LOG.warning("Kubernetes owes %s and does not bring it about: time goes on", debt)
                self._lost.add(debt)
                self._never_came.add(debt)
        return debts <= self._lost

    def _owed(self) -> list[str]:
        changes = self._changes
        if self._judged[0] != changes:
            self._judged = (changes, self._read())
        return self._judged[1]

    def _read(self) -> list[str]:
        try:
            return owed(self._world)
        except Exception:  # an object that we read wrongly must not stop the clock, and everything with it
            LOG.exception("what Kubernetes owes cannot be told")
            self._never_came.add("whatever it owed while an object could not be read")
            return []
