"""An IAM statement of ours, and a policy of several; cdk-nag's finding about a `*` is accepted with the reason."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.constructs.accepted import accept_wildcard


@dataclass(frozen=True)
class Grants:
    """An IAM statement: actions on resources; `wide` says why a resource has a `*`."""

    actions: Sequence[str]
    resources: Sequence[str]
    conditions: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    wide: str = ""


def give(scope: Construct, construct_id: str, role: iam.IRole, leaves: Iterable[Grants]) -> iam.Policy:
    """Gives a role these statements, as one inline policy."""
    leaves = list(leaves)
    policy = iam.Policy(
        scope,
        construct_id,
        roles=[role],
        statements=[
            iam.PolicyStatement(
                actions=list(leave.actions),
                resources=list(leave.resources),
                conditions=dict(leave.conditions),
            )
            for leave in leaves
        ],
    )
    for leave in leaves:
        for resource in leave.resources:
            if "*" in resource:
                accept_wildcard(policy, resource, leave.wide)
    return policy
