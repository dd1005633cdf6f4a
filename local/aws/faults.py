"""Faults in the functions of the embedded cloud: which invocation of which function is killed, and when.

A killed invocation may have done its work already, or half of it. The workflows must survive that.
"""

import json
import threading
from dataclasses import dataclass


@dataclass
class _Kill:
    function: str
    invocation: int
    after_calls: int | None
    pool: str | None = None


@dataclass
class _StepKill:
    step: str
    pool: str
    left: int
    after_calls: int | None


class Faults:
    """The planned faults; empty unless a scenario adds one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kills: list[_Kill] = []
        self._step_kills: list[_StepKill] = []
        self._dead: set[str] = set()
        self._doomed: dict[str, int | None] = {}
        self._counts: dict[tuple[str, str | None], int] = {}
        self.killed: list[str] = []

    def kill_invocation(
        self, function: str, n: int = 1, after_calls: int | None = None, pool: str | None = None
    ) -> None:
        """Kills the `n`th invocation of `function` from now on, after its `after_calls`th AWS call (the reply is lost).

        Without `after_calls` it is killed when it returns its answer, so all its work is done. With `pool`, only the
        steps of that pool's workflows count.
        """
        with self._lock:
            nth = self._counts.get((function, pool), 0) + n
            self._kills.append(_Kill(function, nth, after_calls, pool))

    def kill_step(self, step: str, pool: str, times: int = 1, after_calls: int | None = None) -> None:
        """Kills the next `times` invocations of a workflow's step for a pool, as `kill_invocation` does."""
        with self._lock:
            self._step_kills.append(_StepKill(step, pool, times, after_calls))

    def die(self, function: str) -> None:
        """Kills every invocation of `function` before it does anything, until it is revived."""
        self._dead.add(function)

    def revive(self, function: str) -> None:
        self._dead.discard(function)

    def dead(self, function: str) -> bool:
        """Whether an invocation of `function` dies before it does anything."""
        return function in self._dead

    def invocations(self, function: str) -> int:
        """How many invocations of `function` have begun."""
        return self._counts.get((function, None), 0)

    def starts(self, function: str, request_id: str, payload: bytes = b"") -> None:
        """Called when an invocation begins; decides whether it will be killed."""
        step, pool = step_and_pool(payload)
        with self._lock:
            for whose in {None, pool}:
                self._counts[function, whose] = self._counts.get((function, whose), 0) + 1
            for kill in self._kills:
                if (
                    kill.function == function
                    and kill.pool in (None, pool)
                    and kill.invocation == self._counts[function, kill.pool]
                ):
                    self._doom(function, request_id, kill.after_calls)
            for each in self._step_kills:
                if (each.step, each.pool) == (step, pool) and each.left:
                    each.left -= 1
                    self._doom(function, request_id, each.after_calls)

    def _doom(self, function: str, request_id: str, after_calls: int | None) -> None:
        if request_id not in self._doomed:
            self._doomed[request_id] = after_calls
            self.killed.append(function)

    def kills_at_call(self, request_id: str) -> bool:
        """Called after an AWS call of the invocation: whether it is killed now."""
        with self._lock:
            left = self._doomed.get(request_id)
            if left is None:
                return False
            self._doomed[request_id] = left - 1
            return left <= 1

    def kills_at_answer(self, request_id: str) -> bool:
        """Called when the invocation returns its answer: whether it is killed before the answer arrives."""
        with self._lock:
            return request_id in self._doomed


def step_and_pool(payload: bytes) -> tuple[str | None, str | None]:
    """The workflow step and the pool of an event; None if the event has neither."""
    try:
        event = json.loads(payload or b"{}")
    except ValueError:
        return None, None
    if not isinstance(event, dict) or not isinstance(event.get("run"), dict):
        return None, None
    return event.get("step"), (event["run"].get("command") or {}).get("pool")
