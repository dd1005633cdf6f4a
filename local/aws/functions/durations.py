"""How long functions take in the lab's time. The default is a model, so that a slow machine makes no slow AWS.

The model counts facts that are the same on every machine: whether the worker is new, and how many AWS calls the
invocation makes. A benchmark uses `Measured` instead: processor time on this machine, stretched to the function's share
of a processor (https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html).
"""

import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from local.aws.functions.worker import Invocation, Worker

#: The memory in MB with which a function has one whole processor. Init has a whole processor with any memory.
WHOLE_PROCESSOR_MB = 1769
#: A new environment loads the runtime, our modules and the AWS SDK, with a whole processor [est].
INIT_SECONDS = 0.9
#: Processor seconds of an event itself, and of each AWS call: signing, writing and reading it [est].
EVENT_SECONDS, CALL_SECONDS = 0.012, 0.004
#: From a call to its answer, inside a region. docs/reference/performance.md uses the same value.
ANSWER_SECONDS = 0.015
#: Before Init, and in no log: Lambda finds a place and loads code and layer [est].
PLACING_SECONDS = 0.2


class Durations(Protocol):
    """How long a worker's work takes, in seconds of the lab's time. Each method is called when its part is over."""

    #: Whether workers may have in common what their handlers import. A measured Init loads all of it.
    may_share_init: bool

    def placing(self) -> float:
        """The time before the Init of a new worker."""
        ...

    def init(self, worker: Worker) -> float:
        """The time of its Init."""
        ...

    def call(self, worker: Worker) -> float:
        """The time from its last AWS call, or from the event's arrival, to the answer of the present call."""
        ...

    def rest(self, worker: Worker, invocation: Invocation) -> float:
        """The rest of the invocation, which no call has covered."""
        ...


class Modelled:
    """The same on every machine: the whole work of an invocation is counted at its end."""

    may_share_init = True

    def placing(self) -> float:
        return 0.0

    def init(self, _worker: Worker) -> float:
        return INIT_SECONDS

    def call(self, _worker: Worker) -> float:
        return 0.0

    def rest(self, worker: Worker, invocation: Invocation) -> float:
        return duration(worker.spec.memory, invocation.calls)


@dataclass
class Work:
    """What one invocation needed, in processor seconds; `init` is None if the worker was not new."""

    function: str
    memory: int
    init: float | None
    event: float = 0.0
    calls: int = 0

    def took(self, memory: int) -> float:
        """Seconds from the event to the answer with this many MB, without Init and the function's own pauses."""
        return self.event / share(memory) + self.calls * ANSWER_SECONDS

    def billed(self, memory: int) -> float:
        """Seconds that AWS bills. Since August 2025 they include Init.

        Source: "AWS Lambda standardizes billing for INIT Phase", AWS Compute Blog, 29 April 2025.
        """
        return (self.init or 0.0) + self.took(memory)


class Measured:
    """By processor time: what the worker's process has used, without other work of the machine.

    It needs Linux, where a process can read the processor clock of another one. `works` has every invocation.
    """

    may_share_init = False

    def __init__(self) -> None:
        self.works: list[Work] = []
        self._init: dict[str, float] = {}
        self._read: dict[str, float] = {}
        self._under_way: dict[str, Work] = {}

    def placing(self) -> float:
        return PLACING_SECONDS

    def init(self, worker: Worker) -> float:
        self._init[worker.id] = self._since(worker)
        return self._init[worker.id]

    def call(self, worker: Worker) -> float:
        used = self._since(worker)
        work = self._work(worker)
        work.event += used
        work.calls += 1
        return used / share(worker.spec.memory) + ANSWER_SECONDS

    def rest(self, worker: Worker, _invocation: Invocation) -> float:
        used = self._since(worker)
        work = self._work(worker)
        work.event += used
        self.works.append(work)
        del self._under_way[worker.id]
        return used / share(worker.spec.memory)

    def _work(self, worker: Worker) -> Work:
        if worker.id not in self._under_way:
            init = self._init.pop(worker.id, None)
            self._under_way[worker.id] = Work(worker.spec.name, worker.spec.memory, init)
        return self._under_way[worker.id]

    def _since(self, worker: Worker) -> float:
        """Processor seconds of the worker since the last call."""
        before = self._read.get(worker.id, 0.0)
        assert worker.process.pid is not None  # noqa: S101 (it has called)
        with suppress(OSError):  # the worker has ended
            self._read[worker.id] = processor_seconds(worker.process.pid)
        return self._read.get(worker.id, before) - before


def share(memory: int) -> float:
    """The share of one processor outside Init; `memory` in MB. Python's threads take turns on one processor."""
    return min(1.0, memory / WHOLE_PROCESSOR_MB)


def duration(memory: int, calls: int) -> float:
    """Seconds of an invocation by the model, from the event to the answer without Init; `memory` in MB."""
    return (EVENT_SECONDS + calls * CALL_SECONDS) / share(memory) + calls * ANSWER_SECONDS


def processor_seconds(process: int) -> float:
    """Processor seconds of all threads of a process so far, also of ended threads. Raises OSError if it does not exist.

    The number of its clock is made as in clock_getcpuclockid(3) of the GNU C library.
    """
    return time.clock_gettime((~process << 3) | 2)
