"""Security groups of a lab: finds them by the names from the lab's stack; reads, removes and adds their rules.

domain/experiments/rules.py decides which rules an experiment removes.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.border import border
from lamplighter.domain.experiments.rules import TrafficRule
from lamplighter.values.lab_tag import LAB_TAG

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ec2.type_defs import SecurityGroupRuleTypeDef

ALREADY_THERE = "InvalidPermission.Duplicate"
GONE = "InvalidPermission.NotFound"


@border
class SecurityGroups:
    """The security groups of the account and region."""

    def __init__(self, ec2: "EC2Client | None" = None) -> None:
        self._ec2: EC2Client = ec2 or client("ec2")

    def named(self, lab: str, names: Sequence[str]) -> dict[str, str]:
        """The ids of a lab's own groups by their names. A group that does not exist is left out."""
        with outside("ec2:DescribeSecurityGroups", ", ".join(names)):
            pages = self._ec2.get_paginator("describe_security_groups").paginate(
                Filters=[
                    {"Name": "tag:Name", "Values": list(names)},
                    {"Name": f"tag:{LAB_TAG}", "Values": [lab]},
                ]
            )
            found = [group for page in pages for group in page["SecurityGroups"]]
        return {
            tag["Value"]: group["GroupId"]
            for group in found
            for tag in group.get("Tags", [])
            if tag["Key"] == "Name"
        }

    def rules(self, groups: Iterable[str]) -> tuple[TrafficRule, ...]:
        """Every ingress rule of these groups."""
        wanted = list(groups)
        if not wanted:
            return ()
        found: list[TrafficRule] = []
        with outside("ec2:DescribeSecurityGroupRules", ", ".join(wanted)):
            pages = self._ec2.get_paginator("describe_security_group_rules").paginate(
                Filters=[{"Name": "group-id", "Values": wanted}]
            )
            for page in pages:
                found += [_rule(rule) for rule in page["SecurityGroupRules"] if not rule.get("IsEgress")]
        return tuple(found)

    def take(self, rule: TrafficRule) -> None:
        """Remove the rule; a rule that is already removed is fine."""
        with outside("ec2:RevokeSecurityGroupIngress", str(rule)):
            try:
                self._ec2.revoke_security_group_ingress(GroupId=rule.group, IpPermissions=[_sent(rule)])
            except self._ec2.exceptions.ClientError as error:
                if error_code(error) != GONE:
                    raise

    def give(self, rule: TrafficRule) -> None:
        """Add the rule; a rule that an earlier call or a schedule added is fine."""
        with outside("ec2:AuthorizeSecurityGroupIngress", str(rule)):
            try:
                self._ec2.authorize_security_group_ingress(GroupId=rule.group, IpPermissions=[_sent(rule)])
            except self._ec2.exceptions.ClientError as error:
                if error_code(error) != ALREADY_THERE:
                    raise


def _sent(rule: TrafficRule) -> Any:  # noqa: ANN401 -- the domain writes EC2's form, for schedules as well
    return rule.permission()


def _rule(found: "SecurityGroupRuleTypeDef") -> TrafficRule:
    return TrafficRule(
        group=found.get("GroupId", ""),
        protocol=found.get("IpProtocol", ""),
        from_port=found.get("FromPort", -1),
        to_port=found.get("ToPort", -1),
        cidr=found.get("CidrIpv4"),
        source=found.get("ReferencedGroupInfo", {}).get("GroupId"),
        description=found.get("Description", ""),
    )
