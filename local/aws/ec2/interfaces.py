"""The network interfaces that a launch template or a launch describes, as moto takes them. moto knows no EFA."""

from moto.ec2.models.instances import Instance

from local.aws.api.own_services import Document

_KINDS_OF_EFA = frozenset({"efa", "efa-only"})


def efa_interfaces(instance: Document) -> int:
    """How many EFA interfaces an instance has, as EC2 describes it."""
    return sum(each.get("InterfaceType") in _KINDS_OF_EFA for each in instance.get("NetworkInterfaces") or [])


def groups(merged: Document) -> list[str]:
    """The security groups: of the first network interface, where the template has interfaces."""
    interfaces = merged.get("NetworkInterfaces") or []
    found = interfaces[0].get("Groups") if interfaces else merged.get("SecurityGroupIds")
    return list(dict.fromkeys(found or []))


def described(merged: Document) -> list[Document]:
    """The network interfaces as moto takes them: it knows no network cards, so each has a device index of its own."""
    return [
        {**{key: value for key, value in each.items() if key not in ("Groups", "NetworkCardIndex")}}
        | {"DeviceIndex": index, "DeleteOnTermination": True}
        for index, each in enumerate(merged.get("NetworkInterfaces") or [])
    ]


def name_kinds(instance: Instance, written: object) -> None:
    """EC2 tells the type of an interface for EFA."""
    for interface, each in zip(
        instance.nics.values(), written if isinstance(written, list) else [], strict=False
    ):
        if each.get("InterfaceType") in _KINDS_OF_EFA:
            interface.interface_type = each["InterfaceType"]
