"""The network interfaces of a node with EFA: one for its addresses, and as many for EFA as its type has.

EFA-only interfaces take no address, and nodeadm would take a second one with addresses for the node's own. Beside the
node's own interface, on card 0, such an interface is the second device of the card; on every other card it is the first
(https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html). The launch template of a node group, and
the node classes of Karpenter (from 1.11) and of EKS Auto Mode, all describe them so, each with a placement group
(https://docs.aws.amazon.com/eks/latest/userguide/device-management-efa.html). Nobody of ours has tried it on AWS.
"""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from lamplighter.data.instance_types import InstanceType

Interface = Mapping[str, object]
PREFIXES = 2
"""Prefixes of 16 addresses for the pods of a node of Auto Mode: those of its GPUs, and one of each DaemonSet."""


def interfaces(of_type: InstanceType) -> Sequence[Interface]:
    """The node's own on the first card, and one for EFA on each card that has it."""
    first = of_type.first_efa_card
    return [
        _interface(0, 0, "interface"),
        *(_interface(card, int(card == 0), "efa-only") for card in range(first, first + of_type.efa)),
    ]


def with_addresses(of_type: InstanceType) -> Sequence[Interface]:
    """The same for Auto Mode: its pods have only the addresses that the node's own interface has from the launch."""
    own, *others = interfaces(of_type)
    return [{**own, "secondaryIPv4PrefixCount": PREFIXES}, *others]


def launched(
    of_type: InstanceType, groups: Sequence[str]
) -> Sequence[ec2.CfnLaunchTemplate.NetworkInterfaceProperty]:
    """The same in a launch template. EKS adds no group of its own to these, and names the subnet itself."""
    return [
        ec2.CfnLaunchTemplate.NetworkInterfaceProperty(
            network_card_index=int(str(each["networkCardIndex"])),
            device_index=int(str(each["deviceIndex"])),
            interface_type=str(each["interfaceType"]),
            groups=list(groups),
            delete_on_termination=True,
        )
        for each in interfaces(of_type)
    ]


def placement_group(scope: Construct) -> str:
    """The name of a new group whose instances stand close together, in one zone."""
    return ec2.CfnPlacementGroup(scope, "PlacementGroup", strategy="cluster").ref


def placed(group: str) -> ec2.CfnLaunchTemplate.PlacementProperty:
    """Instances in this group, in a launch template."""
    return ec2.CfnLaunchTemplate.PlacementProperty(group_name=group)


def _interface(card: int, device: int, kind: str) -> Interface:
    return {"networkCardIndex": card, "deviceIndex": device, "interfaceType": kind}
