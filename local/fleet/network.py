"""Whether one machine can reach another. The simulated programs ask before they connect.

At first everything is open; the embedded EC2 replaces that by its security groups.
"""

from collections.abc import Callable

#: From an instance, to an instance, to a TCP port.
Path = Callable[[str, str, int], bool]


class Network:
    """`allows` may be replaced while the fleet runs."""

    def __init__(self) -> None:
        self.allows: Path = lambda _source, _target, _port: True
