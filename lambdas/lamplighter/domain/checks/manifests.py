"""The check pods, and the Job and Service of a check between two nodes, as Kubernetes manifests.

They run without privileges, on exactly the given nodes, so no autoscaler adds a node. The step creates, watches and
removes them.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from lamplighter.domain.checks.ladder import (
    ASKED_ANNOTATION,
    CHECK_LABEL,
    LEASE_LABEL,
    NAMESPACE,
    POOL_LABEL,
    SEAT_LABEL,
    Check,
)
from lamplighter.domain.gpu.instance_types import GpuType
from lamplighter.domain.pool.nodes import EFA_RESOURCE, HUGE_PAGES, NodeFacts, NodeTaint

Manifest = dict[str, object]

#: The longest time of an image pull; our largest image has 9 GB.
PULL_SECONDS = 600
FETCH = "fetch"
"""The check label of a pod that only pulls an image to a node."""
AHEAD = "ahead"
"""The check label of a pod that pulls an image before the node's GPUs are ready; its time does not count."""
MASTER_PORT = 29500
#: Where NVIDIA's PyTorch image has libfabric and NCCL's plugin for it. Its entry point, which a pod's command replaces,
#: would name them (https://github.com/NVIDIA-NeMo/RL/pull/2359).
_LIBFABRIC = "export LD_LIBRARY_PATH=/opt/amazon/aws-ofi-nccl/lib:/opt/amazon/efa/lib:$LD_LIBRARY_PATH && "
#: MiB that AWS's examples take (https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html).
_PAGES = 5120

_SCALE_DOWN_SAFE = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}


class CheckOrigin:
    """The lease and pool of a check, and when it was created, by our own clock."""

    def __init__(self, lease: str, pool: str, asked: str) -> None:
        self.lease, self.pool, self.asked = lease, pool, asked

    def metadata(self, check: str, placement: str) -> Manifest:
        """Name, labels and annotations of an object of a check."""
        return {
            "name": placement,
            "namespace": NAMESPACE,
            "labels": self.labels(check, placement),
            "annotations": {ASKED_ANNOTATION: self.asked, **_SCALE_DOWN_SAFE},
        }

    def labels(self, check: str, placement: str) -> dict[str, str]:
        return {LEASE_LABEL: self.lease, POOL_LABEL: self.pool, CHECK_LABEL: check, SEAT_LABEL: placement}


def placement_name(check: str, lease: str, nodes: Iterable[str]) -> str:
    """The name of a placement: the same for every try, so a check never runs twice at the same time."""
    digest = hashlib.sha256("/".join((lease, *nodes)).encode()).hexdigest()[:10]
    return f"{check.replace('_', '-')}-{digest}"


def pod(check: Check, origin: CheckOrigin, placement: str, node: NodeFacts, kind: GpuType) -> Manifest:
    """The pod that runs the check on exactly this node."""
    gpus = check.gpus(node, kind)
    container = _container(check, node, gpus)
    spec = _spec([node], container, check.seconds)
    if check.several:
        run = f"--nnodes 1 --nproc-per-node {gpus} --master-addr 127.0.0.1"
        # Every rank prints into one log, so NCCL says little more than that it began.
        _collective(container, run, check.command, NCCL_DEBUG_SUBSYS="NET")
        # Without NVLinks NCCL goes through shared memory, of which a container has 64 MiB.
        container["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]  # noqa: S108 -- of the container
        spec["volumes"] = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "4Gi"}}]
    elif check.command:
        container["command"] = list(check.command)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": origin.metadata(check.name, placement),
        "spec": spec,
    }


def fetch(image: str, origin: CheckOrigin, placement: str, node: NodeFacts) -> Manifest:
    """A pod without a GPU that does nothing: it pulls the image to the node."""
    return _pulling_pod(image, origin.metadata(FETCH, placement), node)


def ahead(image: str, origin: CheckOrigin, placement: str, node: NodeFacts) -> Manifest:
    """The same for a node whose GPUs are not ready yet."""
    return _pulling_pod(image, origin.metadata(AHEAD, placement), node)


def _pulling_pod(image: str, metadata: Manifest, node: NodeFacts) -> Manifest:
    container: Manifest = {
        "name": "check",
        "image": image_of(image),
        "command": ["true"],
        # An NVIDIA image takes every GPU where the runtime allows it.
        "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
        "securityContext": _unprivileged(root=False),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": _spec([node], container, 0),
    }


def job(
    check: Check, origin: CheckOrigin, placement: str, nodes: Sequence[NodeFacts], kind: GpuType
) -> Manifest:
    """An Indexed Job of two ranks on two nodes, which find each other by the Service's names; without MPI."""
    container = _container(check, nodes[0], 1, _network(nodes, kind))
    run = f"--nnodes 2 --nproc-per-node 1 --node-rank $JOB_COMPLETION_INDEX --master-addr {placement}-0.{placement}"
    _collective(container, run, check.command, before=_LIBFABRIC if kind.efa else "")
    apart = {
        "labelSelector": {"matchLabels": {SEAT_LABEL: placement}},
        "topologyKey": "kubernetes.io/hostname",
    }
    spec = _spec(nodes, container, check.seconds)
    spec["affinity"] = {
        **_exactly([node.name for node in nodes]),
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]},
    }
    spec["subdomain"] = placement
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": origin.metadata(check.name, placement),
        "spec": {
            "completionMode": "Indexed",
            "completions": len(nodes),
            "parallelism": len(nodes),
            "backoffLimit": 0,
            "activeDeadlineSeconds": check.seconds + PULL_SECONDS,
            # In case the step never removes it.
            "ttlSecondsAfterFinished": 3600,
            "template": {
                "metadata": {
                    "labels": origin.labels(check.name, placement),
                    "annotations": {ASKED_ANNOTATION: origin.asked, **_SCALE_DOWN_SAFE},
                },
                "spec": spec,
            },
        },
    }


def service(check: Check, origin: CheckOrigin, placement: str) -> Manifest:
    """A headless Service: each rank has a name, also before it is ready."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": origin.metadata(check.name, placement),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {SEAT_LABEL: placement},
            "ports": [{"name": "master", "port": MASTER_PORT}],
        },
    }


@cache
def image_of(name: str) -> str:
    """An image by its name in data/gpu/images.json."""
    text = files("lamplighter.data.gpu").joinpath("images.json").read_text("utf-8")
    return str(json.loads(text)["images"][name]["image"])


def _network(nodes: Sequence[NodeFacts], kind: GpuType) -> dict[str, str]:
    """A GPU's share of the node's EFA devices, and the huge pages from which libfabric takes its buffers.

    Without such a request a pod gets no huge page, and an image such as Bottlerocket reserves none. EFA's installer
    reserves 220 MiB for each vCPU (bottlerocket-core-kit, pull request 141). So p5.4xlarge has fewer than AWS's
    examples take, and a pod that asks for more than its node has never starts.
    """
    if not kind.efa:
        return {}
    pages = min(_PAGES, *(node.huge_pages for node in nodes))
    return {
        EFA_RESOURCE: str(max(kind.efa // kind.count, 1)),
        **({HUGE_PAGES: f"{pages}Mi"} if pages else {}),
    }


def _collective(
    container: Manifest, run: str, words: Sequence[str], *, before: str = "", **nccl: str
) -> None:
    """Make the container run data/gpu/collective.py: `run` says to torchrun which ranks there are."""
    line = (
        f'{before}printf %s "$COLLECTIVE" > /tmp/collective.py && exec torchrun {run} --master-port {MASTER_PORT}'
        f" /tmp/collective.py {' '.join(words)}"
    )
    container["command"] = ["sh", "-c", line]
    more = {"COLLECTIVE": _program(), "NCCL_SOCKET_IFNAME": "eth0", "NCCL_DEBUG": "INFO", **nccl}
    container["env"] = [
        *_list(container["env"]),
        *({"name": name, "value": value} for name, value in more.items()),
    ]


@cache
def _program() -> str:
    return files("lamplighter.data.gpu").joinpath("collective.py").read_text("utf-8")


def _container(
    check: Check, node: NodeFacts, gpus: int, network: Mapping[str, str] = MappingProxyType({})
) -> Manifest:
    # Sharing may rename the resource; the old name stays with a count of 0.
    resource = next((name for name, count in node.allocatable.items() if count), "nvidia.com/gpu")
    small = check.image == "cuda_sample"
    return {
        "name": "check",
        "image": image_of(check.image),
        "env": [{"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"}],
        "resources": {
            "requests": {
                "cpu": "100m",
                "memory": "256Mi" if small else "1Gi",
                resource: str(gpus),
                **network,
            },
            # Each rank of a collective is a process with PyTorch.
            "limits": {
                "memory": "1Gi" if small else f"{4 + 4 * gpus if check.several else 8}Gi",
                resource: str(gpus),
                **network,
            },
        },
        "securityContext": _unprivileged(root=check.root),
    }


def _unprivileged(*, root: bool) -> Manifest:
    nobody: Manifest = {} if root else {"runAsNonRoot": True, "runAsUser": 65532}
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        **nobody,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _spec(nodes: Sequence[NodeFacts], container: Manifest, seconds: int) -> Manifest:
    # Taints that Kubernetes itself puts on a node in trouble are not tolerated.
    taints = sorted(
        {taint for node in nodes for taint in node.taints if not taint.key.startswith("node.kubernetes.io/")},
        key=str,
    )
    return {
        "restartPolicy": "Never",
        # It counts from the pod's start, with image pulls, and is only the last resort. The step itself ends a check
        # that runs for too long, counted from the container's start.
        "activeDeadlineSeconds": seconds + PULL_SECONDS,
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        # The scheduler places it, so checks queue for the GPU; by node name, so no autoscaler adds a node.
        "affinity": _exactly([node.name for node in nodes]),
        "tolerations": [_tolerated(taint) for taint in taints],
        "containers": [container],
    }


def _exactly(names: Sequence[str]) -> Manifest:
    """One term for each node: the API server takes a single name in a term."""
    terms = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in names
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": required}


def _tolerated(taint: NodeTaint) -> Manifest:
    toleration: Manifest = {"key": taint.key, "effect": taint.effect}
    if taint.value:
        return {**toleration, "operator": "Equal", "value": taint.value}
    return {**toleration, "operator": "Exists"}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
