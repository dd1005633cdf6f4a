"""The rules of the lab's two node groups, with EC2's own API: they can be listed, removed and added.

The rules of the cluster stack's template exist at the start. `history` keeps each instant of a change.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from tests.world.outside import NotInTheWorld, refused

Json = dict[str, Any]
NODE, AUXILIARY = "sg-0node", "sg-0aux"
EPHEMERAL: Json = {
    "IpProtocol": "tcp",
    "FromPort": 1025,
    "ToPort": 65535,
    "UserIdGroupPairs": [{"GroupId": NODE, "Description": "Node to node ingress on ephemeral ports"}],
}


def vpc_wide(cidr: str) -> Json:
    return {"IpProtocol": "-1", "IpRanges": [{"CidrIp": cidr, "Description": "Everything from the VPC"}]}


def _key(group: str, permission: Json) -> str:
    """A rule without its description, as EC2 compares duplicates."""
    [pair] = permission.get("UserIdGroupPairs") or permission["IpRanges"]
    source = pair.get("GroupId") or pair["CidrIp"]
    return (
        f"{group} {permission['IpProtocol']} {permission.get('FromPort')}-{permission.get('ToPort')} {source}"
    )


class SecurityGroups:
    """Groups that only experiments change."""

    def __init__(self, lab: str, cidr: str, now: Callable[[], datetime]) -> None:
        self._lab, self._now = lab, now
        self.at_first = {
            _key(NODE, EPHEMERAL): (NODE, EPHEMERAL),
            _key(AUXILIARY, vpc_wide(cidr)): (AUXILIARY, vpc_wide(cidr)),
        }
        self.permissions = dict(self.at_first)
        self.history: list[tuple[datetime, bool]] = []
        """When the rules changed, and whether all of them existed then."""

    @property
    def whole(self) -> bool:
        """Whether every rule of the template exists."""
        return self.at_first.keys() <= self.permissions.keys()

    def describe_security_groups(self, *, Filters: list[Json]) -> Json:
        wanted = {each["Name"]: set(each["Values"]) for each in Filters}
        if set(wanted) != {"tag:Name", "tag:lamplighter:lab"}:
            raise NotInTheWorld(f"the world does not know the filters {sorted(wanted)}")
        known = {f"{self._lab}-node": NODE, f"{self._lab}-node-group-sg": AUXILIARY}
        return {
            "SecurityGroups": [
                {"GroupId": group, "Tags": [{"Key": "Name", "Value": name}]}
                for name, group in known.items()
                if name in wanted["tag:Name"] and self._lab in wanted["tag:lamplighter:lab"]
            ]
        }

    def describe_security_group_rules(self, *, Filters: list[Json]) -> Json:
        [groups] = [each["Values"] for each in Filters]
        found: list[Json] = []
        for group, permission in self.permissions.values():
            if group not in groups:
                continue
            [pair] = permission.get("UserIdGroupPairs") or permission["IpRanges"]
            rule = {
                "GroupId": group,
                "IsEgress": False,
                "IpProtocol": permission["IpProtocol"],
                "FromPort": permission.get("FromPort", -1),
                "ToPort": permission.get("ToPort", -1),
                "Description": pair.get("Description", ""),
            }
            source = (
                {"ReferencedGroupInfo": {"GroupId": pair["GroupId"]}}
                if "GroupId" in pair
                else {"CidrIpv4": pair["CidrIp"]}
            )
            found.append(rule | source)
        return {"SecurityGroupRules": found}

    def authorize_security_group_ingress(self, *, GroupId: str, IpPermissions: list[Json]) -> Json:
        for permission in IpPermissions:
            if _key(GroupId, permission) in self.permissions:
                raise refused(
                    "InvalidPermission.Duplicate", "the rule already exists", "AuthorizeSecurityGroupIngress"
                )
        for permission in IpPermissions:
            self.permissions[_key(GroupId, permission)] = (GroupId, permission)
        self._changed()
        return {}

    def revoke_security_group_ingress(self, *, GroupId: str, IpPermissions: list[Json]) -> Json:
        for permission in IpPermissions:
            if _key(GroupId, permission) not in self.permissions:
                raise refused(
                    "InvalidPermission.NotFound", "the rule does not exist", "RevokeSecurityGroupIngress"
                )
            del self.permissions[_key(GroupId, permission)]
        self._changed()
        return {}

    def _changed(self) -> None:
        self.history.append((self._now(), self.whole))
