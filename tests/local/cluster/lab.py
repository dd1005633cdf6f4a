"""What the tests of the simulated cluster keep asking for: machines, pods, and waiting for what is true."""

import itertools
import time
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from local.clock import VirtualClock
from local.fleet.fleet import Fleet
from local.fleet.machine import Machine
from local.kubernetes.api import KubernetesApi

Value = TypeVar("Value")
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
POLICY = "/apis/nvidia.com/v1/clusterpolicies/cluster-policy"
_WAIT_SECONDS = 60


def await_true(what: Callable[[], Value], sentence: str) -> Value:
    """The first true value of `what()`; the real control plane needs real milliseconds."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < deadline:
        value = what()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not in {_WAIT_SECONDS} s: {sentence}")


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
        self, instance_type: str, nodegroup: str, ami_type: str, *, taints=(), labels=None
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
        """Until the operator's validator on the node is Ready."""

        def validated() -> bool:
            pod = self.pod_of("nvidia-operator-validator", machine)
            conditions = pod["status"].get("conditions", []) if pod else []
            return {"Ready": "True"}.items() <= {one["type"]: one["status"] for one in conditions}.items()

        await_true(validated, f"the validator on {machine.node_name} is Ready")

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
        """The pod once it has one of the phases."""

        def arrived():
            pod = self.kubernetes.get(path)
            return pod if pod["status"].get("phase") in phases else None

        return await_true(arrived, f"{path} is {' or '.join(phases)}")

    def on(self, machine: Machine) -> dict[str, dict[str, str]]:
        """Pod fields that bind it to the machine's node through the scheduler."""
        return {"nodeSelector": {"kubernetes.io/hostname": machine.private_dns}}
