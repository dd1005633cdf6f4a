"""The boot of fresh nodes, from the instants of Kubernetes and EC2: the count, start and end of each stage.

- joined: the node object's creationTimestamp. It begins with EC2's launch of the instance.
- node-ready: when the node's Ready condition turned (lastTransitionTime).
- driver, toolkit, cuda, plugin: when the init container of that name of the operator's validator on the node ended
  well (finishedAt). Kubernetes runs init containers one after the other. The first waits until the driver works,
  the last runs a pod on a GPU that the device plugin has offered.
  https://github.com/NVIDIA/gpu-operator/blob/main/assets/state-operator-validation/0500_daemonset.yaml
  https://kubernetes.io/docs/concepts/workloads/pods/init-containers/

Not read: the Ready times of DCGM and its exporter, since no GPU waits for them; and the instant when a GPU became
allocatable, since no condition has it. A pool without the operator has only the first two stages.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from lamplighter.domain.leases.progress import BootStage, Noted, in_turn
from lamplighter.domain.pool.nodes import NodeFacts, PodFacts

VALIDATIONS: Mapping[BootStage, str] = {
    BootStage.DRIVER: "driver-validation",
    BootStage.TOOLKIT: "toolkit-validation",
    BootStage.CUDA: "cuda-validation",
    BootStage.PLUGIN: "plugin-validation",
}


def boot(
    launched: Mapping[str, datetime],
    nodes: Sequence[NodeFacts],
    validators: Sequence[PodFacts] | None,
    most: int,
) -> dict[BootStage, Noted]:
    """The stages of the boot of these instances; a stage that no instance has begun is left out.

    `launched` has fresh instances and when EC2 launched them. `validators` is None where no operator works.
    A lease has at most `most` nodes: instances of other leases may be fresh as well.
    """
    by_instance = {node.instance: node for node in nodes}
    steps = list(BootStage) if validators is not None else [BootStage.JOINED, BootStage.READY]
    ends = {instance: _ends(by_instance.get(instance), steps, validators or ()) for instance in launched}
    return in_turn(launched, ends, steps, most)


def _ends(
    node: NodeFacts | None, steps: Sequence[BootStage], validators: Sequence[PodFacts]
) -> dict[BootStage, datetime]:
    """When this node finished each stage, up to the first that it has not finished."""
    if node is None:
        return {}
    instants: dict[BootStage, datetime | None] = {
        BootStage.JOINED: node.created,
        BootStage.READY: node.ready_since if node.ready else None,
    }
    for pod in validators:
        if pod.node == node.name and not pod.leaving and pod.created >= node.created:
            instants |= {step: pod.prepared.get(name) for step, name in VALIDATIONS.items()}
    found: dict[BootStage, datetime] = {}
    for step in steps:
        at = instants.get(step)
        if at is None:
            break
        found[step] = at
    return found
