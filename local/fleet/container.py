"""One container of a pod: pull, start, run its program, end, and start again where the pod says so."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from local.fleet import timings
from local.fleet.programs import program_of
from local.fleet.stories import Pause
from local.fleet.world import timestamp
from local.kubernetes.api import Object

if TYPE_CHECKING:
    from local.fleet.pod import PodRun

_BACK_OFF = (10.0, 20.0, 40.0, 80.0, 160.0, 300.0)
"""The kubelet doubles its patience with a crashing container up to five minutes."""


class ContainerRun:
    """`began` once it ran, `running` while it does, `ended` when it will not run again."""

    def __init__(self, pod: "PodRun", spec: Object) -> None:
        self.pod = pod
        self.spec = spec
        self.began = self.running = self.ended = self.succeeded = False
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
    def environment(self) -> dict[str, str]:
        return {entry["name"]: str(entry.get("value", "")) for entry in self.spec.get("env", [])}

    @property
    def words(self) -> str:
        """Its command line, as far as the pod states it."""
        return " ".join([*self.spec.get("command", []), *self.spec.get("args", [])])

    def say(self, text: str) -> None:
        """Print to the container's log."""
        self.pod.world.logs.add((self.pod.namespace, self.pod.name, self.name), text)

    def life(self) -> Iterator[Pause]:
        """From pull to its last end."""
        self._state = {"waiting": {"reason": "ContainerCreating"}}
        yield from self.pod.pull(self.image)
        while True:
            yield self.pod.kubelet.delay(timings.START_CONTAINER, "start", self.pod.name, self.name)
            self._begin()
            status = yield from program_of(self)
            again = self._restarts_after(status)
            self._end(status, "Completed" if status == 0 else "Error", last=not again)
            if not again:
                return
            yield _BACK_OFF[min(self._restarts, len(_BACK_OFF) - 1)]
            self._restarts += 1

    def interrupt(self, status: int) -> None:
        """It was told to stop; one that has ended already stays as it ended."""
        if not self.ended:
            self._end(status, "Error", last=True, post=False)

    def status(self) -> Object:
        """As the pod's status lists it."""
        return {
            "name": self.name,
            "image": self.image,
            "imageID": self.image,
            "ready": self.succeeded if self in self.pod.init_containers else self.running,
            "started": self.running,
            "restartCount": self._restarts,
            "state": self._state,
            "lastState": self._last,
        }

    def _begin(self) -> None:
        self.pod.world.logs.begin((self.pod.namespace, self.pod.name, self.name))
        self._started = timestamp()
        self.began = self.running = True
        self._state = {"running": {"startedAt": self._started}}
        self.pod.world.event(self.pod.pod, "Started", f"Started container {self.name}")
        self.pod.post()

    def _end(self, status: int, reason: str, *, last: bool, post: bool = True) -> None:
        ended = {
            "exitCode": status,
            "reason": reason,
            "startedAt": self._started or timestamp(),
            "finishedAt": timestamp(),
        }
        self.running, self.ended, self.succeeded = False, last, status == 0
        if last:
            self._state = {"terminated": ended}
        else:
            message = f"back-off restarting failed container={self.name} pod={self.pod.name}"
            self._state = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
            self._last = {"terminated": ended}
        self.pod.world.logs.end((self.pod.namespace, self.pod.name, self.name))
        if post:
            self.pod.post()

    def _restarts_after(self, status: int) -> bool:
        policy = self.pod.pod["spec"].get("restartPolicy", "Always")
        if self in self.pod.init_containers:
            return status != 0 and policy != "Never"
        return policy == "Always" or (policy == "OnFailure" and status != 0)
