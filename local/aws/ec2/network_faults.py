"""The fault nccl-path-blocked in EC2: removes the rules by which GPU nodes reach each other, and restores them.

These are the rules that open the port of NCCL's rendezvous to the group itself or to a range of addresses, in the
security groups of the nodes. In the lab's own groups they are two.
"""

import threading

from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext
from local.aws.autoscaling.scaling import Scaling
from local.faults.switches import Switches
from local.fleet.gpus.hardware import has_gpus

FAULT = "nccl-path-blocked"
RENDEZVOUS_PORT = 29500
_EVERYTHING = "-1"


class NetworkFaults:
    """Listens to the switches. It remembers the rules that it removed until it restores them."""

    def __init__(self, switches: Switches, service_context: ServiceContext, scaling: Scaling) -> None:
        self._switches = switches
        self._service_context = service_context
        self._scaling = scaling
        self._taken: list[tuple[str, Document]] = []
        self._lock = threading.Lock()
        switches.listen(self._changed)

    def _changed(self) -> None:
        with self._lock:
            if self._switches.holds(FAULT) and not self._taken:
                self._taken = [rule for group in sorted(self._groups()) for rule in self._doors(group)]
                for group, permission in self._taken:
                    self._ask("revoke_security_group_ingress", group, permission)
            elif not self._switches.holds(FAULT):
                for group, permission in self._taken:
                    self._ask("authorize_security_group_ingress", group, permission)
                self._taken = []

    def _ask(self, operation: str, group: str, permission: Document) -> None:
        self._service_context.call("ec2", operation, {"GroupId": group, "IpPermissions": [permission]})

    def _groups(self) -> set[str]:
        """The security groups of GPU nodes, from their launch templates."""
        found: set[str] = set()
        for group in list(self._scaling.groups.values()):
            template = group.template
            if not has_gpus(group.instance_type) or "LaunchTemplateId" not in template:
                continue
            wanted = {"LaunchTemplateId": template["LaunchTemplateId"], "Versions": [template["Version"]]}
            data = self._service_context.call("ec2", "describe_launch_template_versions", wanted)
            data = data["LaunchTemplateVersions"][0]["LaunchTemplateData"]
            found |= set(data.get("SecurityGroupIds") or [])
            for interface in data.get("NetworkInterfaces") or []:
                found |= set(interface.get("Groups") or [])
        return found

    def _doors(self, group: str) -> list[tuple[str, Document]]:
        rules = self._service_context.call("ec2", "describe_security_groups", {"GroupIds": [group]})
        return [
            (group, permission)
            for rule in rules["SecurityGroups"][0]["IpPermissions"]
            for permission in _permissions(rule)
            if _opens(rule) and _from_nodes(permission, group)
        ]


def _permissions(rule: Document) -> list[Document]:
    """One permission for each source that EC2 lists under the same ports."""
    ports: Document = {key: rule[key] for key in ("IpProtocol", "FromPort", "ToPort") if key in rule}
    return [
        {**ports, kind: [source]}
        for kind in ("UserIdGroupPairs", "IpRanges")
        for source in rule.get(kind) or []
    ]


def _opens(rule: Document) -> bool:
    if rule["IpProtocol"] == _EVERYTHING:
        return True
    ports = range(rule.get("FromPort", 0), rule.get("ToPort", 0) + 1)
    return rule["IpProtocol"] == "tcp" and RENDEZVOUS_PORT in ports


def _from_nodes(permission: Document, group: str) -> bool:
    pairs = [pair["GroupId"] for pair in permission.get("UserIdGroupPairs") or []]
    return group in pairs or "IpRanges" in permission
