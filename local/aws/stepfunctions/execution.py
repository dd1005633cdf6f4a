"""One execution of a state machine: its status, its history and the number of its state transitions.

It only records; the interpreter decides what to do next.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from local.aws.api.own_services import Document
from local.aws.stepfunctions.errors import StatesError, Stopped
from local.aws.stepfunctions.limits import Limits
from local.clock import VirtualClock

Json = Any


@dataclass
class StateMachine:
    name: str
    arn: str
    definition: Document
    text: str
    role: str
    created: datetime
    document: Document
    tags: dict[str, str] = field(default_factory=dict)


class Scope:
    """Something that can be stopped with all that it started: an execution or a branch."""

    def __init__(self, clock: VirtualClock, parent: "Scope | None" = None) -> None:
        self.clock = clock
        self._parent = parent
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True
        self.clock.stir()

    def stopped(self) -> bool:
        return self._stopped or (self._parent is not None and self._parent.stopped())

    def check(self) -> None:
        if self.stopped():
            raise Stopped

    def sleep_until(self, epoch: float) -> None:
        """Waits in virtual time. Raises Stopped as soon as it is stopped."""
        if self.clock.wait_until(epoch, self.stopped):
            raise Stopped


class Execution(Scope):
    """`input` and `output` are JSON texts, as the API gives them."""

    def __init__(  # noqa: PLR0917 (what an execution is made of)
        self, clock: VirtualClock, machine: StateMachine, name: str, arn: str, text: str, limits: Limits
    ) -> None:
        super().__init__(clock)
        self.limits = limits
        self.machine = machine
        self.name = name
        self.arn = arn
        self.input = text
        self.output: str | None = None
        self.status = "RUNNING"
        self.error = self.cause = ""
        self.started = clock.now()
        self.ended: datetime | None = None
        #: State transitions so far, as AWS bills them: each state entered and each retry.
        self.transitions = 0
        #: Called when it has ended, on the thread that ended it.
        self.when_ended: Callable[[], None] = lambda: None
        self._events: list[Document] = []
        self._lock = threading.Lock()
        self.event(
            "ExecutionStarted",
            "executionStartedEventDetails",
            {"input": text, "inputDetails": {"truncated": False}, "roleArn": machine.role},
        )

    def event(self, kind: str, key: str = "", details: Document | None = None, previous: int = -1) -> int:
        """Adds an event to the history and returns its id. `previous` is by default the event before."""
        with self._lock:
            number = len(self._events) + 1
            # The last event is the end of the execution itself.
            if number >= self.limits.history_events and not self.ended:
                raise StatesError(
                    "States.Runtime",
                    "The execution reached the maximum number of history events"
                    f" ({self.limits.history_events}).",
                )
            entry: Document = {
                "timestamp": self.clock.now(),
                "type": kind,
                "id": number,
                "previousEventId": number - 1 if previous < 0 else previous,
            }
            if key:
                entry[key] = details
            self._events.append(entry)
            return number

    def events(self) -> list[Document]:
        with self._lock:
            return list(self._events)

    def entered(self) -> str:
        """The state that was entered last. Each try of it adds three events."""
        names = (event.get("stateEnteredEventDetails", {}).get("name") for event in reversed(self.events()))
        return str(next((name for name in names if name), ""))

    def count_transition(self) -> None:
        with self._lock:
            self.transitions += 1

    def succeed(self, output: Json) -> None:
        text = json.dumps(output, separators=(",", ":"))
        details = {"output": text, "outputDetails": {"truncated": False}}
        self._end("SUCCEEDED", "ExecutionSucceeded", "executionSucceededEventDetails", details)

    def fail(self, error: str, cause: str) -> None:
        self._end_with(error, cause, "FAILED", "ExecutionFailed", "executionFailedEventDetails")

    def abort(self, error: str, cause: str) -> None:
        self._end_with(error, cause, "ABORTED", "ExecutionAborted", "executionAbortedEventDetails")

    def time_out(self) -> None:
        self._end_with(
            "States.Timeout", "", "TIMED_OUT", "ExecutionTimedOut", "executionTimedOutEventDetails"
        )

    def document(self) -> Document:
        document = {
            "executionArn": self.arn,
            "stateMachineArn": self.machine.arn,
            "name": self.name,
            "status": self.status,
            "startDate": self.started,
            "stopDate": self.ended,
            "input": self.input,
            "inputDetails": {"included": True},
            "redriveCount": 0,
            "redriveStatus": "NOT_REDRIVABLE",
            "redriveStatusReason": "Execution is RUNNING and cannot be redriven" if not self.ended else None,
        }
        if self.output is not None:
            document |= {"output": self.output, "outputDetails": {"included": True}}
        if self.status in ("FAILED", "ABORTED", "TIMED_OUT"):
            document |= {"error": self.error or None, "cause": self.cause or None}
        return document

    def _end_with(self, error: str, cause: str, status: str, kind: str, key: str) -> None:
        self._end(status, kind, key, {"error": error, "cause": cause})

    def _end(self, status: str, kind: str, key: str, details: Document) -> None:
        """Only the first end counts. Status and results become visible together."""
        with self._lock:
            if self.ended is not None:
                return
            self.ended = self.clock.now()
        self.event(kind, key, details)
        self.output = details.get("output")
        self.error, self.cause = details.get("error", ""), details.get("cause", "")
        self.status = status
        self.stop()
        self.when_ended()


def instant(moment: datetime) -> str:
    """An instant as the context object writes it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
