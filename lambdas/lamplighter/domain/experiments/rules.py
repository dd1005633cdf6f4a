"""The two security-group rules of the NCCL experiment, and their form in EC2's calls.

adapters/aws/capacity/security_groups.py reads, removes and restores rules.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from lamplighter.reasons.reason import Reason, Said, reason

ANY_PROTOCOL = "-1"
EPHEMERAL = (1025, 65535)


@dataclass(frozen=True, slots=True)
class TrafficRule:
    """An inbound rule of a security group; two rules are equal where all but their descriptions are equal."""

    group: str
    protocol: str
    from_port: int
    to_port: int
    cidr: str | None = None
    source: str | None = None
    """The group whose traffic the rule allows."""
    description: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """The identity of the rule in EC2: all but its description."""
        return (self.group, self.protocol, self.from_port, self.to_port, self.cidr, self.source)

    def permission(self) -> dict[str, object]:
        """The rule as EC2's calls and schedules have it."""
        said = {"Description": self.description} if self.description else {}
        made: dict[str, object] = {"IpProtocol": self.protocol}
        if self.protocol != ANY_PROTOCOL:
            made |= {"FromPort": self.from_port, "ToPort": self.to_port}
        if self.cidr is not None:
            return made | {"IpRanges": [{"CidrIp": self.cidr, **said}]}
        return made | {"UserIdGroupPairs": [{"GroupId": self.source, **said}]}

    def __str__(self) -> str:
        """In English: for logs."""
        return str(self.said())

    def said(self) -> Reason:
        """The rule in words."""
        ports: Said = f"{self.from_port}-{self.to_port}/{self.protocol}"
        if self.protocol == ANY_PROTOCOL:
            ports = reason("experiment.rule.everything")
        whom: Said = self.source or self.cidr or ""
        if self.source == self.group:
            whom = reason("experiment.rule.itself")
        return reason("experiment.rule", group=self.group, ports=ports, whom=whom)


def ephemeral(rules: Iterable[TrafficRule], node: str) -> TrafficRule | None:
    """The rule that lets the nodes reach each other on its high ports."""
    return next(
        (
            rule
            for rule in rules
            if rule.group == node
            and rule.source == node
            and rule.protocol == "tcp"
            and (rule.from_port, rule.to_port) == EPHEMERAL
        ),
        None,
    )


def vpc_wide(rules: Iterable[TrafficRule], auxiliary: str, cidr: str) -> TrafficRule | None:
    """The rule of the auxiliary group that lets in everything from the VPC."""
    return next(
        (
            rule
            for rule in rules
            if rule.group == auxiliary and rule.cidr == cidr and rule.protocol == ANY_PROTOCOL
        ),
        None,
    )


def missing(before: Iterable[TrafficRule], now: Iterable[TrafficRule]) -> tuple[TrafficRule, ...]:
    """The rules that existed before and do not exist now."""
    there = {rule.key for rule in now}
    return tuple(rule for rule in before if rule.key not in there)
