"""Runs Lambda functions: the Runtime API page, and a pool of workers for each function.

It decides when a worker is started, reused and killed, and the result of a time-out or a death. moto has the functions
(service.py); asynchronous.py has the retries of asynchronous events.
"""

import json
import logging
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from local.aws import iam
from local.aws.api.server import Request, Response, Server
from local.aws.faults import Faults
from local.aws.functions import system_log
from local.aws.functions.durations import Durations, Modelled
from local.aws.functions.log_files import LogFiles
from local.aws.functions.metrics import INVOCATIONS, THROTTLES
from local.aws.functions.worker import FunctionSpec, Invocation, Outcome, Worker
from local.aws.functions.worker_processes import WorkerProcesses
from local.clock import VirtualClock
from local.clock_fibers import Fiber

LOG = logging.getLogger(__name__)
PAGE = "/_lamplighter/runtime"
#: The address of the played Slack (local/slack).
SLACK = "/_slack"
LOOPBACK = "127.0.0.1"
#: Real seconds a worker may take to load its handler (AWS allows 10; a busy laptop is far slower).
LOADED_WITHIN = 300.0
#: A function is ended after its time-out in the lab's time. If no virtual time passes in it, it is ended after this
#: many times the time-out in real time: a busy laptop is no slow AWS.
PATIENCE = 4
#: Real seconds between two checks of a function that has not ended.
_SLICE = 0.5
#: The API server asks this service for the identity behind the key in a function's token, each time its cache has
#: expired in real time. This is no action of the function.
NOT_ITS_OWN = "sts"
#: How many functions a new account runs at once, all together. The quota rises with use, and on request
#: (https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html).
NEW_ACCOUNT = 10
#: How many of them cannot be reserved.
UNRESERVED = 100


class Throttled(Exception):
    """The account already runs as many functions as it may: no code of this function has run."""


class Runtime:
    """All workers of one embedded cloud. Time stands still while a function works; then the time of its work passes."""

    def __init__(
        self, server: Server, clock: VirtualClock, work: Path, durations: Durations | None = None
    ) -> None:
        self._durations = durations or Modelled()
        self._server = server
        self._clock = clock
        self._logs = LogFiles(work / "logs")
        self._scratch = work / "scratch"
        self._text = work / "clock.txt"
        self._variables = {
            "AWS_ENDPOINT_URL": server.endpoint,
            "LAMPLIGHTER_INSTANT": str(clock.path),
            # Release 0.1.0 reads the clock like this: a text of three numbers
            # (tests/scenarios/deploys/test_upgrade.py).
            "LAMPLIGHTER_CLOCK": str(self._text),
            # Like the endpoint of AWS: a function that calls Slack reaches the played one, on this machine.
            "SLACK_API_URL": f"{server.endpoint}{SLACK}/api/",
            "SLACK_REPLY_HOSTS": LOOPBACK,
        }
        self._mutex = threading.RLock()
        self._lock = threading.Condition(self._mutex)
        self._processes: dict[tuple[Path, ...], WorkerProcesses] = {}
        self._workers: dict[str, Worker] = {}
        self._idle: dict[str, list[Worker]] = {}
        self._under_way: Counter[str] = Counter()
        #: How many invocations the account runs at once.
        self.concurrency = NEW_ACCOUNT
        #: The places that only this function can take, by its name.
        self.reserved: dict[str, int] = {}
        self._closed = False
        self.faults = Faults()
        #: Whether a function's role allows Lambda to write its log. Without it, Lambda silently keeps no log.
        self.may_log: Callable[[FunctionSpec], bool] = lambda _: True
        #: Gets the new lines of a function for CloudWatch Logs: its ARN, the stream, the lines and their instant.
        self.keep_lines: Callable[[str, str, list[str], float], None] = lambda *_: None
        #: Gets each invocation for CloudWatch: the function, its metric and the instant at which it began.
        self.count: Callable[[str, str, float], None] = lambda *_: None
        server.page(PAGE, self._answer)
        server.application.heralds.append(self._calls)
        server.application.observers.append(self._called)

    def invoke(self, spec: FunctionSpec, payload: bytes) -> Outcome:
        """Runs the function on one event and waits for its outcome. Raises Throttled if too many functions run."""
        with self._clock.busy(), self._counted(spec.name):
            invocation = Invocation(payload)
            if self.faults.dead(spec.name):
                return _exited(invocation.id, 1)
            worker = self._take(spec)
            self.faults.starts(spec.name, invocation.id, payload)
            self._logs.write(spec.name, system_log.start(spec, invocation.id, self._clock.now()))
            invocation.fiber = self._clock.fiber()
            init = self._initialise(worker, invocation)
            began = self._clock.time()
            self._text.write_text(f"{began!r} 0 0\n", "ascii")
            invocation.deadline = began + spec.timeout
            with self._clock.program() if spec.own_time else nullcontext():
                self._work(worker, invocation)
            self._clock.recall()
            self._let_it_take(worker, invocation)
            took, ended = self._clock.time() - began, self._clock.now()
            self._logs.write(spec.name, system_log.report(spec, invocation.id, took, init, ended))
            self._keep(worker)
            self._give_back(worker)
            assert invocation.outcome is not None  # noqa: S101 (ended above)
            return invocation.outcome

    def fiber(self, access_key_id: str) -> Fiber | None:
        """The fiber of the function that calls with this key, if one works now."""
        worker = self._calling(access_key_id)
        return worker.current.fiber if worker and worker.current else None

    def at_work(self, function: str) -> bool:
        """Whether an invocation of the function is running."""
        return self._under_way[function] > 0

    def warm(self, spec: FunctionSpec) -> None:
        """Starts a worker that waits for the function's first event, if there is none yet."""
        with self._lock:
            if not self._closed and all(worker.spec != spec for worker in self._workers.values()):
                self._idle.setdefault(spec.name, []).append(self._start(spec))

    def forget(self, function: str) -> None:
        """The function changed or was deleted: its idle workers end now, a busy one after its invocation."""
        with self._lock:
            for worker in self._idle.pop(function, []):
                worker.kill()

    def invocation(self, access_key_id: str) -> tuple[str, str, bytes] | None:
        """The function, invocation and payload behind a key, if a function now calls with it."""
        worker = self._calling(access_key_id)
        current = worker.current if worker else None
        return (worker.spec.name, current.id, current.payload) if worker and current else None

    def logs(self, function: str) -> str:
        """All lines that the function and the runtime have written, oldest first."""
        return self._logs.everything(function)

    def close(self) -> None:
        """Kills every worker, and waits until they have ended."""
        with self._lock:
            self._closed = True
            for worker in self._workers.values():
                worker.kill()
            self._lock.wait_for(lambda: not self._workers, 5)
            for processes in self._processes.values():
                processes.close()

    @contextmanager
    def _counted(self, function: str) -> Iterator[None]:
        began = self._clock.time()
        with self._lock:
            full = self._full(function)
            self._under_way[function] += not full
        if full:
            self.count(function, THROTTLES, began)
            raise Throttled(function)
        try:
            yield
        finally:
            with self._lock:
                self._under_way[function] -= 1
            self.count(function, INVOCATIONS, began)

    def _full(self, function: str) -> bool:
        """Whether no place is free: of a function's own, or of those that all functions without one share."""
        if function in self.reserved:
            return self._under_way[function] >= self.reserved[function]
        shared = sum(count for name, count in self._under_way.items() if name not in self.reserved)
        return shared >= self.concurrency - sum(self.reserved.values())

    def reserve(self, function: str, places: int | None) -> None:
        """Keeps places for a function, or gives them back. Raises ValueError if too few are left for the others.

        100 stay (https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html); in an account with a
        smaller quota all (aws-samples/one-observability-demo 278, aws-samples/s3-to-lambda-patterns 36).
        """
        with self._lock:
            kept = {name: count for name, count in self.reserved.items() if name != function}
            if places is not None:
                kept[function] = places
                least = min(UNRESERVED, self.concurrency)
                if self.concurrency - sum(kept.values()) < least:
                    raise ValueError(
                        "Specified ReservedConcurrentExecutions for function decreases account's"
                        f" UnreservedConcurrentExecution below its minimum value of [{least}]."
                    )
            self.reserved = kept

    def _take(self, spec: FunctionSpec) -> Worker:
        """An idle worker of this very function, otherwise a new one."""
        with self._lock:
            idle = self._idle.setdefault(spec.name, [])
            while idle:
                worker = idle.pop()
                if worker.spec == spec and worker.alive:
                    return worker
                worker.kill()
            return self._start(spec)

    def _initialise(self, worker: Worker, invocation: Invocation) -> float | None:
        """Waits until the worker is ready.

        Returns the seconds of a new one's Init, which do not count for the time-out.
        """
        worker.current = invocation
        worker.ready.wait(LOADED_WITHIN)
        if not worker.new:
            return None
        worker.new = False
        self._keep(worker)
        init = self._durations.init(worker)
        self._clock.sleep(self._durations.placing() + init)
        return init

    def _work(self, worker: Worker, invocation: Invocation) -> None:
        """Lets the worker do the work; the invocation always ends, whatever the worker does."""
        worker.offer(invocation)
        timeout = worker.spec.timeout
        left = PATIENCE * timeout
        while not invocation.wait(_SLICE):
            if not worker.alive:  # it died before it took the event: nobody else will end the invocation
                left = 0
            elif (
                not invocation.pauses
            ):  # a pause is in the lab's time: its real time on this machine does not count
                left -= _SLICE
            if left <= 0:
                if worker.alive:
                    self._clock.sleep_until(invocation.deadline)
                invocation.end(_timed_out(invocation.id, timeout))
                worker.kill()

    def _let_it_take(self, worker: Worker, invocation: Invocation) -> None:
        """Lets the time of its work pass, without the time of its pauses."""
        self._keep(worker)
        work = self._durations.rest(worker, invocation)
        left = invocation.deadline - self._clock.time()
        self._clock.sleep(max(0.0, min(work, left)))
        if work > left:
            invocation.outcome = _timed_out(invocation.id, worker.spec.timeout)
            worker.kill()

    def _pause(self, worker: Worker, seconds: float) -> Response:
        """The function lets time pass, until its time-out, when it is ended."""
        invocation = worker.current
        if invocation is None:
            return Response(status=410)
        if not math.isfinite(seconds):
            return Response(status=400)
        self._let_pass(worker, invocation, seconds)
        return Response()

    def _let_pass(self, worker: Worker, invocation: Invocation, seconds: float) -> None:
        """Lets this much time pass with the event running, unless its time-out comes first."""
        self._keep(worker)
        clock = self._clock
        until = clock.time() + seconds
        invocation.pauses += 1
        try:
            with clock.serving(invocation.fiber):
                clock.sleep_until(min(until, invocation.deadline))
        finally:
            invocation.pauses -= 1
        if until > invocation.deadline:
            invocation.end(_timed_out(invocation.id, worker.spec.timeout))
            worker.kill()

    def _start(self, spec: FunctionSpec) -> Worker:
        processes = self._processes.get(spec.folders)
        if processes is None or not (processes.alive or self._closed):
            processes = WorkerProcesses(spec.folders, loaded=self._durations.may_share_init)
            self._processes[spec.folders] = processes
        worker = Worker(
            spec,
            iam.assume(spec.role, spec.name, spec.region),
            processes,
            variables=self._variables,
            log=self._logs.path(spec.name) if self.may_log(spec) else None,
            scratch=self._scratch,
            runtime_api=f"127.0.0.1:{self._server.port}{PAGE}",
            ended=self._ended,
        )
        self._workers[worker.id] = worker
        if self._closed:
            worker.kill()
        return worker

    def _give_back(self, worker: Worker) -> None:
        with self._lock:
            worker.current = None
            if worker.alive and not self._closed:
                self._idle.setdefault(worker.spec.name, []).append(worker)

    def _ended(self, worker: Worker) -> None:
        if worker.current:
            worker.current.end(_exited(worker.current.id, worker.process.returncode or 0))
            self._keep(worker)
        with self._lock:
            self._workers.pop(worker.id, None)
            self._idle[worker.spec.name] = [
                w for w in self._idle.get(worker.spec.name, []) if w is not worker
            ]
            self._lock.notify_all()
        self._clock.stir()

    def _calling(self, access_key_id: str) -> Worker | None:
        workers = list(self._workers.values())
        keys = (w for w in workers if w.credentials.access_key_id == access_key_id and w.current)
        return next(keys, None)

    def _calls(self, access_key_id: str, service: str) -> None:
        worker = None if service == NOT_ITS_OWN else self._calling(access_key_id)
        # A program with timers of its own says itself when time may move.
        if worker is None or worker.spec.own_time or worker.current is None:
            return
        if worker.current.deadline < math.inf:
            took = self._durations.call(worker)
            if took:
                self._let_pass(worker, worker.current, took)

    def _called(self, access_key_id: str, service: str) -> None:
        worker = None if service == NOT_ITS_OWN else self._calling(access_key_id)
        if worker is not None and worker.current is not None:
            worker.current.calls += 1
            if self.faults.kills_at_call(worker.current.id):
                worker.kill()

    def _answer(self, request: Request) -> Response:
        """The Runtime API: /WORKER/2018-06-01/runtime/…, and /WORKER/sleep for a pause in the lab's time."""
        worker_id, _, path = request.path.strip("/").partition("/")
        path = path.removeprefix("2018-06-01/runtime/")
        with self._lock:  # a worker may call before `start` has returned, which holds the lock
            worker = self._workers.get(worker_id)
        if worker is None:
            return Response(status=410)
        if path == "invocation/next":
            return _event(worker)
        if path == "sleep":
            return self._pause(worker, float(request.body))
        invocation = worker.current
        if invocation is not None and (path == "init/error" or invocation.id in path):
            if self.faults.kills_at_answer(invocation.id):
                worker.kill()
            else:
                invocation.end(Outcome(request.body, failed=path.endswith("error")))
        return Response(status=202)

    def _keep(self, worker: Worker) -> None:
        """Gives CloudWatch Logs what is new in the function's log, before time passes.

        New lines are those of this worker: while it works, time stands still, so no other one of the function works.
        """
        lines = self._logs.fresh(worker.spec.name)
        if lines and worker.keeps_log:
            self.keep_lines(worker.spec.arn, worker.log_stream, lines, self._clock.time())


def _event(worker: Worker) -> Response:
    invocation = worker.next()
    if invocation is None:
        return Response(status=410)
    deadline = int(invocation.deadline * 1000)
    return Response(
        body=invocation.payload,
        headers={
            "Lambda-Runtime-Aws-Request-Id": invocation.id,
            "Lambda-Runtime-Deadline-Ms": str(deadline),
            "Lambda-Runtime-Invoked-Function-Arn": worker.spec.arn,
        },
    )


def _timed_out(request_id: str, seconds: float) -> Outcome:
    return _failure("Sandbox.Timedout", request_id, f"Task timed out after {seconds:.2f} seconds")


def _exited(request_id: str, code: int) -> Outcome:
    ending = f"signal: {-code}" if code < 0 else f"exit status {code}"
    return _failure("Runtime.ExitError", request_id, f"Runtime exited with error: {ending}")


def _failure(kind: str, request_id: str, what: str) -> Outcome:
    error = {"errorType": kind, "errorMessage": f"RequestId: {request_id} Error: {what}"}
    return Outcome(json.dumps(error).encode(), failed=True)
