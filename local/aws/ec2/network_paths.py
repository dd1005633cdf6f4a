"""Whether EC2's security groups let one instance reach a port of another. The machines' network uses it.

It reads the rules at each question, so an experiment or a fault that removes one has an effect at once.
"""

from ipaddress import ip_address, ip_network

from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext


class NetworkPaths:
    """`allows` is a Path of local/fleet/network.py."""

    def __init__(self, service_context: ServiceContext) -> None:
        self._service_context = service_context

    def allows(self, source: str, target: str, port: int) -> bool:
        """Whether a TCP connection from one instance to a port of the other is allowed; False if one of them does not
        exist.
        """
        found = {one["InstanceId"]: one for one in self._instances(source, target)}
        if len(found) < len({source, target}):
            return False
        groups = {group["GroupId"] for group in found[source].get("SecurityGroups") or []}
        address = found[source].get("PrivateIpAddress", "")
        wanted = [group["GroupId"] for group in found[target].get("SecurityGroups") or []]
        rules = self._service_context.call("ec2", "describe_security_groups", {"GroupIds": wanted})
        return any(
            _opens(rule, port) and _lets_in(rule, groups, address)
            for group in rules["SecurityGroups"]
            for rule in group["IpPermissions"]
        )

    def _instances(self, *identities: str) -> list[Document]:
        asked = {
            "Filters": [{"Name": "instance-id", "Values": list(identities)}],
            "IncludeManagedResources": True,
        }
        found = self._service_context.call("ec2", "describe_instances", asked)
        return [one for reservation in found["Reservations"] for one in reservation["Instances"]]


def _opens(rule: Document, port: int) -> bool:
    if rule["IpProtocol"] == "-1":
        return True
    first, last = int(rule.get("FromPort", 0)), int(rule.get("ToPort", 0))
    return rule["IpProtocol"] == "tcp" and first <= port <= last


def _lets_in(rule: Document, groups: set[str], address: str) -> bool:
    if groups & {pair["GroupId"] for pair in rule.get("UserIdGroupPairs") or []}:
        return True
    return any(ip_address(address) in ip_network(one["CidrIp"]) for one in rule.get("IpRanges") or [])
