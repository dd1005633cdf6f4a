"""By which network NCCL talks between nodes, in its own words.

NCCL names TCP sockets for its first contact, whatever it takes afterwards: `NET/Socket : Using [0]eth0` says nothing.
Nor does `Using network AWS Libfabric`, which is the plugin's name: that plugin takes TCP where it finds no EFA. Its
`Selected provider is efa` says it, and so does a channel with GPUDirect (GDRDMA), which TCP does not have.
"""

from enum import StrEnum

_PROVIDER = "selected provider is "
_OF_TCP = "using network socket", "via net/socket", f"{_PROVIDER}tcp", f"{_PROVIDER}sockets"
_CHANNEL, _DIRECT = ("via net/aws libfabric", "via net/libfabric"), "/gdrdma"


class Transport(StrEnum):
    """The network between the nodes of a collective."""

    TCP = "TCP"
    EFA = "EFA"


def transport_of(line: str) -> Transport | None:
    """The network that a line of NCCL names; None where it names none of ours."""
    if "NCCL" not in line:
        return None
    low = line.lower()
    if any(words in low for words in _OF_TCP):
        return Transport.TCP
    direct = _DIRECT in low and any(words in low for words in _CHANNEL)
    return Transport.EFA if direct or f"{_PROVIDER}efa" in low else None
