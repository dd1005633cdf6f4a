"""By which network NCCL talks between nodes, in its own words.

NCCL names TCP sockets for its first contact, whatever it takes afterwards: `NET/Socket : Using [0]eth0` says nothing.
"""

from enum import StrEnum

_LIBFABRIC = "AWS Libfabric", "Libfabric"
_OF_TCP = "Using network Socket", "via NET/Socket", "elected Provider is tcp", "elected provider is tcp"
_OF_EFA = (
    *(f"Using network {name}" for name in _LIBFABRIC),
    *(f"via NET/{name}" for name in _LIBFABRIC),
    "elected Provider is efa",
    "elected provider is efa",
)


class Transport(StrEnum):
    """The network between the nodes of a collective."""

    TCP = "TCP"
    EFA = "EFA"


def transport_of(line: str) -> Transport | None:
    """The network that a line of NCCL names; None where it names none of ours."""
    if "NCCL" not in line:
        return None
    if any(words in line for words in _OF_TCP):
        return Transport.TCP
    return Transport.EFA if any(words in line for words in _OF_EFA) else None
