"""Faults put into the embedded cloud on purpose: which invocation of which function dies, and when.

A killed invocation may have done its work already, or half of it: that is what the workflows must survive.
"""

import threading
from dataclasses import dataclass


@dataclass
class _Kill:
    function: str
    invocation: int
    after_calls: int | None


class Faults:
    """What is to go wrong; empty unless a scenario asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kills: list[_Kill] = []
        self._doomed: dict[str, int | None] = {}
        self._counts: dict[str, int] = {}
        self.killed: list[str] = []

    def kill_invocation(self, function: str, n: int = 1, after_calls: int | None = None) -> None:
        """Kill the `n`th invocation of `function` from now on, when its `after_calls`th AWS call has been
        carried out (the reply is lost), or, without, when it gives its answer (everything is done)."""
        with self._lock:
            self._kills.append(_Kill(function, self._counts.get(function, 0) + n, after_calls))

    def invocations(self, function: str) -> int:
        """How many invocations of `function` have begun."""
        return self._counts.get(function, 0)

    def starts(self, function: str, request_id: str) -> None:
        """An invocation begins; decides whether it is one that dies."""
        with self._lock:
            self._counts[function] = count = self._counts.get(function, 0) + 1
            for kill in self._kills:
                if (kill.function, kill.invocation) == (function, count):
                    self._doomed[request_id] = kill.after_calls
                    self.killed.append(function)

    def kills_at_call(self, request_id: str) -> bool:
        """An AWS call of the invocation has been carried out: does it die now?"""
        with self._lock:
            left = self._doomed.get(request_id)
            if left is None:
                return False
            self._doomed[request_id] = left - 1
            return left <= 1

    def kills_at_answer(self, request_id: str) -> bool:
        """The invocation gives its answer: does it die before anybody hears it?"""
        with self._lock:
            return request_id in self._doomed
