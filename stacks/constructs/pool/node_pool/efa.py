"""The network interfaces of a node with EFA: one for its addresses, and as many for EFA as its type has.

EFA-only interfaces take no address. EKS gives the pods of a node with such interfaces only the addresses that its own
interface has from the launch (https://docs.aws.amazon.com/eks/latest/userguide/device-management-efa.html). Beside the
node's own interface, on card 0, such an interface is the second device of the card; on every other card it is the first
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html). AWS documents the key
`advancedNetworking` for EKS Auto Mode; nobody of ours has tried it on AWS
(https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html).
"""

from collections.abc import Mapping, Sequence

from lamplighter.data.instance_types import InstanceType

Interface = Mapping[str, object]
PREFIXES = 2
"""Prefixes of 16 addresses for the pods of a node: those of its GPUs, and one of each DaemonSet."""


def interfaces(of_type: InstanceType) -> Sequence[Interface]:
    """The node's own on the first card, and one for EFA on each card that has it."""
    own = {
        "networkCardIndex": 0,
        "deviceIndex": 0,
        "interfaceType": "interface",
        "secondaryIPv4PrefixCount": PREFIXES,
    }
    first = of_type.first_efa_card
    return [own, *(_for_efa(card) for card in range(first, first + of_type.efa))]


def _for_efa(card: int) -> Interface:
    return {"networkCardIndex": card, "deviceIndex": 1 if card == 0 else 0, "interfaceType": "efa-only"}
