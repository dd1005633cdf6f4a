"""The pod of the EFA plugin's chart on a node: it announces the node's EFA devices, as many as interfaces for EFA.

https://docs.aws.amazon.com/eks/latest/userguide/device-management-efa.html
"""

from collections.abc import Callable, Generator

from local.fleet import timings
from local.fleet.coroutines import Pause, Until
from local.fleet.interfaces import Container

PLUGIN = "aws-efa-k8s-device-plugin"
Program = Generator[Pause, None, int]


def find(container: Container) -> Callable[[Container], Program] | None:
    """The program of the plugin's container; None for any other."""
    return _plug_devices if container.name == PLUGIN else None


def _plug_devices(container: Container) -> Program:
    kubelet = container.pod.kubelet
    yield kubelet.delay(timings.REGISTER_DEVICES, "efa")
    kubelet.announce_efa(kubelet.machine.efa)
    container.pod.at_end(lambda: kubelet.announce_efa(0))
    yield Until(lambda: False)
    return 0
