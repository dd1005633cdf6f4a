"""The network interfaces of a node with EFA: one for its addresses, and as many for EFA as its type has.

EFA-only interfaces take no address. AWS documents the key `advancedNetworking` for EKS Auto Mode; nobody of ours has
tried it on AWS (https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html,
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html).
"""

from collections.abc import Mapping, Sequence

Interface = Mapping[str, object]


def interfaces(efa: int) -> Sequence[Interface]:
    """Each network card has one interface for EFA; the first card also has the node's own."""
    own = {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
    return [
        own,
        *({"networkCardIndex": card, "deviceIndex": 1, "interfaceType": "efa-only"} for card in range(efa)),
    ]
