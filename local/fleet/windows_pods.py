"""Pods on a Windows node: which images run there, and whether they get an address.

The VPC resource controller gives a pod its address only with `enable-windows-ipam` in the ConfigMap amazon-vpc-cni and
with the group eks:kube-proxy-windows for the node's role (EKS user guide, windows-support; containers-roadmap 1977).
"""

from local.fleet.interfaces import Pod

_IPAM = "/api/v1/namespaces/kube-system/configmaps/amazon-vpc-cni"
#: Parts of the names of images that are built for Windows.
_BUILT_FOR_WINDOWS = ("windows", "nanoserver", "mcr.microsoft.com")


def no_address(pod: Pod) -> str:
    """Why the pod gets no address; "" if it gets one, or is not on a Windows node."""
    machine, world = pod.kubelet.machine, pod.world
    if not machine.image.windows or pod.pod["spec"].get("hostNetwork"):
        return ""
    settings = (world.api.find(_IPAM) or {}).get("data") or {}
    if settings.get("enable-windows-ipam") == "true" and world.network.windows_right(machine.instance_id):
        return ""
    return (
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox: "
        f'plugin type="vpc-bridge" name="vpc" failed (add): failed to get pod IP address {pod.name}: '
        f"pod {pod.name} does not have label vpc.amazonaws.com/PrivateIPv4Address"
    )


def wrong_platform(pod: Pod, image: str) -> str:
    """Why containerd cannot run the image on the pod's node; "" if it can."""
    node = pod.kubelet.machine.image
    windows = any(part in image for part in _BUILT_FOR_WINDOWS)
    if windows == node.windows:
        return ""
    platform = "windows/amd64" if node.windows else f"linux/{node.node_architecture}"
    return (
        f'failed to pull and unpack image "{image}": no match for platform in manifest: {platform}: not found'
    )
