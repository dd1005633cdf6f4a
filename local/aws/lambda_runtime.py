"""Runs Lambda functions: the Runtime API page, and a pool of workers for each function.

It decides when a worker is started, reused and killed, and what a time-out or a death comes to. What the
functions are is moto's (lambda_service.py); retries of asynchronous events are lambda_async.py's.
"""

import json
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.aws import iam
from local.aws.faults import Faults
from local.aws.lambda_worker import FunctionSpec, Invocation, Outcome, Worker
from local.aws.server import Request, Response, Server
from local.clock import VirtualClock

LOG = logging.getLogger(__name__)
PAGE = "/_lamplighter/runtime"
#: Where Slack is played (local/slack).
SLACK = "/_slack"
LOOPBACK = "127.0.0.1"
#: Real seconds a worker may take to load its handler (AWS allows 10; a laptop is slower than its cold start).
INIT_SECONDS = 60.0
#: As many as an account with the smallest quota runs at once.
MOST_WORKERS = 10


class Runtime:
    """All workers of one embedded cloud. Its time-outs are real: a function's work takes real time."""

    def __init__(self, server: Server, clock: VirtualClock, work: Path) -> None:
        self._server = server
        self._clock = clock
        self._logs = work / "logs"
        self._logs.mkdir(parents=True, exist_ok=True)
        self._scratch = work / "scratch"
        self._variables = {
            "AWS_ENDPOINT_URL": server.endpoint,
            "LAMPLIGHTER_CLOCK": str(clock.path),
            # As the endpoint of AWS: who speaks to Slack speaks to this one, and answers on this machine.
            "SLACK_API_URL": f"{server.endpoint}{SLACK}/api/",
            "SLACK_REPLY_HOSTS": LOOPBACK,
        }
        self._mutex = threading.RLock()
        self._lock = threading.Condition(self._mutex)
        self._workers: dict[str, Worker] = {}
        self._idle: dict[str, list[Worker]] = {}
        self._under_way: Counter[str] = Counter()
        #: Who waits for a worker, by function: whoever came first is served first.
        self._lines: dict[str, deque[threading.Condition]] = {}
        self._closed = False
        self.faults = Faults()
        server.page(PAGE, self._answer)
        server.application.observers.append(self._called)

    def invoke(self, spec: FunctionSpec, payload: bytes) -> Outcome:
        """Run the function on one event and wait for what it comes to; nobody hurries meanwhile."""
        with self._clock.busy(), self._counted(spec.name):
            invocation = Invocation(payload)
            if self.faults.dead(spec.name):
                return _exited(invocation.id, 1)
            worker = self._take(spec)
            self.faults.starts(spec.name, invocation.id, payload)
            self._write(spec.name, f"START RequestId: {invocation.id} Version: {spec.version}")
            started = time.monotonic()
            worker.offer(invocation)
            worker.ready.wait(INIT_SECONDS)
            if not invocation.wait(spec.timeout if worker.alive else 1):
                invocation.end(_timed_out(invocation.id, spec.timeout))
                worker.kill()
            took = (time.monotonic() - started) * 1000
            self._write(
                spec.name,
                f"END RequestId: {invocation.id}\nREPORT RequestId: {invocation.id} Duration: {took:.2f} ms",
            )
            self._give_back(worker)
            assert invocation.outcome is not None  # noqa: S101 (ended above)
            return invocation.outcome

    def at_work(self, function: str) -> bool:
        """Whether an invocation of the function runs, or waits for a worker."""
        return self._under_way[function] > 0

    def warm(self, spec: FunctionSpec) -> None:
        """Start a worker that waits for the function's first event, where there is none yet."""
        with self._lock:
            if not self._closed and all(worker.spec != spec for worker in self._workers.values()):
                self._idle.setdefault(spec.name, []).append(self._start(spec))

    def forget(self, function: str) -> None:
        """The function changed or went: its idle workers end now, a running one after its invocation."""
        with self._lock:
            for worker in self._idle.pop(function, []):
                worker.kill()

    def invocation(self, access_key_id: str) -> tuple[str, str, bytes] | None:
        """Function, invocation and payload behind a key, if a function calls with it right now."""
        for worker in list(self._workers.values()):
            current = worker.current
            if worker.credentials.access_key_id == access_key_id and current:
                return worker.spec.name, current.id, current.payload
        return None

    def logs(self, function: str) -> str:
        """All that the function and the runtime have written, oldest first."""
        path = self._logs / f"{function}.log"
        return path.read_text("utf-8", errors="replace") if path.exists() else ""

    def close(self) -> None:
        """Kill every worker and wait until they are gone."""
        with self._lock:
            self._closed = True
            for worker in self._workers.values():
                worker.kill()
            self._lock.wait_for(lambda: not self._workers, 5)

    @contextmanager
    def _counted(self, function: str) -> Iterator[None]:
        with self._lock:
            self._under_way[function] += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way[function] -= 1

    def _take(self, spec: FunctionSpec) -> Worker:
        """An idle worker of this very function, else a new one; where too many run, in the order of asking."""
        with self._lock:
            line = self._lines.setdefault(spec.name, deque())
            turn = threading.Condition(self._mutex)
            line.append(turn)
            try:
                while True:
                    worker = self._free(spec) if line[0] is turn else None
                    if worker is not None:
                        return worker
                    turn.wait()
            finally:
                line.remove(turn)
                self._next(spec.name)

    def _free(self, spec: FunctionSpec) -> Worker | None:
        """A worker for the first in line, if there may be one now."""
        idle = self._idle.setdefault(spec.name, [])
        while idle:
            worker = idle.pop()
            if worker.spec == spec and worker.alive:
                return worker
            worker.kill()
        running = sum(worker.spec.name == spec.name for worker in self._workers.values())
        return self._start(spec) if running < MOST_WORKERS or self._closed else None

    def _next(self, function: str) -> None:
        """Something came free: whoever is first looks again."""
        line = self._lines.get(function)
        if line:
            line[0].notify()

    def _start(self, spec: FunctionSpec) -> Worker:
        worker = Worker(
            spec,
            iam.assume(spec.role, spec.name, spec.region),
            variables=self._variables,
            log=self._logs / f"{spec.name}.log",
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
            self._next(worker.spec.name)

    def _ended(self, worker: Worker) -> None:
        if worker.current:
            worker.current.end(_exited(worker.current.id, worker.process.returncode))
        with self._lock:
            self._workers.pop(worker.id, None)
            self._idle[worker.spec.name] = [
                w for w in self._idle.get(worker.spec.name, []) if w is not worker
            ]
            self._next(worker.spec.name)
            self._lock.notify_all()

    def _called(self, access_key_id: str, _service: str) -> None:
        for worker in list(self._workers.values()):
            if worker.credentials.access_key_id == access_key_id and worker.current:
                if self.faults.kills_at_call(worker.current.id):
                    worker.kill()
                return

    def _answer(self, request: Request) -> Response:
        """The Runtime API: /WORKER/2018-06-01/runtime/…"""
        worker_id, _, path = request.path.strip("/").partition("/2018-06-01/runtime/")
        with self._lock:  # a worker may ask before its start has returned, which the lock is held for
            worker = self._workers.get(worker_id)
        if worker is None:
            return Response(status=410)
        if path == "invocation/next":
            return _event(worker)
        invocation = worker.current
        if invocation is not None and (path == "init/error" or invocation.id in path):
            if self.faults.kills_at_answer(invocation.id):
                worker.kill()
            else:
                invocation.end(Outcome(request.body, failed=path.endswith("error")))
        return Response(status=202)

    def _write(self, function: str, line: str) -> None:
        with (self._logs / f"{function}.log").open("a", encoding="utf-8") as log:
            log.write(line + "\n")


def _event(worker: Worker) -> Response:
    invocation = worker.next()
    if invocation is None:
        return Response(status=410)
    deadline = int((time.time() + worker.spec.timeout) * 1000)
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
