"""Whether one machine's packets reach another: what the simulated programs ask before they connect.

By itself everything is open; the embedded EC2 puts its security groups in place of that.
"""

from collections.abc import Callable

#: From an instance, to an instance, to a TCP port.
Path = Callable[[str, str, int], bool]


class Network:
    """`allows` may be replaced while the fleet runs."""

    def __init__(self) -> None:
        self.allows: Path = lambda _source, _target, _port: True
