"""The network of the machines: whether one can reach another or the cluster, and whether Windows' network has its
rights.

At first everything is open; the embedded AWS replaces that by its security groups and access entries.
"""

from collections.abc import Callable

#: From an instance, to an instance, to a TCP port.
Path = Callable[[str, str, int], bool]
#: Whether the role of an instance has the group eks:kube-proxy-windows.
WindowsRight = Callable[[str], bool]
#: Whether the cluster lets the kubelet of an instance in.
Admission = Callable[[str], bool]


class Network:
    """`allows`, `windows_right` and `admits` may be replaced while the fleet runs."""

    def __init__(self) -> None:
        self.allows: Path = lambda _source, _target, _port: True
        self.windows_right: WindowsRight = lambda _instance: True
        self.admits: Admission = lambda _instance: True
