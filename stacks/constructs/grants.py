"""An IAM statement of ours, and a permissions boundary of several; policy_parts.py gives them to roles.

cdk-nag's finding about a `*` is accepted with the reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.constructs.accepted import accept_wildcard


@dataclass(frozen=True)
class Grants:
    """An IAM statement: actions on resources; `wide` says why a resource has a `*`. It allows, or denies."""

    actions: Sequence[str]
    resources: Sequence[str]
    conditions: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    wide: str = ""
    denied: bool = False


def boundary(
    scope: Construct, construct_id: str, *, name: str, description: str, leaves: Iterable[Grants]
) -> iam.ManagedPolicy:
    """A permissions boundary: no policy can give a role that has it more than these statements."""
    leaves = list(leaves)
    policy = iam.ManagedPolicy(
        scope,
        construct_id,
        managed_policy_name=name,
        description=description,
        statements=statements(leaves),
    )
    accept_wildcards(policy, leaves)
    return policy


def statements(leaves: Iterable[Grants]) -> list[iam.PolicyStatement]:
    """The same for the CDK."""
    return [
        iam.PolicyStatement(
            effect=iam.Effect.DENY if leave.denied else iam.Effect.ALLOW,
            actions=list(leave.actions),
            resources=list(leave.resources),
            conditions=dict(leave.conditions),
        )
        for leave in leaves
    ]


def accept_wildcards(policy: Construct, leaves: Iterable[Grants]) -> None:
    """Accepts cdk-nag's findings about each `*`."""
    for leave in leaves:
        for resource in leave.resources:
            if "*" in resource:
                accept_wildcard(policy, resource, leave.wide)
        for action in leave.actions:
            if "*" in action:
                accept_wildcard(policy, action, leave.wide, what="Action")
