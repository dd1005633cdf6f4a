"""Accepts findings of cdk-nag and CloudFormation: the rule and the reason stand beside the resource."""

import json
import re
from collections.abc import Mapping

from aws_cdk import Acknowledgment, Stack, Validations
from constructs import IConstruct

NAG = "AwsSolutions::AwsSolutions-"
TEMPLATE = "CloudFormation-Validate::"


def accept(resource: IConstruct, rule: str, reason: str) -> None:
    """Accepts a finding of cdk-nag's rule (`SF1`) on a resource and its children."""
    Validations.of(resource).acknowledge(Acknowledgment(id=NAG + rule, reason=reason))


def accept_in_template(resource: IConstruct, rule: str, reason: str) -> None:
    """Accepts a finding of CloudFormation's own rules (`W3010`)."""
    Validations.of(resource).acknowledge(Acknowledgment(id=TEMPLATE + rule, reason=reason))


def accept_wildcard(resource: IConstruct, named: str, reason: str, *, what: str = "Resource") -> None:
    """Accepts a `*` in a resource of a policy, or in an action. Raises ValueError for an empty reason."""
    if not reason:
        raise ValueError(f"a statement with a wildcard needs a reason: {named}")
    accept(resource, f"IAM5[{what}::{_as_the_check_writes(Stack.of(resource).resolve(named))}]", reason)


def accept_managed_policies(resource: IConstruct, policies: Mapping[str, str]) -> None:
    """Accepts AWS managed policies by name, each with its reason."""
    for policy, reason in policies.items():
        accept(resource, f"IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{policy}]", reason)


def _as_the_check_writes(resolved: object) -> str:
    """cdk-nag writes a reference as <Name>, an attribute as <Name.Attribute>, and any other text unchanged."""
    if isinstance(resolved, dict):
        if "Ref" in resolved:
            return f"<{resolved['Ref']}>"
        if "Fn::GetAtt" in resolved:
            return f"<{'.'.join(resolved['Fn::GetAtt'])}>"
        if "Fn::Join" in resolved:
            return "".join(_as_the_check_writes(part) for part in resolved["Fn::Join"][1])
        if isinstance(resolved.get("Fn::Sub"), str):
            return re.sub(r"\$\{([^}]+)\}", r"<\1>", resolved["Fn::Sub"])
        return json.dumps(resolved, separators=(",", ":"))
    return str(resolved)
