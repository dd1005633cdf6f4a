"""What an experiment may change, read from outside: the ClusterPolicy, and the rules of the security groups."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from local.kubernetes.api import KubernetesApi

_POLICIES = "/apis/nvidia.com/v1/clusterpolicies"


@dataclass(frozen=True, slots=True)
class ExperimentState:
    """The state at an instant. Two states are equal if nothing that counts differs."""

    at: datetime
    policies: tuple[str, ...]
    rules: tuple[str, ...]

    def same(self, other: "ExperimentState") -> bool:
        return (self.policies, self.rules) == (other.policies, other.rules)


class ExperimentStateReader:
    """`looks` are all states that were read so far, in order."""

    def __init__(self, kubernetes: KubernetesApi, ec2: Any) -> None:
        self._kubernetes, self._ec2 = kubernetes, ec2
        self.looks: list[ExperimentState] = []

    def look(self, at: datetime) -> None:
        policies = self._kubernetes.get(_POLICIES)["items"]
        pages = self._ec2.get_paginator("describe_security_group_rules").paginate()
        rules = (rule for page in pages for rule in page["SecurityGroupRules"])
        self.looks.append(
            ExperimentState(
                at,
                tuple(sorted(f"{each['metadata']['name']} {each['spec']}" for each in policies)),
                tuple(sorted(_written(rule) for rule in rules)),
            )
        )


def _written(rule: dict[str, Any]) -> str:
    """A rule without its id, because a restored rule has another id."""
    source = (
        rule.get("CidrIpv4") or rule.get("CidrIpv6") or rule.get("ReferencedGroupInfo", {}).get("GroupId")
    )
    way = "to" if rule["IsEgress"] else "from"
    return (
        f"{rule['GroupId']} {way} {source} {rule['IpProtocol']} {rule.get('FromPort')} {rule.get('ToPort')}"
    )
