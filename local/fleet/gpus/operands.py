"""The DaemonSets that the GPU Operator makes from a ClusterPolicy, one for each of its states.

They have only what placement, rollout and the node's programs need: names, selectors, tolerations, images, containers,
environment.
"""

from dataclasses import dataclass

from local.kubernetes.api import Object

_ATTEMPT = "nvidia.com/gpu.deploy"


@dataclass(frozen=True)
class Operand:
    """One DaemonSet of the operator: `state` is the operator's name for it.

    `key` is its part of the policy's spec, and `selector` the last part of the node label that asks for it.
    """

    state: str
    key: str
    name: str
    container: str
    selector: str
    waits_for: tuple[str, ...] = ("toolkit-validation",)
    always: bool = False

    @property
    def needs_runtime(self) -> bool:
        """Whether its pods run under the nvidia runtime. The pods that install driver and runtime cannot."""
        return self.key not in ("driver", "toolkit")

    def wanted(self, spec: Object) -> bool:
        """Whether the policy asks for it. A missing key has the operator's default, which is on."""
        return self.always or bool(spec.get(self.key, {}).get("enabled", self.key != "dcgm"))


OPERANDS = (
    Operand("state-driver", "driver", "nvidia-driver-daemonset", "nvidia-driver-ctr", "driver", ()),
    Operand(
        "state-container-toolkit",
        "toolkit",
        "nvidia-container-toolkit-daemonset",
        "nvidia-container-toolkit-ctr",
        "container-toolkit",
        (),
    ),
    Operand(
        "state-operator-validation",
        "validator",
        "nvidia-operator-validator",
        "nvidia-operator-validator",
        "operator-validator",
        ("driver-validation", "toolkit-validation", "cuda-validation", "plugin-validation"),
        always=True,
    ),
    Operand(
        "state-device-plugin",
        "devicePlugin",
        "nvidia-device-plugin-daemonset",
        "nvidia-device-plugin",
        "device-plugin",
    ),
    Operand("state-dcgm", "dcgm", "nvidia-dcgm", "nvidia-dcgm-ctr", "dcgm"),
    Operand(
        "state-dcgm-exporter",
        "dcgmExporter",
        "nvidia-dcgm-exporter",
        "nvidia-dcgm-exporter",
        "dcgm-exporter",
    ),
    Operand(
        "gpu-feature-discovery",
        "gfd",
        "gpu-feature-discovery",
        "gpu-feature-discovery",
        "gpu-feature-discovery",
    ),
    Operand("state-mig-manager", "migManager", "nvidia-mig-manager", "nvidia-mig-manager", "mig-manager"),
)
MIG_MANAGER = f"{_ATTEMPT}.mig-manager"
"""Only nodes whose GPUs can be cut get the label for it."""


def deploy_labels() -> tuple[str, ...]:
    """The labels with which the operator asks a GPU node to run its operands."""
    more = ("node-status-exporter",)
    return tuple(f"{_ATTEMPT}.{name}" for name in (*(one.selector for one in OPERANDS), *more))


def daemonset(operand: Operand, spec: Object, namespace: str, owner: Object) -> Object:
    """The DaemonSet of an operand for a policy's spec. The policy owns it."""
    common = spec.get("daemonsets", {})
    runtime = spec.get("operator", {}).get("runtimeClass", "nvidia")
    strategy: Object = {"type": common.get("updateStrategy", "RollingUpdate")}
    if strategy["type"] == "RollingUpdate":
        most = str(common.get("rollingUpdate", {}).get("maxUnavailable", "1"))
        strategy["rollingUpdate"] = {"maxUnavailable": int(most) if most.isdecimal() else most}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": operand.name,
            "namespace": namespace,
            "labels": {"app": operand.name, "app.kubernetes.io/managed-by": "gpu-operator"},
            "ownerReferences": [owner],
        },
        "spec": {
            "selector": {"matchLabels": {"app": operand.name}},
            "updateStrategy": strategy,
            "template": {
                "metadata": {"labels": {"app": operand.name, **common.get("labels", {})}},
                "spec": {
                    "nodeSelector": {f"{_ATTEMPT}.{operand.selector}": "true"},
                    "tolerations": common.get("tolerations", []),
                    "priorityClassName": common.get("priorityClassName", "system-node-critical"),
                    **({"runtimeClassName": runtime} if operand.needs_runtime else {}),
                    "initContainers": [_waiting(name, spec) for name in operand.waits_for],
                    "containers": [_container(operand, spec)],
                },
            },
        },
    }


def _waiting(name: str, spec: Object) -> Object:
    """An init container of the validator's image. Its part of the policy may add environment variables."""
    part = spec.get("validator", {}).get(name.removesuffix("-validation"), {})
    return {
        "name": name,
        "image": _image(spec.get("validator", {}), "gpu-operator"),
        "command": ["nvidia-validator"],
        "env": [{"name": "COMPONENT", "value": name.removesuffix("-validation")}, *part.get("env", [])],
    }


def _container(operand: Operand, spec: Object) -> Object:
    section = spec.get(operand.key, {})
    environment = list(section.get("env", []))
    config = spec.get("devicePlugin", {}).get("config") or {}
    if operand.key in ("devicePlugin", "gfd") and config.get("name"):
        environment += [
            {"name": "CONFIG_MAP", "value": config["name"]},
            {"name": "DEFAULT", "value": config.get("default", "")},
        ]
    return {
        "name": operand.container,
        "image": _image(section, operand.name),
        "env": environment,
        "resources": section.get("resources", {}),
    }


def _image(section: Object, fallback: str) -> str:
    repository = section.get("repository", "nvcr.io/nvidia")
    version = section.get("version") or "v26.3.1"
    return f"{repository}/{section.get('image', fallback)}:{version}"
