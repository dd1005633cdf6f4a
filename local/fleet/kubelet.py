"""The kubelet of one machine: registers the node, keeps it alive, announces devices, runs the pods bound to it."""

from collections.abc import Iterator

from local.fleet import timings
from local.fleet.hardware import Hardware, hardware
from local.fleet.machine import Behaviour, Machine
from local.fleet.node_object import UNINITIALIZED, conditions, lost, node
from local.fleet.pod import PodRun
from local.fleet.stories import Pause
from local.fleet.world import TERMINAL, World, path
from local.kubernetes.api import ApiError, Object

GPU = "nvidia.com/gpu"
_CONFLICT = 409
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_SILENCE = 45.0


class Kubelet:
    """`start` tells its story; `stop` is a machine that is being switched off."""

    def __init__(self, machine: Machine, behaviour: Behaviour, world: World) -> None:
        self.machine = machine
        self.behaviour = behaviour
        self.world = world
        self.hardware: Hardware = hardware(machine.instance_type)
        self.images: set[str] = set()
        self.ready = False
        self.registered = False
        self.stopped = False
        self.allocatable: dict[str, int] = {}
        self._runs: dict[str, PodRun] = {}
        self._story = world.stories.tell(self._join())

    @property
    def name(self) -> str:
        return self.machine.node_name

    @property
    def gpus(self) -> int:
        """GPUs that the driver sees."""
        return max(self.hardware.gpus - self.behaviour.gpus_lost, 0)

    def delay(self, stage: float, *subject: str) -> float:
        return self.world.timings.of(stage, self.machine.instance_id, *subject)

    def see(self, change: str, pod: Object) -> None:
        """A pod of this node is new, has changed or is gone."""
        uid = pod["metadata"]["uid"]
        run = self._runs.get(uid)
        if self.stopped:
            return
        if change == "DELETED":
            if run:
                run.vanished()
                del self._runs[uid]
            return
        if run is None:
            if pod.get("status", {}).get("phase", "Pending") in TERMINAL:
                if "deletionTimestamp" in pod["metadata"]:
                    self.world.stories.tell(_confirm(self.world, pod))
                return
            run = self._runs[uid] = PodRun(self, pod)
        run.changed(pod)

    def free_gpus(self) -> int:
        """Units of nvidia.com/gpu that no pod of this node holds."""
        taken = sum(run.holds_gpus for run in list(self._runs.values()))
        return self.allocatable.get(GPU, 0) - taken

    def announce(self, resource: str, count: int) -> None:
        """A device plugin registered `count` healthy devices."""
        self.allocatable[resource] = count
        self._update_status({name: {resource: str(count)} for name in ("capacity", "allocatable")})

    def withdraw(self, resource: str) -> None:
        """The device plugin is gone: its devices count as unhealthy, but the kubelet remembers them."""
        if not self.stopped:
            self.allocatable[resource] = 0
            self._update_status({"allocatable": {resource: "0"}})

    def label(self, labels: dict[str, str]) -> None:
        self.world.api.merge(f"/api/v1/nodes/{self.name}", {"metadata": {"labels": labels}})

    def heartbeat(self, renew_time: str) -> None:
        """Renew the node's lease; `renew_time` with microseconds, in the machine's time."""
        if not self.registered or self.stopped:
            return
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": 40, "renewTime": renew_time}
        if self.world.api.merge(f"{_LEASES}/{self.name}", {"spec": spec}) is None:
            owner = self.world.api.find(f"/api/v1/nodes/{self.name}")
            if owner:
                reference = {"apiVersion": "v1", "kind": "Node", "name": self.name}
                reference["uid"] = owner["metadata"]["uid"]
                metadata = {"name": self.name, "ownerReferences": [reference]}
                self.world.api.create(_LEASES, {"metadata": metadata, "spec": spec})

    def stop(self) -> None:
        """The machine goes down: no heartbeats, no logs, nothing runs any more."""
        self.stopped = True
        self._story.stop()
        for run in list(self._runs.values()):
            run.vanished()
        self.world.stories.tell(self._fall_silent())

    def _join(self) -> Iterator[Pause]:
        if not self.behaviour.joins:
            return
        yield self.delay(timings.REGISTER, "register") + self.behaviour.slow_boot_seconds
        if self.stopped:
            return
        self.world.api.create("/api/v1/nodes", node(self.machine, self.world.kubelet_port))
        self.registered = True
        yield self.delay(timings.CLOUD_CONTROLLER, "initialize")
        self._remove_taint(UNINITIALIZED)
        yield self.delay(timings.CNI, "cni")
        self._update_status({"conditions": conditions(ready=True)})
        self.ready = True
        self.world.stories.look_again()

    def _fall_silent(self) -> Iterator[Pause]:
        """The real node controller counts 50 real seconds without a heartbeat; these are the lab's."""
        yield _SILENCE
        self._update_status({"conditions": [lost()]})

    def _update_status(self, status: Object) -> None:
        self.world.api.amend(f"/api/v1/nodes/{self.name}/status", {"status": status})
        self.world.stories.look_again()

    def _remove_taint(self, key: str) -> None:
        """The list of taints is replaced whole, so somebody else's change in between means: again."""
        while found := self.world.api.find(f"/api/v1/nodes/{self.name}"):
            taints = [taint for taint in found["spec"].get("taints", []) if taint["key"] != key]
            version = {"resourceVersion": found["metadata"]["resourceVersion"]}
            try:
                self.world.api.merge(
                    f"/api/v1/nodes/{self.name}", {"metadata": version, "spec": {"taints": taints}}
                )
            except ApiError as error:
                if error.status != _CONFLICT:
                    raise
            else:
                return


def _confirm(world: World, pod: Object) -> Iterator[Pause]:
    """Tell the API server that a finished pod's containers are gone, so that it may go as well."""
    yield 0.0
    world.api.delete(path(pod), {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}})
