"""One Lambda worker: a process of its own that runs one function and serves one invocation at a time.

This file has the process, its environment and the hand-over of invocations. runtime.py decides when a worker is
started, reused or ended.
"""

import math
import os
import queue
import shutil
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from local.aws.functions.runnable_layer import OURS
from local.aws.functions.worker_processes import WorkerProcesses
from local.aws.iam import Credentials
from local.clock_fibers import Fiber


@dataclass(frozen=True)
class FunctionSpec:
    """The specification of a worker. Any change of it needs a new worker. `timeout` in seconds, `memory` in MB."""

    name: str
    arn: str
    role: str
    handler: str
    code: Path
    timeout: float
    memory: int
    region: str
    version: str = "$LATEST"
    #: In which Lambda writes its own lines into the log: `Text` or `JSON`.
    log_format: str = "Text"
    #: The folders that it imports from beside its code: the packages of its layers.
    packages: tuple[Path, ...] = (OURS,)
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Variables that name the worker's own folder for temporary files, as /tmp in Lambda.
    scratch_in: tuple[str, ...] = ("HOME", "TMPDIR")
    #: Whether it runs programs with timers of their own (helm), which wait for events in the lab's time.
    own_time: bool = False

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders to import from, its own first."""
        return (self.code, *self.packages)

    def __hash__(self) -> int:
        return hash((self.arn, self.code, self.handler))


@dataclass(frozen=True)
class Outcome:
    """The result of an invocation; `failed` is Lambda's function error."""

    payload: bytes
    failed: bool = False


class Invocation:
    """One event on its way through a worker; only the first outcome counts."""

    def __init__(self, payload: bytes) -> None:
        self.id = str(uuid.uuid4())
        self.payload = payload
        self.outcome: Outcome | None = None
        #: The fiber that it works for, and the end of its time, in the lab's time.
        self.fiber: Fiber | None = None
        self.deadline = math.inf
        #: The AWS calls so far, and the pauses that are running.
        self.calls = self.pauses = 0
        self._done = threading.Event()

    def end(self, outcome: Outcome) -> None:
        if self.outcome is None:
            self.outcome = outcome
            self._done.set()

    def wait(self, seconds: float) -> bool:
        return self._done.wait(seconds)


class Worker:
    """A started worker process. `ended` is called once, when it has ended. Without `log` its lines are kept nowhere."""

    def __init__(
        self,
        spec: FunctionSpec,
        credentials: Credentials,
        processes: WorkerProcesses,
        *,
        variables: Mapping[str, str],
        log: Path | None,
        scratch: Path,
        runtime_api: str,
        ended: "Callable[[Worker], None]",
    ) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        #: A folder of this worker alone, however many start at once: the system makes it, or picks another name.
        self._scratch = Path(tempfile.mkdtemp(dir=scratch))
        self.id = self._scratch.name
        self.spec = spec
        self.keeps_log = log is not None
        self.log_stream = f"local/[{spec.version}]{self.id}"
        self.credentials = credentials
        self.current: Invocation | None = None
        #: Whether it has never had an event.
        self.new = True
        self._killed = False
        self.ready = threading.Event()  # it has asked for its first invocation, or has ended
        self._waiting: queue.SimpleQueue[Invocation | None] = queue.SimpleQueue()
        with (log or Path(os.devnull)).open("ab") as output:
            variables = self._environment(variables, f"{runtime_api}/{self.id}")
            self.process = processes.start(spec.handler, variables, output.fileno())
        threading.Thread(
            target=self._await_end, args=(ended,), name=f"worker {spec.name}", daemon=True
        ).start()

    @property
    def alive(self) -> bool:
        """Whether it can take another event: a killed worker may still exist for a moment."""
        return not self._killed and self.process.returncode is None

    def offer(self, invocation: Invocation) -> None:
        """Gives it the next event."""
        self._waiting.put(invocation)

    def next(self) -> Invocation | None:
        """The invocation that the worker asks for; it waits for one. None when the worker must end."""
        self.ready.set()
        return self._waiting.get()

    def kill(self) -> None:
        """Ends the worker and everything that it started, at once."""
        self._killed = True
        self.process.kill()

    def _await_end(self, ended: "Callable[[Worker], None]") -> None:
        self.process.wait()
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._waiting.put(None)
        self.ready.set()
        ended(self)

    def _environment(self, variables: Mapping[str, str], runtime_api: str) -> dict[str, str]:
        spec = self.spec
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "TZ": ":UTC",
            # As on Lambda, where code and layers cannot be written.
            "PYTHONDONTWRITEBYTECODE": "1",
            "AWS_EC2_METADATA_DISABLED": "true",
            **variables,
            "LAMPLIGHTER_SLEEP": f"http://{runtime_api}/sleep",
            **spec.environment,
            **dict.fromkeys(spec.scratch_in, str(self._scratch)),
            **self.credentials.environment(),
            "AWS_REGION": spec.region,
            "AWS_DEFAULT_REGION": spec.region,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_python{sys.version_info.major}.{sys.version_info.minor}",
            "AWS_LAMBDA_RUNTIME_API": runtime_api,
            "AWS_LAMBDA_FUNCTION_NAME": spec.name,
            "AWS_LAMBDA_FUNCTION_VERSION": spec.version,
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(spec.memory),
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{spec.name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": self.log_stream,
            "LAMBDA_TASK_ROOT": str(spec.code),
            "_HANDLER": spec.handler,
        }
