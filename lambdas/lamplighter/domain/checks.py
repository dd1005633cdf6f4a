"""The GPU checks that need a pod: what each runs, where, for how long, and how its output is judged.

Owns the pods as manifests and the verdict of each; creating, watching and removing them is the step's.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from lamplighter.domain import verdict_nvidia_smi, verdict_vector_add
from lamplighter.domain.gpus import GpuType
from lamplighter.domain.nodes import NodeFacts
from lamplighter.domain.verdict import Verdict

NAMESPACE = "lamplighter"
LEASE_LABEL = "lamplighter/lease"
CHECK_LABEL = "lamplighter/check"
ASKED_ANNOTATION = "lamplighter/asked"
"""When we first asked for the pod, by our own clock: the cluster's may differ."""

# The kubelet ends a check that hangs; pulling the image does not count against it.
RUN_SECONDS = 120
# All checks of a node together, pulls included (a cold pull of a CUDA image takes 1 to 3 minutes).
PATIENCE_SECONDS = 420

Manifest = dict[str, object]


@dataclass(frozen=True)
class Check:
    """One check: the command it runs ([] for the image's own) and how its output is judged."""

    name: str
    command: tuple[str, ...]
    all_gpus: bool
    """Whether it takes every GPU of the node, or one."""
    judge: Callable[[str, int, int, GpuType], Verdict]

    def gpus(self, node: NodeFacts, kind: GpuType) -> int:
        """How many schedulable units it asks for: on shared GPUs a unit is a part of one."""
        shared = node.labels.get("nvidia.com/gpu.replicas", "1") != "1"
        return kind.count if self.all_gpus and not shared else 1


def _vector_add(text: str, exit_code: int, gpus: int, kind: GpuType) -> Verdict:
    del gpus, kind
    return verdict_vector_add.vector_add(text, exit_code)


NVIDIA_SMI = Check(
    name="nvidia-smi",
    command=("nvidia-smi", f"--query-gpu={verdict_nvidia_smi.QUERY}", "--format=csv"),
    all_gpus=True,
    judge=verdict_nvidia_smi.nvidia_smi,
)
VECTOR_ADD = Check(name="vectoradd", command=(), all_gpus=False, judge=_vector_add)
POD_CHECKS = (NVIDIA_SMI, VECTOR_ADD)


def pod_name(check: Check, lease: str, node: str) -> str:
    """The same for every try, so that a check is never run twice side by side."""
    return f"{check.name}-{hashlib.sha256(f'{lease}/{node}'.encode()).hexdigest()[:10]}"


def pod(check: Check, lease: str, node: NodeFacts, kind: GpuType, asked: str) -> Manifest:
    """The pod that runs the check on exactly this node, as nobody in particular."""
    resource = next(iter(node.allocatable), "nvidia.com/gpu")
    gpus = str(check.gpus(node, kind))
    container: Manifest = {
        "name": "check",
        "image": image(),
        "env": [{"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"}],
        "resources": {
            "requests": {"cpu": "100m", "memory": "256Mi", resource: gpus},
            "limits": {"memory": "1Gi", resource: gpus},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    if check.command:
        container["command"] = list(check.command)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod_name(check, lease, node.name),
            "namespace": NAMESPACE,
            "labels": {LEASE_LABEL: lease, CHECK_LABEL: check.name},
            "annotations": {ASKED_ANNOTATION: asked},
        },
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": RUN_SECONDS,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            # By the scheduler, so that checks queue for the GPU; by name, so that no autoscaler adds a node.
            "affinity": {"nodeAffinity": _exactly(node.name)},
            "tolerations": [_tolerated(key, effect) for key, effect in _taints(node)],
            "containers": [container],
        },
    }


@cache
def image() -> str:
    """The image of all checks: CUDA's sample, into which the container toolkit puts nvidia-smi."""
    images: Mapping[str, str] = json.loads(
        files("lamplighter.data").joinpath("images.json").read_text("utf-8")
    )
    return images["cuda_sample"]


def _exactly(node: str) -> Manifest:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}
    }


def _taints(node: NodeFacts) -> list[tuple[str, str]]:
    return sorted({(taint.key, taint.effect) for taint in node.taints})


def _tolerated(key: str, effect: str) -> Manifest:
    return {"key": key, "operator": "Exists", "effect": effect}
