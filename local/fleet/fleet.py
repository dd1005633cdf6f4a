"""All simulated machines of one cluster. EC2 and EKS report instances to it; every other program sees nodes.

This file has the watches that all machines share, and the heartbeats.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from local.clock import VirtualClock
from local.faults.switches import Switches
from local.fleet import cloud_controller, draining, jobs
from local.fleet.controllers import unfinished
from local.fleet.convergence import Convergence
from local.fleet.coroutines import Coroutines, Pause
from local.fleet.faults.policy import policy_fault
from local.fleet.gpus import exported_metrics
from local.fleet.gpus.operator import POLICIES, Operator
from local.fleet.kubelet import Kubelet
from local.fleet.logs import KubeletServer, Logs
from local.fleet.machine import Machine
from local.fleet.network import Network
from local.fleet.timings import Timings
from local.fleet.world import Objects, Start, World
from local.kubernetes.api import KubernetesApi, Object
from local.kubernetes.certificates import Authority
from local.kubernetes.pending_changes import Written

LOG = logging.getLogger(__name__)
_HEARTBEAT_SECONDS = 10.0


class Fleet:
    """`work` is a folder of its own for the kubelets' certificate.

    `seed` decides all jitter. `faults` may change at any time. Whoever makes it lets `written` note the writes to the
    control plane.
    """

    def __init__(
        self,
        api: KubernetesApi,
        clock: VirtualClock,
        work: Path,
        *,
        seed: int = 0,
        faults: Switches | None = None,
    ) -> None:
        self.faults = faults or Switches()
        self._api = api
        self._clock = clock
        self._coroutines = Coroutines(clock)
        logs = Logs(clock)
        work.mkdir(parents=True, exist_ok=True)
        Authority("lamplighter-embedded-kubelets").server("kubelet", ["localhost"]).write(work, "kubelet")
        self._server = KubeletServer(logs, work / "kubelet.crt", work / "kubelet.key")
        self._world = World(api, self._coroutines, Timings(seed), self._server.port, logs, self.faults)
        self.written = Written(self._watched(), clock.stir)
        self._convergence = Convergence(self._world, self.written)
        self._operator = Operator(self._world)
        self._kubelets: dict[str, Kubelet] = {}
        self._touched: set[tuple[str, float]] = set()
        self._lock = threading.Lock()
        self._starting: Callable[[], bool] = lambda: False
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def network(self) -> Network:
        """The network between the machines. The embedded EC2 may close it."""
        return self._world.network

    def run_real(self, image: str, start: Start, starting: Callable[[], bool]) -> None:
        """From now on containers with this image run a real program. Time stands while `starting()`."""
        self._world.real_programs[image] = start
        self._starting = starting

    @property
    def never_came(self) -> frozenset[str]:
        """States that we expected of Kubernetes and that never came: our reading of the cluster was wrong."""
        return self._convergence.never_came

    def start(self) -> None:
        """Starts to follow the cluster."""
        self._server.start()
        self.faults.listen(self._coroutines.look_again)
        self._coroutines.tell(policy_fault(self._world))
        self._begin("fleet-heartbeats", self._beat)
        self._follow("/api/v1/pods", self._world.pods, self._see_pod)
        self._follow("/api/v1/nodes", self._world.nodes, self._see_node)
        self._follow("/apis/apps/v1/daemonsets", self._world.daemonsets, self._see_other)
        self._follow("/apis/apps/v1/controllerrevisions", self._world.revisions, _ignore)
        self._follow(POLICIES, self._world.policies, self._see_other)
        self._follow("/apis/apps/v1/replicasets", self._world.replicasets, _ignore)
        self._follow("/apis/apps/v1/deployments", self._world.deployments, _ignore)
        self._follow("/apis/batch/v1/jobs", self._world.jobs, self._see_job)
        self._follow("/apis/policy/v1/poddisruptionbudgets", self._world.budgets, _ignore)
        self._clock.settled = lambda: not self._starting() and self._convergence.settled()
        self._clock.awaited = lambda: unfinished(self._world)

    def stop(self) -> None:
        """Ends all coroutines and watches. The cluster itself may run on, or be gone already."""
        self._stop.set()
        self._api.hang_up()
        self._clock.settled = self._clock.awaited = lambda: True
        self._coroutines.close()
        self._server.stop()
        for thread in self._threads:
            thread.join(5)

    @property
    def world(self) -> World:
        """What controllers beside the fleet share with it."""
        return self._world

    def watch(self, kind: str, address: str) -> Objects:
        """Follows one more kind of objects for such a controller. Time stands until it has seen what is written."""
        objects = Objects()

        def changed(*_: object) -> None:
            self._coroutines.look_again()

        self.written.add(kind, objects)
        self._follow(address, objects, changed)
        return objects

    def served(self, namespace: str, pod: str, port: int) -> str | None:
        """What a pod answers at a port to a GET of its metrics; None where nothing listens."""
        with self._lock:
            kubelets = list(self._kubelets.values())
        for kubelet in kubelets:
            for run in kubelet.pods:
                if (run.namespace, run.name) == (namespace, pod):
                    return exported_metrics.served(kubelet, run, port)
        return None

    def machine_started(self, machine: Machine) -> None:
        """Called when the machine's instance is running."""
        with self._lock:
            self._kubelets[machine.instance_id] = Kubelet(machine, self._world)

    def joined(self, instance_id: str) -> bool:
        """Whether the machine has become a node."""
        kubelet = self._kubelets.get(instance_id)
        return kubelet is not None and kubelet.registered

    def machine_stopping(self, instance_id: str) -> None:
        """Called when its instance is shutting down: the kubelet stops its heartbeats."""
        kubelet = self._kubelets.get(instance_id)
        if kubelet and not kubelet.stopped:
            kubelet.stop()

    def machine_off(self, instance_id: str) -> None:
        """Called when its instance is stopped, and exists: the cloud controller will taint the node."""
        self.machine_stopping(instance_id)
        kubelet = self._kubelets.get(instance_id)
        if kubelet:
            self._coroutines.tell(cloud_controller.instance_off(kubelet))

    def machine_stopped(self, instance_id: str) -> None:
        """Called when its instance is terminated: the cloud controller will remove the node."""
        self.machine_stopping(instance_id)
        with self._lock:
            kubelet = self._kubelets.pop(instance_id, None)
        if kubelet:
            self._coroutines.tell(cloud_controller.instance_gone(kubelet))

    def drain(self, instance_id: str) -> None:
        """Cordons and empties the node, as EKS does before a scale-in. Returns when it is empty or unknown."""
        kubelet = self._kubelets.get(instance_id)
        if kubelet and kubelet.registered:
            draining.drain(self._world, self._clock, kubelet.name)

    def cordon(self, instance_id: str, *, closed: bool = True) -> None:
        """Sets whether the node takes new pods."""
        kubelet = self._kubelets.get(instance_id)
        if kubelet and kubelet.registered:
            draining.cordon(self._world, kubelet.name, closed=closed)

    def evict(self, instance_id: str) -> bool:
        """Evicts the pods of the node, as EKS does in an update of its group; False if some stay too long."""
        kubelet = self._kubelets.get(instance_id)
        if kubelet is None or not kubelet.registered:
            return True
        return draining.evicted(self._world, self._clock, kubelet.name)

    def node_name(self, instance_id: str) -> str:
        """The name of the machine's node; the instance's id if nobody knows the machine."""
        kubelet = self._kubelets.get(instance_id)
        return kubelet.name if kubelet else instance_id

    def ready(self, instance_id: str) -> bool:
        """Whether the machine is a Ready node."""
        kubelet = self._kubelets.get(instance_id)
        return kubelet is not None and kubelet.registered and kubelet.ready

    def _see_pod(self, change: str, pod: Object) -> None:
        node = pod["spec"].get("nodeName")
        with self._lock:
            kubelet = next((one for one in self._kubelets.values() if one.name == node), None)
        if kubelet:
            kubelet.see(change, pod)
        if pod["metadata"].get("labels", {}).get("app") == "gpu-operator":
            self._operator.notice()
        self._coroutines.look_again()

    def _see_job(self, change: str, job: Object) -> None:
        if change != "DELETED":
            pods = [pod for pod in self._world.pods.all() if jobs.owns(job, pod)]
            for at in jobs.instants(job, pods):
                self._touch_at(at, job)

    def _touch_at(self, at: float, job: Object) -> None:
        """Touches a Job once at each of its instants. Instants in the past have had their touch."""
        mark = (job["metadata"]["uid"], at)
        if mark in self._touched:
            return
        self._touched.add(mark)
        self._coroutines.tell(self._touch(at, job))

    def _touch(self, at: float, job: Object) -> Iterator[Pause]:
        yield max(0.0, at - self._clock.time())
        jobs.touch(self._world, job)

    def _see_node(self, change: str, _: Object) -> None:
        self._operator.notice()
        if change == "DELETED":
            self._coroutines.look_again()

    def _see_other(self, *_: object) -> None:
        self._operator.notice()

    def _follow(self, address: str, objects: Objects, seen: Callable[[str, Object], None]) -> None:
        def note(change: str, item: Object) -> None:
            objects.note(change, item)
            try:
                seen(change, item)
            except Exception:  # an error with one object must not hide the others
                LOG.exception("the fleet stumbled over %s %s", change, item["metadata"]["name"])

        def reached(version: str) -> None:
            objects.reached(version)
            self._convergence.touch()
            self._clock.stir()

        self._begin(f"watch {address}", lambda: self._api.follow(address, note, self._stop, reached))

    def _watched(self) -> dict[str, Objects]:
        """The watched objects, by kind."""
        world = self._world
        return {
            "Pod": world.pods,
            "Node": world.nodes,
            "DaemonSet": world.daemonsets,
            "ClusterPolicy": world.policies,
            "ReplicaSet": world.replicasets,
            "Deployment": world.deployments,
            "Job": world.jobs,
            "PodDisruptionBudget": world.budgets,
        }

    def _beat(self) -> None:
        while not self._stop.wait(_HEARTBEAT_SECONDS):
            now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            with self._lock:
                kubelets = list(self._kubelets.values())
            for kubelet in kubelets:
                try:
                    kubelet.heartbeat(now)
                except Exception:  # the next heartbeat tries again
                    LOG.exception("the heartbeat of %s was not taken", kubelet.name)

    def _begin(self, name: str, what: Callable[[], None]) -> None:
        thread = threading.Thread(target=what, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)


def _ignore(*_: object) -> None:
    """Does nothing: only Kubernetes' own controllers act on it."""
