"""Whether a pod gets an address of its own.

On Windows the VPC resource controller gives it only with `enable-windows-ipam` in the ConfigMap amazon-vpc-cni and with
the group eks:kube-proxy-windows for the node's role (EKS user guide, windows-support; containers-roadmap 1977).
EKS Auto Mode adds no address to interfaces that a NodeClass describes (device-management-efa).
"""

from local.fleet.interfaces import Pod
from local.fleet.world import TERMINAL

_IPAM = "/api/v1/namespaces/kube-system/configmaps/amazon-vpc-cni"
_FAILED = (
    "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox: "
)


def no_address(pod: Pod) -> str:
    """Why the pod gets no address; "" if it gets one, or uses its node's."""
    if not _needs_address(pod):
        return ""
    return _not_on_windows(pod) if pod.kubelet.machine.image.windows else _too_many(pod)


def _not_on_windows(pod: Pod) -> str:
    machine, world = pod.kubelet.machine, pod.world
    settings = (world.api.find(_IPAM) or {}).get("data") or {}
    if settings.get("enable-windows-ipam") == "true" and world.network.windows_right(machine.instance_id):
        return ""
    return (
        f'{_FAILED}plugin type="vpc-bridge" name="vpc" failed (add): failed to get pod IP address {pod.name}: '
        f"pod {pod.name} does not have label vpc.amazonaws.com/PrivateIPv4Address"
    )


def _too_many(pod: Pod) -> str:
    addresses = pod.kubelet.machine.pod_addresses
    others = [each for each in pod.kubelet.pods if each is not pod and _needs_address(each)]
    if addresses is None or len(others) < addresses:
        return ""
    return (
        f'{_FAILED}plugin type="aws-cni" name="aws-cni" failed (add): add cmd: '
        "failed to assign an IP address to container"
    )


def _needs_address(pod: Pod) -> bool:
    over = pod.pod.get("status", {}).get("phase") in TERMINAL
    return not over and not pod.pod["spec"].get("hostNetwork")
