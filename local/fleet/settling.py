"""Keeps hurry standing still while the real control plane reacts.

Its controllers and scheduler answer a change in real milliseconds that the virtual clock knows nothing of; to
jump meanwhile would make minutes of them. So each change seen holds the clock for a moment.
"""

import threading
import time

from local.clock import VirtualClock

#: A DaemonSet's pod follows its cause through three controllers; each shows itself within this.
QUIET_SECONDS = 0.12


class Settling:
    """`touch` at every change; `close` lets go for good."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._until = 0.0
        self._closed = False
        threading.Thread(target=self._hold, name="fleet-settling", daemon=True).start()

    def touch(self) -> None:
        with self._changed:
            self._until = time.monotonic() + QUIET_SECONDS
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _hold(self) -> None:
        while not self._closed:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or time.monotonic() < self._until)
            with self._clock.busy(), self._changed:
                while not self._closed and (left := self._until - time.monotonic()) > 0:
                    self._changed.wait(left)
