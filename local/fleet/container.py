"""One container of a pod: image pull, start, program, end, and a new start if the pod asks for one."""

from collections.abc import Callable, Iterator

from local.fleet import timings
from local.fleet.coroutines import Pause, Until
from local.fleet.faults import container as container_faults
from local.fleet.faults.container import StartFailure
from local.fleet.interfaces import Pod
from local.fleet.programs.programs import program_of
from local.kubernetes.api import Object

_NOT_STARTED = 128
"""The kubelet's exit status for a container whose start failed."""
NEVER = "1970-01-01T00:00:00Z"
"""What the kubelet writes for the start of a container that never started: its runtime gives it none."""
_BACK_OFF = (10.0, 20.0, 40.0, 80.0, 160.0, 300.0)
"""The kubelet doubles the wait before it starts a crashing container again, up to five minutes."""


class ContainerRun:
    """`began` once it has started, `running` while it runs, `ready` once its readiness probe succeeds as well.

    `ended` when it will not run again.
    """

    def __init__(self, pod: Pod, spec: Object) -> None:
        self.pod = pod
        self.spec = spec
        self.began = self.running = self.ready = self.ended = self.succeeded = False
        #: Whether its readiness probe succeeds, if it has one; a program may replace it.
        self.serves: Callable[[], bool] = lambda: True
        self._restarts = 0
        self._state: Object = {"waiting": {"reason": "PodInitializing"}}
        self._last: Object = {}
        self._started = ""

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    @property
    def image(self) -> str:
        return str(self.spec.get("image", ""))

    @property
    def holds_gpus(self) -> bool:
        """Whether it asks for GPUs, by any resource name."""
        limits = self.spec.get("resources", {}).get("limits") or {}
        return any(name.startswith("nvidia.com/") for name in limits)

    @property
    def environment(self) -> dict[str, str]:
        return {entry["name"]: str(entry.get("value", "")) for entry in self.spec.get("env", [])}

    @property
    def words(self) -> str:
        """Its command line, as far as the pod gives it."""
        return " ".join([*self.spec.get("command", []), *self.spec.get("args", [])])

    def say(self, text: str) -> None:
        """Prints to the container's log."""
        self.pod.world.logs.add((self.pod.namespace, self.pod.name, self.name), text)

    def life(self) -> Iterator[Pause]:
        """From the image pull to its last end."""
        self._wait("ContainerCreating")
        yield from self._image()
        while True:
            yield self.pod.kubelet.delay(timings.START_CONTAINER, "start", self.pod.base_name, self.name)
            yield from self._create()
            refusal = container_faults.not_started(self)
            if refusal:
                status = _NOT_STARTED
                self._fail_to_start(refusal)
            else:
                self._begin()
                status = yield from program_of(self)
            again = self._restarts_after(status)
            ended = "Completed" if status == 0 else "Error"
            self._end(status, refusal.reason if refusal else ended, last=not again, refusal=refusal)
            if not again:
                return
            yield _back_off(self._restarts)
            self._restarts += 1

    def _image(self) -> Iterator[Pause]:
        """Pulls the image, and retries a failed pull."""
        tries = 0
        while why := (yield from self.pod.pull(self.image)):
            self._wait("ErrImagePull", why)
            self._warn("Error: ErrImagePull")
            self.pod.post()
            yield timings.RESYNC
            backing_off = f'Back-off pulling image "{self.image}"'
            self._wait("ImagePullBackOff", f"{backing_off}: ErrImagePull: {why}")
            self.pod.world.event(self.pod.pod, "BackOff", backing_off)
            self._warn("Error: ImagePullBackOff")
            self.pod.post()
            yield _back_off(tries)
            tries += 1
        if tries:
            self._wait("ContainerCreating")

    def _create(self) -> Iterator[Pause]:
        """Waits until the runtime has created the container.

        A failed creation is retried, whatever the pod's restart policy is.
        """
        while refusal := container_faults.not_created(self):
            self._wait(refusal.reason, refusal.message)
            self._warn(f"Error: {refusal.message}")
            self.pod.post()
            yield timings.RESYNC

    def _wait(self, reason: str, message: str = "") -> None:
        self._state = {"waiting": {"reason": reason, **({"message": message} if message else {})}}

    def _warn(self, message: str) -> None:
        self.pod.world.event(self.pod.pod, "Failed", message, warning=True)

    def _fail_to_start(self, refusal: StartFailure) -> None:
        self._started = NEVER
        self.pod.world.logs.begin((self.pod.namespace, self.pod.name, self.name))
        self._warn(f"Error: {refusal.message}")

    def interrupt(self, status: int) -> None:
        """The container was told to stop. One that has ended already keeps its exit status."""
        if not self.ended:
            self._end(status, "Error", last=True, post=False)

    def status(self) -> Object:
        """Its entry in the pod's status."""
        return {
            "name": self.name,
            "image": self.image,
            "imageID": self.image,
            "ready": self.succeeded if self in self.pod.init_containers else self.ready,
            "started": self.running,
            "restartCount": self._restarts,
            "state": self._state,
            "lastState": self._last,
        }

    def _begin(self) -> None:
        self.pod.world.logs.begin((self.pod.namespace, self.pod.name, self.name))
        self._started = self.pod.world.timestamp()
        self.began = self.running = True
        self._state = {"running": {"startedAt": self._started}}
        probe = self.spec.get("readinessProbe")
        self.ready = probe is None
        if probe:
            self.pod.world.coroutines.tell(self._probe(probe.get("initialDelaySeconds", 0), self._restarts))
        self.pod.world.event(self.pod.pod, "Started", f"Started container {self.name}")
        self.pod.post()
        container_faults.started(self)

    def _end(
        self, status: int, reason: str, *, last: bool, post: bool = True, refusal: StartFailure | None = None
    ) -> None:
        ended = {
            "exitCode": status,
            "reason": reason,
            **({"message": refusal.message} if refusal else {}),
            "startedAt": self._started or NEVER,
            "finishedAt": self.pod.world.timestamp(),
        }
        self.running = self.ready = False
        self.ended, self.succeeded = last, status == 0
        if last:
            self._state = {"terminated": ended}
        else:
            message = f"back-off restarting failed container={self.name} pod={self.pod.name}"
            self._state = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
            self._last = {"terminated": ended}
        self.pod.world.logs.end((self.pod.namespace, self.pod.name, self.name))
        if post:
            self.pod.post()

    def _probe(self, delay: float, run: int) -> Iterator[Pause]:
        """A simulated program that runs this long is ready. A real one is asked."""
        yield float(delay)
        yield Until(lambda: self.serves() or not self.running)
        if self.running and run == self._restarts:
            self.ready = True
            self.pod.post()

    def _restarts_after(self, status: int) -> bool:
        policy = self.pod.pod["spec"].get("restartPolicy", "Always")
        if self in self.pod.init_containers:
            return status != 0 and policy != "Never"
        return policy == "Always" or (policy == "OnFailure" and status != 0)


def _back_off(tries: int) -> float:
    return _BACK_OFF[min(tries, len(_BACK_OFF) - 1)]
