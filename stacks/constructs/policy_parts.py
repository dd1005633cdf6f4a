"""Gives statements to a role; a long list of them becomes several policies.

IAM takes 10,240 characters of a role's inline policies together, 6,144 of a managed policy, and ten of those on a role
(IAM user guide, "IAM and AWS STS quotas", 2026-11). The parts together say exactly what the whole says.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import replace

from aws_cdk import CfnResource
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.constructs.grants import Grants, accept_wildcards, statements

INLINE, MANAGED = 10_000, 6_000
"""Characters of a part; the rest is for ARNs whose length only AWS knows."""
_TOKEN = re.compile(r"\$\{Token\[(.*?)\.\d+\]\}")
"""How the CDK writes what only a deploy knows."""
_KNOWN = {"AWS.Partition": "aws", "AWS.AccountId": "1" * 12}
_UNKNOWN = "x" * 120
"""An ARN that AWS makes."""


def give(scope: Construct, construct_id: str, role: iam.IRole, leaves: Iterable[Grants]) -> iam.Policy:
    """Gives a role these statements: as one inline policy, and as managed ones in it where they are too many."""
    first, *others = parts(leaves)
    policy = iam.Policy(scope, construct_id, roles=[role], statements=statements(first))
    accept_wildcards(policy, first)
    before: iam.Policy | iam.ManagedPolicy = policy
    for number, part in enumerate(others):
        more = iam.ManagedPolicy(policy, f"More{number or ''}", roles=[role], statements=statements(part))
        accept_wildcards(more, part)
        # A lab that grows keeps every permission while statements move: always into a later part.
        written, moved = before.node.default_child, more.node.default_child
        if isinstance(written, CfnResource) and isinstance(moved, CfnResource):
            written.add_resource_dependency(moved)
        before = more
    return policy


def characters(leaves: Iterable[Grants]) -> int:
    """At most how long a policy with these statements is, as IAM counts it."""
    written = [
        {
            "Effect": "Allow",
            "Action": list(leave.actions),
            "Resource": list(leave.resources),
            **({"Condition": dict(leave.conditions)} if leave.conditions else {}),
        }
        for leave in leaves
    ]
    document = json.dumps({"Version": "2012-10-17", "Statement": written}, separators=(",", ":"))
    return len(_TOKEN.sub(lambda token: _KNOWN.get(token[1], _UNKNOWN), document))


def parts(leaves: Iterable[Grants]) -> list[list[Grants]]:
    """The inline policy first, then managed ones: only the first where all fits into it."""
    whole = list(leaves)
    if characters(_together(whole)) <= INLINE:
        return [whole]
    found: list[list[Grants]] = [[]]
    for piece in (piece for leave in _together(whole) for piece in _pieces(leave)):
        for number, part in enumerate(found):
            if characters([*part, piece]) <= (MANAGED if number else INLINE):
                part.append(piece)
                break
        else:
            found.append([piece])
    return found


def _together(leaves: Iterable[Grants]) -> list[Grants]:
    """One statement for actions on the same resources: their list is written once."""
    found: dict[str, Grants] = {}
    for leave in leaves:
        key = json.dumps([leave.resources, leave.conditions, leave.denied])
        before = found.get(key, replace(leave, actions=[]))
        found[key] = replace(before, actions=list(dict.fromkeys([*before.actions, *leave.actions])))
    return list(found.values())


def _pieces(leave: Grants) -> list[Grants]:
    """A statement for each half of the resources, until each fits into a managed policy."""
    if characters([leave]) <= MANAGED or len(leave.resources) == 1:
        return [leave]
    middle = len(leave.resources) // 2
    halves = (leave.resources[:middle], leave.resources[middle:])
    return [piece for half in halves for piece in _pieces(replace(leave, resources=half))]
