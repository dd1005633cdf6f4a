"""The guard asks the DCGM exporter of a simulated node which GPUs are busy, by the rights that a lab applies."""

from collections.abc import Callable, Iterator

import pytest

from lamplighter.adapters.kubernetes import gpu_metrics, pods
from lamplighter.adapters.kubernetes.connection import Connection, Forbidden
from lamplighter.domain.gpu.dcgm_exporter import rights
from lamplighter.domain.gpu.gpu_use import busy_gpus
from lamplighter.lab.model import Lab as LabFile
from tests.local.cluster.functions import KINDS
from tests.local.cluster.lab import Lab, await_true

Enter = Callable[[str], Connection]
LAB = LabFile.model_validate({"name": "lab", "guard": {"idle_by": "gpu"}})


@pytest.fixture
def allowed(lab: Lab) -> Iterator[None]:
    """The rights of a lab that counts idle time by GPU."""
    paths = []
    for document in rights(LAB):
        metadata = document["metadata"]
        assert isinstance(metadata, dict)
        paths.append(KINDS[str(document["kind"])].format(**metadata))
        lab.kubernetes.apply(paths[-1], document, "cdk")
    yield
    for path in paths:
        lab.kubernetes.delete(path, {})


def read(connection: Connection, lab: Lab) -> list[bool] | None:
    """Which GPUs of the node are busy."""
    found = pods.on_node(connection, lab.gpu.private_dns)
    [exporter] = [pod for pod in found if gpu_metrics.is_exporter(pod, LAB.exporter_namespace)]
    busy = busy_gpus(gpu_metrics.read(connection, exporter) or "")
    return None if busy is None else list(busy.values())


def test_without_the_right_nobody_asks_an_exporter(lab: Lab, enter: Enter) -> None:
    with pytest.raises(Forbidden, match="pods/proxy"):
        read(enter("guard"), lab)


def test_a_gpu_is_busy_while_a_pod_works_and_not_while_it_sleeps(
    lab: Lab, enter: Enter, allowed: None
) -> None:
    guard = enter("guard")

    def reaches() -> bool:
        try:
            return read(guard, lab) == [False]
        except Forbidden:
            return False

    await_true(reaches, "the right acts")
    for command, busy in (("sleep", False), ("train", True)):
        pod = lab.run(command, command, "86400", gpus=1, restartPolicy="Always")
        lab.await_phase(pod, "Running")
        assert read(guard, lab) == [busy]
        lab.kubernetes.delete(pod, {"gracePeriodSeconds": 0})
        await_true(lambda: lab.kubernetes.find(pod) is None, "the pod is gone")  # noqa: B023
    assert read(guard, lab) == [False]
