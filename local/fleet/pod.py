"""The life of one pod on its node: admission, image pulls, init containers, containers, restarts, deletion.

The program of a container (programs.py) decides what it prints, how long it runs and how it exits.
"""

import threading
from collections.abc import Callable, Generator, Iterator

from local.fleet import timings
from local.fleet.addresses import no_address
from local.fleet.container import ContainerRun
from local.fleet.coroutines import Coroutine, Pause, Until
from local.fleet.faults import container as container_faults
from local.fleet.images import duration, pull_seconds, size_bytes, wrong_platform
from local.fleet.interfaces import Node
from local.fleet.world import TERMINAL, gpus_of, path
from local.kubernetes.api import Object

_GRACE_CODE = 143
"""The exit status of a program that the signal TERM ended."""
_KILLED = 137
_LETTING_GO = (1.0, 2.0, 4.0, 8.0)
_TOO_LONG = "Pod was active on the node longer than the specified deadline"


class PodRun:
    """One pod, by uid, from the moment its kubelet sees it."""

    def __init__(self, kubelet: Node, pod: Object) -> None:
        self.kubelet = kubelet
        self.world = kubelet.world
        self.pod = pod
        self.holds_devices = False
        self._lock = threading.RLock()
        self._leaving = False
        self._started = self.world.timestamp()
        self._reason: Object = {}
        self._at_end: list[Callable[[], None]] = []
        self.init_containers = [ContainerRun(self, spec) for spec in pod["spec"].get("initContainers", [])]
        self._main = [ContainerRun(self, spec) for spec in pod["spec"]["containers"]]
        self._coroutines: list[Coroutine] = []
        if "deletionTimestamp" not in pod["metadata"]:
            self._coroutines.append(self.world.coroutines.tell(self._live()))

    @property
    def name(self) -> str:
        return str(self.pod["metadata"]["name"])

    @property
    def base_name(self) -> str:
        """Its name without the random part that the API server added."""
        return str(self.pod["metadata"].get("generateName") or self.name)

    @property
    def namespace(self) -> str:
        return str(self.pod["metadata"]["namespace"])

    @property
    def gpus(self) -> int:
        """The number of GPUs that the pod asks for."""
        return gpus_of(self.pod)

    @property
    def holds_gpus(self) -> int:
        """The GPUs that the pod keeps from others; none once its end is visible."""
        return self.gpus if self.holds_devices and self._phase() not in TERMINAL else 0

    def at_end(self, undo: Callable[[], None]) -> None:
        """Registers an action that undoes something when the pod stops."""
        self._at_end.append(undo)

    def changed(self, pod: Object) -> None:
        self.pod = pod
        if "deletionTimestamp" in pod["metadata"] and not self._leaving:
            self._leaving = True
            self._halt()
            self.world.coroutines.tell(self._leave())

    def vanished(self) -> None:
        """The pod was deleted without a grace period, or its machine is gone."""
        self._leaving = True
        self._halt()
        self.world.logs.forget(self.namespace, self.name)
        self.world.coroutines.tell(self._undo())

    @property
    def containers(self) -> list[ContainerRun]:
        return [*self.init_containers, *self._main]

    def pull(self, image: str) -> Generator[Pause, None, str]:
        """Waits for an image, which a node pulls only once. Returns why the pull failed, or ""."""
        if image in self.kubelet.images:
            self.world.event(self.pod, "Pulled", f'Container image "{image}" already present on machine')
            return ""
        self.world.event(self.pod, "Pulling", f'Pulling image "{image}"')
        why = wrong_platform(self.kubelet.machine.image, image)
        if why:
            yield self.kubelet.delay(timings.REFUSED_PULL, "refused", image)
            self.world.event(self.pod, "Failed", f'Failed to pull image "{image}": {why}', warning=True)
            return why
        slow = self.kubelet.suffers("image-pull-slow")
        seconds = self.kubelet.delay(pull_seconds(image, slow=slow), "pull", image)
        if self.kubelet.suffers("image-pull-failed"):
            yield self.kubelet.delay(timings.REFUSED_PULL, "refused", image)
            if self.kubelet.suffers("image-pull-failed"):
                why = container_faults.refused_pull(image)
                self.world.event(self.pod, "Failed", f'Failed to pull image "{image}": {why}', warning=True)
                return why
        yield seconds
        self.kubelet.images.add(image)
        took = duration(seconds)
        self.world.event(
            self.pod,
            "Pulled",
            f'Successfully pulled image "{image}" in {took} ({took} including waiting). '
            f"Image size: {size_bytes(image)} bytes.",
        )
        return ""

    def post(self) -> None:
        """Writes the pod's status from the present state of its containers."""
        with self._lock:
            if self._leaving:
                return
            self.world.api.amend(path(self.pod) + "/status", {"status": self._status()})

    def _live(self) -> Iterator[Pause]:
        if not (yield from self._admitted()):
            return
        self.holds_devices = True
        self.post()
        deadline = self.pod["spec"].get("activeDeadlineSeconds")
        if deadline:
            self._coroutines.append(self.world.coroutines.tell(self._expire(deadline)))
        if not self.pod["spec"].get("hostNetwork"):
            yield Until(lambda: self.kubelet.ready)
        yield from self._sandbox()
        for container in self.init_containers:
            yield from container.life()
            if not container.succeeded:
                yield from self._finish()
                return
        for container in self._main:
            self._coroutines.append(self.world.coroutines.tell(container.life()))
        yield Until(lambda: all(container.ended for container in self._main))
        yield from self._finish()

    def _admitted(self) -> Generator[Pause, None, bool]:
        """Whether the kubelet has GPUs for it.

        A GPU of another pod is free once that pod's end is visible. Here this takes a thread a moment, which is no
        reason to refuse.
        """
        free = self._free_gpus()
        for pause in _LETTING_GO:
            if self.gpus <= free or self.kubelet.suffers("admission-refused"):
                break
            yield pause
            free = self._free_gpus()
        if self.gpus > free:
            self._refuse(free)
        return self.gpus <= free

    def _free_gpus(self) -> int:
        return 0 if self.kubelet.suffers("admission-refused") else self.kubelet.free_gpus()

    def _sandbox(self) -> Iterator[Pause]:
        """Creates the sandbox. The kubelet retries at the interval at which it checks its pods."""
        while why := container_faults.no_sandbox(self) or no_address(self):
            yield self.kubelet.delay(timings.START_CONTAINER, "sandbox", self.base_name)
            self.world.event(self.pod, "FailedCreatePodSandBox", why, warning=True)
            yield timings.RESYNC

    def _finish(self) -> Iterator[Pause]:
        for coroutine in self._coroutines[1:]:
            coroutine.stop()
        self.holds_devices = False
        self.world.coroutines.look_again()
        yield from self._undo()

    def _expire(self, seconds: float) -> Iterator[Pause]:
        """A pod may be active this long from the moment its kubelet accepted it, pulls included."""
        yield float(seconds)
        for coroutine in self._coroutines:
            coroutine.stop()
        for container in self.containers:
            container.interrupt(_KILLED)
        self._reason = {"reason": "DeadlineExceeded", "message": _TOO_LONG}
        self.post()
        self.holds_devices = False
        self.world.coroutines.tell(self._undo())

    def _refuse(self, free: int) -> None:
        message = (
            "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
            f"Requested: {self.gpus}, Available: {free}, which is unexpected"
        )
        status = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": message}
        self.world.api.amend(path(self.pod) + "/status", {"status": status})
        self.world.event(self.pod, "UnexpectedAdmissionError", message, warning=True)

    def _leave(self) -> Iterator[Pause]:
        """Stops what runs within the grace period, reports it, and lets the API server delete the pod."""
        grace = self.pod["metadata"].get("deletionGracePeriodSeconds", 0)
        yield min(grace, self.kubelet.delay(timings.STOP_CONTAINER, "stop", self.base_name))
        yield from self._undo()
        for container in self.containers:
            container.interrupt(_GRACE_CODE)
        # After the last write of a container that has just started: an end is never reverted.
        with self._lock:
            self.world.api.amend(path(self.pod) + "/status", {"status": self._status()})
        uid = {"uid": self.pod["metadata"]["uid"]}
        self.world.api.delete(path(self.pod), {"gracePeriodSeconds": 0, "preconditions": uid})

    def _halt(self) -> None:
        for coroutine in self._coroutines:
            coroutine.stop()
        self.holds_devices = False
        self.world.coroutines.look_again()

    def _undo(self) -> Iterator[Pause]:
        """Runs on a thread of the coroutines, because undoing calls the API server."""
        yield 0.0
        while self._at_end:
            self._at_end.pop()()

    def _phase(self) -> str:
        if self._reason:
            return "Failed"
        if all(container.ended for container in self._main):
            return "Succeeded" if all(container.succeeded for container in self._main) else "Failed"
        if any(container.ended and not container.succeeded for container in self.init_containers):
            return "Failed"
        return "Running" if any(container.began for container in self._main) else "Pending"

    def _status(self) -> Object:
        phase, at = self._phase(), self.world.timestamp()
        initialized = all(container.succeeded for container in self.init_containers)
        ready = initialized and all(container.ready for container in self._main)
        truth = {
            "PodReadyToStartContainers": True,
            "Initialized": initialized,
            "Ready": ready,
            "ContainersReady": ready,
            "PodScheduled": True,
        }
        completed = {"reason": "PodCompleted"} if phase == "Succeeded" else {}
        return {
            "phase": phase,
            **self._reason,
            "startTime": self._started,
            "hostIP": self.kubelet.machine.private_ip,
            "hostIPs": [{"ip": self.kubelet.machine.private_ip}],
            "podIP": self.kubelet.machine.private_ip,
            "podIPs": [{"ip": self.kubelet.machine.private_ip}],
            "conditions": [
                {
                    "type": kind,
                    "status": str(value),
                    "lastTransitionTime": at,
                    **(completed if kind in ("Ready", "ContainersReady") else {}),
                }
                for kind, value in truth.items()
            ],
            "initContainerStatuses": [container.status() for container in self.init_containers],
            "containerStatuses": [container.status() for container in self._main],
        }
