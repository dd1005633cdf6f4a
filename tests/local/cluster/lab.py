"""What the tests of the simulated cluster keep asking for: machines, pods, and waiting for what is true."""

import itertools
import json
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from local.clock import VirtualClock
from local.fleet.fleet import Fleet
from local.fleet.gpus.operands import OPERANDS, Operand, daemonset
from local.fleet.machine import Machine
from local.kubernetes.api import KubernetesApi
from tests.steady.hang import Hang

Value = TypeVar("Value")
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
POLICY = "/apis/nvidia.com/v1/clusterpolicies/cluster-policy"
LAB_SECONDS = 6 * 3600
#: The longest time between two looks. An early look comes after a tenth of the time that has passed.
MOST_BETWEEN = 5


#: The one by which the tests of this folder let time pass.
_CLOCK: list[VirtualClock] = []


def keep_time_by(clock: VirtualClock) -> None:
    """From now on waiting is on this clock."""
    _CLOCK[:] = [clock]


def pass_time(seconds: float) -> None:
    (clock,) = _CLOCK
    clock.sleep(seconds)
    clock.settle()


def await_true(what: Callable[[], Value], sentence: str) -> Value:
    """The first true value of `what()` in the lab's time."""
    (clock,) = _CLOCK
    begun, hang = clock.time(), Hang(sentence)
    clock.settle()
    while not (value := what()):
        passed = clock.time() - begun
        assert passed < LAB_SECONDS, f"not in {LAB_SECONDS} s of the lab: {sentence}"
        hang.check(value)
        pass_time(max(1, min(passed / 10, MOST_BETWEEN)))
    return value


class Lab:
    """A cluster's machines, by the names that the tests give them."""

    OPERATOR_VALUES: ClassVar[dict[str, Any]] = {
        "driver": {"enabled": False},
        "toolkit": {"enabled": False},
        "devicePlugin": {"enabled": True},
        "nfd": {"enabled": True},
        "dcgmExporter": {"enabled": True},
        "validator": {"plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "true"}]}},
        "operator": {
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
        },
    }
    _numbers = itertools.count(10)

    def __init__(self, kubernetes: KubernetesApi, fleet: Fleet, clock: VirtualClock) -> None:
        self.kubernetes = kubernetes
        self.fleet = fleet
        self.clock = clock
        self.gpu: Machine

    def machine(
        self, instance_type: str, nodegroup: str, ami_type: str, *, taints=(), labels=None, **more
    ) -> Machine:
        number = next(self._numbers)
        machine = Machine(
            instance_id=f"i-{number:017x}",
            instance_type=instance_type,
            zone="ap-northeast-2a",
            private_ip=f"192.168.8.{number}",
            private_dns=f"ip-192-168-8-{number}.ap-northeast-2.compute.internal",
            cluster="lab",
            nodegroup=nodegroup,
            labels=labels or {},
            taints=taints,
            ami_type=ami_type,
            max_pods=50,
            launched=self.clock.time(),
            **more,
        )
        self.fleet.machine_started(machine)
        return machine

    def system_node(self) -> Machine:
        machine = self.machine("t3.medium", "lab-ng-1", "AL2023_x86_64_STANDARD")
        await_true(lambda: self.ready(machine), f"{machine.node_name} is Ready")
        return machine

    def gpu_node(self, nodegroup: str = "lab-ng-gpu", instance_type: str = "g5.xlarge", **more) -> Machine:
        more = {"taints": [GPU_TAINT], "ami_type": "AL2023_x86_64_NVIDIA", **more}
        return self.machine(instance_type, nodegroup, labels={"tier": "gpu"}, **more)

    def end(self, machine: Machine) -> None:
        self.fleet.machine_stopping(machine.instance_id)
        self.fleet.machine_stopped(machine.instance_id)
        await_true(lambda: self.node(machine) is None, f"{machine.node_name} is gone")

    def node(self, machine: Machine):
        return self.kubernetes.find(f"/api/v1/nodes/{machine.node_name}")

    def condition(self, machine: Machine, kind: str = "Ready"):
        node = self.node(machine)
        conditions = node["status"].get("conditions", []) if node else []
        return next((one for one in conditions if one["type"] == kind), {})

    def ready(self, machine: Machine) -> bool:
        return self.condition(machine).get("status") == "True"

    def allocatable(self, machine: Machine) -> str | None:
        node = self.node(machine)
        return node["status"].get("allocatable", {}).get("nvidia.com/gpu") if node else None

    def pod_of(self, app: str, machine: Machine):
        """The operator's pod of a kind on a machine's node, or None."""
        pods = self.kubernetes.get(f"/api/v1/namespaces/gpu-operator/pods?labelSelector=app={app}")["items"]
        return next((pod for pod in pods if pod["spec"].get("nodeName") == machine.node_name), None)

    def await_gpus(self, machine: Machine) -> None:
        """Until the operator's validator on the node is Ready, discovery has labelled it, and it takes pods."""

        def validated() -> bool:
            pod = self.pod_of("nvidia-operator-validator", machine)
            conditions = pod["status"].get("conditions", []) if pod else []
            return {"Ready": "True"}.items() <= {one["type"]: one["status"] for one in conditions}.items()

        def taken_up() -> bool:
            node = self.node(machine)
            taints = node["spec"].get("taints", [])
            return "nvidia.com/gpu.count" in node["metadata"]["labels"] and not any(
                taint["key"].startswith(("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/"))
                for taint in taints
            )

        await_true(validated, f"the validator on {machine.node_name} is Ready")
        await_true(taken_up, f"{machine.node_name} is labelled and has no taint of its start")

    def await_whole(self) -> None:
        """Until the operator has done what its policy says now, and the GPU node has its one GPU whole."""
        await_true(self._rolled_out, "every operand is as the policy says")
        self.await_gpus(self.gpu)

        def whole() -> bool:
            labels = self.node(self.gpu)["metadata"]["labels"]
            return self.allocatable(self.gpu) == labels.get("nvidia.com/gpu.replicas") == "1"

        await_true(whole, "the GPU is whole")

    def _rolled_out(self) -> bool:
        spec = self.kubernetes.get(POLICY)["spec"]
        listed = self.kubernetes.get("/apis/apps/v1/namespaces/gpu-operator/daemonsets")["items"]
        here = {one["metadata"]["name"]: one for one in listed}
        return all(_as_said(operand, spec, here.get(operand.name)) for operand in OPERANDS)

    def run(self, name: str, *command: str, namespace: str = "default", gpus: int = 0, **spec):
        """Create a pod that tolerates everything; gives its address."""
        container: dict[str, Any] = {"name": "main", "image": spec.pop("image", "busybox")}
        if command:
            container["command"] = list(command)
        if gpus:
            container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
        body = {
            "metadata": {"name": name, "labels": spec.pop("labels", {})},
            "spec": {
                "restartPolicy": "Never",
                "tolerations": [{"operator": "Exists"}],
                "containers": [container],
                **spec,
            },
        }
        # A namespace's service account comes a moment after the namespace.
        await_true(
            lambda: self.kubernetes.find(f"/api/v1/namespaces/{namespace}/serviceaccounts/default"),
            f"the service account of {namespace}",
        )
        self.kubernetes.request("POST", f"/api/v1/namespaces/{namespace}/pods", body)
        return f"/api/v1/namespaces/{namespace}/pods/{name}"

    def await_phase(self, path: str, *phases: str):
        def arrived():
            pod = self.kubernetes.get(path)
            return pod if pod["status"].get("phase") in phases else None

        return await_true(arrived, f"{path} is {' or '.join(phases)}")

    def on(self, machine: Machine) -> dict[str, dict[str, str]]:
        """Pod fields that bind it to the machine's node through the scheduler."""
        return {"nodeSelector": {"kubernetes.io/hostname": machine.private_dns}}


def _as_said(operand: Operand, spec: dict[str, Any], found: dict[str, Any] | None) -> bool:
    """Whether an operand's DaemonSet is what a policy's spec asks for, and every pod of it is there."""
    if found is None or not operand.wanted(spec):
        return (found is None) is not operand.wanted(spec)
    status = found.get("status", {})
    counts = ("desiredNumberScheduled", "numberAvailable", "updatedNumberScheduled")
    wanted = daemonset(operand, spec, found["metadata"]["namespace"], {})
    return (
        status.get("observedGeneration") == found["metadata"]["generation"]
        and len({status.get(count, 0) for count in counts}) == 1
        and _told(found) == _told(wanted)
    )


def _told(manifest: dict[str, Any]) -> str:
    """Of a DaemonSet what the policy decides, without what the API server fills in."""
    pod = manifest["spec"]["template"]["spec"]
    containers = [*pod.get("initContainers", []), *pod["containers"]]
    told = [(one["image"], one.get("env") or []) for one in containers]
    return json.dumps([pod.get("tolerations", []), told], sort_keys=True)
