"""The effects of a fault on a running node, as coroutines: each waits for its fault to begin, and then to end."""

from collections.abc import Callable, Iterator

from local.fleet import timings
from local.fleet.coroutines import Pause, Until
from local.fleet.faults import container as container_faults
from local.fleet.interfaces import Node
from local.fleet.node_object import condition
from local.kubernetes.api import Object

TAINT = {"key": "dedicated", "value": "lamplighter", "effect": "NoSchedule"}
PLUGIN_LABEL = "nvidia.com/gpu.deploy.device-plugin"
#: The node monitoring agent reads the counters of the interface this often [est].
_MONITOR_SECONDS = 60.0
XID = 79
"""GPU has fallen off the bus."""
_AGENT = "eks-node-monitoring-agent"


def taints(kubelet: Node) -> list[Object]:
    """The taints with which the node registers, beside those of its node group."""
    return [TAINT] if kubelet.suffers("untolerated-taint") else []


def coroutines(kubelet: Node) -> Iterator[Iterator[Pause]]:
    """The coroutines of one registered node; they end with it."""
    yield _while_on(kubelet, "untolerated-taint", _taint, _untaint)
    yield _while_on(kubelet, "node-not-ready", _lose_network, _regain_network)
    yield _while_on(kubelet, "gpu-lost", _lose_gpus, _nothing)
    yield _plugin_label(kubelet)
    yield _bandwidth(kubelet)
    yield _hardware(kubelet)


def _while_on(
    kubelet: Node,
    fault: str,
    begin: Callable[[Node], Iterator[Pause]],
    end: Callable[[Node], Iterator[Pause]],
) -> Iterator[Pause]:
    while True:
        yield Until(lambda: kubelet.suffers(fault))
        yield from begin(kubelet)
        yield Until(lambda: not kubelet.suffers(fault))
        yield from end(kubelet)


def _nothing(_: Node) -> Iterator[Pause]:
    yield 0.0


def _taint(kubelet: Node) -> Iterator[Pause]:
    yield 0.0
    kubelet.retaint(lambda taint: taint["key"] != TAINT["key"], TAINT)


def _untaint(kubelet: Node) -> Iterator[Pause]:
    yield 0.0
    kubelet.retaint(lambda taint: taint != TAINT)


def _lose_network(kubelet: Node) -> Iterator[Pause]:
    yield 0.0
    if kubelet.ready:
        kubelet.set_network(up=False)


def _regain_network(kubelet: Node) -> Iterator[Pause]:
    yield kubelet.delay(timings.CNI, "cni")
    # A node that is still starting becomes Ready by its own coroutine.
    if kubelet.was_ready and not kubelet.ready:
        kubelet.set_network(up=True)


def _lose_gpus(kubelet: Node) -> Iterator[Pause]:
    yield 0.0
    for pod in kubelet.pods:
        for container in pod.containers:
            container_faults.lose_gpu(container)


def _plugin_label(kubelet: Node) -> Iterator[Pause]:
    """For one pool, a label of its nodes switches the plugin off; for all pools, the ClusterPolicy does."""

    def switched_off() -> bool:
        return kubelet.machine.nodegroup in kubelet.world.faults.where("device-plugin-disabled")

    while True:
        yield Until(switched_off)
        kubelet.label({PLUGIN_LABEL: "false"})
        yield Until(lambda: not switched_off())
        # The operator sets its own label again.
        kubelet.label({PLUGIN_LABEL: None})


def _bandwidth(kubelet: Node) -> Iterator[Pause]:
    """The monitoring agent's events, if it runs: no other program reports this."""
    while True:
        yield Until(lambda: kubelet.suffers("bandwidth-throttled") and kubelet.monitored)
        for way, word in (("In", "inbound"), ("Out", "outbound")):
            message = (
                f"{word} bandwidth of the interface exceeded the maximum of {kubelet.machine.instance_type}"
            )
            kubelet.world.node_event(kubelet.name, _AGENT, f"Bandwidth{way}Exceeded", message)
        yield _MONITOR_SECONDS


def _hardware(kubelet: Node) -> Iterator[Pause]:
    """The monitoring agent's condition of the accelerators, if it runs."""
    told: list[tuple[str, str, str]] = [("", "", "")]
    while True:
        yield Until(lambda: kubelet.monitored and _accelerators(kubelet) != told[-1])
        told.append(_accelerators(kubelet))
        kubelet.set_condition(condition("AcceleratedHardwareReady", *told[-1]))


def _accelerators(kubelet: Node) -> tuple[str, str, str]:
    """Status, reason and message."""
    if kubelet.dead:
        return "False", f"NvidiaXID{XID}Error", f"XID {XID} was reported: GPU has fallen off the bus"
    if kubelet.missing:
        message = f"{kubelet.gpus} of {kubelet.hardware.gpus} NVIDIA devices are visible"
        return "False", "NvidiaDeviceCountMismatch", message
    message = "Monitoring for the AcceleratedHardware system is active"
    return "True", "NvidiaAcceleratedHardwareIsReady", message
