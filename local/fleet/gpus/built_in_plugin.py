"""The device plugin that is part of an image. It has no pod, no label and no log in the cluster; it only offers GPUs.

Bottlerocket's NVIDIA images start one as a service of the node (k8s-device-plugin under systemd), and so do the images
of EKS Auto Mode, which have EFA's plugin as well (https://github.com/aws/eks-charts/pull/1359).
"""

from collections.abc import Iterator

from local.fleet import timings
from local.fleet.coroutines import Pause, Until
from local.fleet.faults import device as device_faults
from local.fleet.gpus.gpu_sharing import UNSHARED
from local.fleet.interfaces import Node


def coroutines(kubelet: Node) -> Iterator[Iterator[Pause]]:
    """The coroutines of one registered node; they end with it."""
    if kubelet.machine.brings_plugin:
        yield _plug_devices(kubelet)


def _plug_devices(kubelet: Node) -> Iterator[Pause]:
    yield Until(lambda: kubelet.ready)
    if kubelet.machine.gpus_at_ready and kubelet.machine.efa:
        kubelet.announce_efa(kubelet.machine.efa)
    while True:
        yield Until(lambda: not _fails(kubelet))
        yield 0.0 if kubelet.machine.gpus_at_ready else kubelet.delay(timings.REGISTER_DEVICES, "devices")
        device_faults.announce(kubelet, UNSHARED)
        yield Until(lambda: _fails(kubelet) or device_faults.to_die(kubelet))
        if _fails(kubelet):
            kubelet.withdraw(UNSHARED.resource)
        else:
            yield timings.XID_STRIKES
            device_faults.die(kubelet)


def _fails(kubelet: Node) -> bool:
    return bool(device_faults.no_devices(kubelet)) or kubelet.suffers("device-plugin-missing")
