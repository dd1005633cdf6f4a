"""One day of an example: deployed as it is, its pool opened by the command line, proven, closed, and at zero again."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lamplighter.domain.leases.lease import LeaseState
from local.cloud import Cloud
from stacks.layer import CHECKOUT
from tests.karpenter_program import controller_or_skip
from tests.scenarios.deployed_lab import NOON
from tests.scenarios.karpenter_day import KarpenterDay
from tests.scenarios.lab_day import LabDay

EXAMPLES = CHECKOUT / "examples"


@contextmanager
def deployed(example: Path) -> Iterator[LabDay]:
    """The lab of an example on a cloud of its own."""
    with Cloud(example, start=NOON, progress=print) as cloud:
        cloud.up()
        yield LabDay(cloud)


@contextmanager
def deployed_with_karpenter(example: Path, pool: str) -> Iterator[KarpenterDay]:
    """The same with the real Karpenter, in real time; skipped without its program."""
    controller_or_skip()
    with Cloud(example, start=NOON, progress=print) as cloud:
        cloud.up()
        yield KarpenterDay(cloud, pool)


def gpu_pod(tolerated: str, *command: str, **spec: object) -> dict[str, Any]:
    """The pod that the documents start, with the toleration and the command of one of them."""
    container = {
        "name": "cuda-container",
        "image": "nvidia/cuda:13.0.2-runtime-ubuntu22.04",
        "command": list(command),
        "resources": {"limits": {"nvidia.com/gpu": 1}},
    }
    toleration = {"key": tolerated, "operator": "Exists", "effect": "NoSchedule"}
    spec = {**spec, "containers": [container], "tolerations": [toleration]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "gpu-pod"}, "spec": spec}


def open_prove_and_close(lab: LabDay, nodes: int) -> set[str]:
    """The checks that passed on nodes of the pool; every check passed, and the pool is proven to be at zero."""
    lease = lab.open(nodes, "30m")
    lab.until_state(lease.id, LeaseState.OPEN)
    assert len(lab.live()) == nodes
    return close(lab, lease.id)


def close(lab: LabDay, lease: str) -> set[str]:
    """The checks that passed in a lease, which is closed: every check passed, and the pool is proven to be at zero."""
    closed = lab.command("close", lab.pool.name, "--json")
    assert closed.code == 0, closed
    lab.until_state(lease, LeaseState.CLOSED)
    lab.until_quiet()

    receipt = lab.receipt(lease)
    zero = receipt["proof_of_zero"]
    assert (zero["desired"], zero["instances"], zero["kubernetes_nodes"]) == (0, [], [])
    assert lab.live() == ()
    assert {verdict["verdict"] for verdict in receipt["verdicts"]} == {"passed"}, receipt["verdicts"]
    return {str(verdict["check"]) for verdict in receipt["verdicts"]}
