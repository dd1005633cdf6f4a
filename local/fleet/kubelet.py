"""The kubelet of one machine: registers the node, sends heartbeats, announces devices, runs its pods."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from local.fleet import timings
from local.fleet.coroutines import Pause, Until
from local.fleet.faults import node as node_faults
from local.fleet.gpus import built_in_plugin
from local.fleet.gpus.hardware import Hardware, hardware
from local.fleet.machine import Machine
from local.fleet.node_object import UNINITIALIZED, conditions, lost, network, node, stamped
from local.fleet.pod import PodRun
from local.fleet.world import TERMINAL, World, path
from local.kubernetes.api import ApiError, Object

GPU, EFA = "nvidia.com/gpu", "vpc.amazonaws.com/efa"
#: The cloud controller sets it while the instance is stopped.
SHUTDOWN = {"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": "NoSchedule"}
_CONFLICT = 409
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_SILENCE = 45.0


class Kubelet:
    """`start` returns its coroutine. `stop` means that the machine is being switched off."""

    def __init__(self, machine: Machine, world: World) -> None:
        self.machine = machine
        self.world = world
        self.hardware: Hardware = _hardware(machine)
        self.missing = int(self.suffers("gpu-count-short"))
        self.dead: set[int] = set()
        """GPUs, by index, that fell off the bus. Nothing brings them back."""
        self.slices: dict[str, int] = {}
        """The MIG slices of each of its GPUs, and how many of each; empty if GPUs are whole."""
        self.feature_file: dict[str, str] = {}
        """The labels in the file on this node in which GPU feature discovery leaves them for NFD."""
        self.images: set[str] = set()
        self.ready = self.was_ready = False
        self.registered = False
        self.stopped = False
        self.allocatable: dict[str, int] = {}
        self._runs: dict[str, PodRun] = {}
        self._coroutines = [world.coroutines.tell(self._join())]

    @property
    def name(self) -> str:
        return self.machine.node_name

    @property
    def gpus(self) -> int:
        """The number of GPUs that the driver sees."""
        return max(self.hardware.gpus - self.missing, 0)

    @property
    def pods(self) -> "list[PodRun]":
        """The pods that it knows, oldest first."""
        return list(self._runs.values())

    def suffers(self, fault: str) -> bool:
        """Whether the fault is on for this machine. Machines of no pool have no faults."""
        return self.hardware.gpus > 0 and self.world.faults.holds(fault, self.machine.nodegroup)

    @property
    def monitored(self) -> bool:
        """Whether the node monitoring agent runs on it."""
        return self.world.daemonsets.find("kube-system", "eks-node-monitoring-agent") is not None

    def delay(self, stage: float, *subject: str) -> float:
        return self.world.timings.of(stage, self.machine.private_dns, *subject)

    def see(self, change: str, pod: Object) -> None:
        """Called when a pod of this node is new, has changed or is deleted."""
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
                    self.world.coroutines.tell(_confirm(self.world, pod))
                return
            run = self._runs[uid] = PodRun(self, pod)
        run.changed(pod)

    def free_gpus(self) -> int:
        """Units of nvidia.com/gpu that no pod of this node holds."""
        taken = sum(run.holds_gpus for run in list(self._runs.values()))
        return self.allocatable.get(GPU, 0) - taken

    def announce(self, resource: str, count: int, *, healthy: int | None = None) -> None:
        """A device plugin lists `count` devices; all are healthy unless it gives a number."""
        self.allocatable[resource] = well = count if healthy is None else healthy
        self._update_status({"capacity": {resource: str(count)}, "allocatable": {resource: str(well)}})

    def announce_efa(self, count: int) -> None:
        """The EFA plugin lists its devices: they are no GPUs."""
        amount = {EFA: str(count)}
        self._update_status({"capacity": amount, "allocatable": amount})

    def withdraw(self, resource: str) -> None:
        """The device plugin is gone: its devices count as unhealthy, but the kubelet remembers them."""
        if not self.stopped:
            self.allocatable[resource] = 0
            self._update_status({"allocatable": {resource: "0"}})

    def label(self, labels: Mapping[str, str | None]) -> None:
        """Sets labels; None removes one."""
        self.world.api.merge(f"/api/v1/nodes/{self.name}", {"metadata": {"labels": labels}})

    def heartbeat(self, renew_time: str) -> None:
        """Renews the node's lease; `renew_time` with microseconds."""
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
        """The machine goes down: it sends no heartbeats and no logs, and nothing runs any more."""
        self.stopped = True
        for coroutine in self._coroutines:
            coroutine.stop()
        for run in list(self._runs.values()):
            run.vanished()
        self.world.coroutines.tell(self._fall_silent())

    def _join(self) -> Iterator[Pause]:
        boot = timings.REGISTER_WINDOWS if self.machine.image.windows else timings.REGISTER
        yield self.delay(boot, "register")
        yield Until(lambda: not self.suffers("node-not-joined"))
        if self.stopped or self.machine.cannot_join:
            return
        while not self.world.network.admits(self.machine.instance_id):
            yield timings.REGISTER_AGAIN
        taints = node_faults.taints(self)
        self.world.api.create(
            "/api/v1/nodes", node(self.machine, self.world.kubelet_port, self.world.timestamp(), taints)
        )
        self.registered = True
        self._coroutines += [
            self.world.coroutines.tell(coroutine)
            for coroutine in (*node_faults.coroutines(self), *built_in_plugin.coroutines(self))
        ]
        yield self.delay(timings.CLOUD_CONTROLLER, "initialize")
        self.retaint(
            lambda taint: taint["key"] not in (UNINITIALIZED, SHUTDOWN["key"]),
            *map(dict, self.machine.later_taints),
        )
        if self.machine.later_labels:
            self.label(self.machine.later_labels)
        yield self.delay(timings.CNI, "cni")
        yield Until(lambda: not self.suffers("node-not-ready"))
        self.ready = self.was_ready = True
        self._update_status({"conditions": conditions(ready=True)})

    def set_condition(self, condition: Object) -> None:
        self._update_status({"conditions": [condition]})

    def set_network(self, *, up: bool) -> None:
        """The node's network plugin comes back, or fails. When it is back, the pods report their readiness again."""
        self.ready = up
        self._update_status({"conditions": [network(up=up)]})
        if up:
            for run in self.pods:
                run.post()

    def _fall_silent(self) -> Iterator[Pause]:
        """The real node controller counts 50 real seconds without a heartbeat; here they are the lab's seconds."""
        yield _SILENCE
        self._update_status({"conditions": lost()})
        # As the node controller does when it gives up a node: budgets and Services no longer count its pods.
        for pod in self.world.pods_on(self.name):
            told = {"type": "Ready", "status": "False", "lastTransitionTime": self.world.timestamp()}
            self.world.api.amend(f"{path(pod)}/status", {"status": {"conditions": [told]}})

    def _update_status(self, status: Object) -> None:
        if "conditions" in status:
            status = {**status, "conditions": stamped(status["conditions"], self.world.timestamp())}
        self.world.api.amend(f"/api/v1/nodes/{self.name}/status", {"status": status})
        self.world.coroutines.look_again()

    def retaint(self, keep: Callable[[Object], bool], *more: Object) -> None:
        """Replaces the whole list of taints. If another program changed it in between, it tries again."""
        while found := self.world.api.find(f"/api/v1/nodes/{self.name}"):
            taints = [*(taint for taint in found["spec"].get("taints", []) if keep(taint)), *more]
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


def _hardware(machine: Machine) -> Hardware:
    """No driver and no device plugin for GPUs exists in AWS's Windows images."""
    found = hardware(machine.instance_type)
    return replace(found, gpus=0, gpu=None) if machine.image.windows else found


def _confirm(world: World, pod: Object) -> Iterator[Pause]:
    """Tells the API server that the containers of a finished pod are gone, so that it can delete the pod."""
    yield 0.0
    world.api.delete(path(pod), {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}})
