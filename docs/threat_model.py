"""The part of the threat model that says who may change what, from the templates and the lab's RBAC."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from docs.generated_parts import filled
from docs.permissions import Template, rights

RBAC = Path("lambdas/lamplighter/data/rbac.yaml")
POWERS: Mapping[str, str] = {
    "autoscaling:CompleteLifecycleAction": "end the drain of a node",
    "autoscaling:TerminateInstanceInAutoScalingGroup": "size a node group",
    "autoscaling:UpdateAutoScalingGroup": "size a node group",
    "dynamodb:BatchWriteItem": "write the ledger",
    "dynamodb:DeleteItem": "write the ledger",
    "dynamodb:PutItem": "write the ledger",
    "dynamodb:UpdateItem": "write the ledger",
    "ec2:AuthorizeSecurityGroupIngress": "change the nodes' security groups",
    "ec2:RevokeSecurityGroupIngress": "change the nodes' security groups",
    "ec2:TerminateInstances": "end instances in EC2",
    "eks:UpdateNodegroupConfig": "size a node group",
    "events:PutEvents": "put events on a bus",
    "events:PutRule": "change a rule of EventBridge",
    "events:PutTargets": "change a rule of EventBridge",
    "iam:PassRole": "pass a role",
    "lambda:InvokeFunction": "invoke a function",
    "logs:DeleteLogGroup": "delete a log group",
    "s3:DeleteObject": "write or delete pages",
    "s3:PutObject": "write or delete pages",
    "scheduler:CreateSchedule": "write schedules",
    "scheduler:DeleteSchedule": "write schedules",
    "scheduler:UpdateSchedule": "write schedules",
    "secretsmanager:GetSecretValue": "read a secret",
    "sns:Publish": "publish to a topic",
    "sqs:DeleteMessage": "take from a queue",
    "sqs:ReceiveMessage": "take from a queue",
    "sqs:SendMessage": "put into a queue",
    "states:StartExecution": "start a workflow",
    "states:StopExecution": "stop a workflow",
}
#: They change nothing, or only a function's own log.
HARMLESS = (
    "Get",
    "List",
    "Describe",
    "Query",
    "ConditionCheck",
    "BatchGet",
    "CreateLogStream",
    "PutLogEvents",
)
READS = {"get", "list", "watch"}


def page(written: str, stacks: Iterable[Template], lab: str, region: str) -> str:
    """The whole page. Raises KeyError with a right that has no name here."""
    return filled(written, {"powers": _powers(stacks, f"{lab}-{region}-")})


def _powers(stacks: Iterable[Template], prefix: str) -> Iterator[str]:
    roles: dict[str, set[str]] = defaultdict(set)
    for template in stacks:
        for role, actions in rights(template, prefix).items():
            for action in actions:
                if action in POWERS or not action.partition(":")[2].startswith(HARMLESS):
                    roles[POWERS[action]].add(role)
    for power, group in _in_the_cluster():
        roles[power].add(group)
    yield from ("| who may | roles |", "|---|---|")
    for power, names in sorted(roles.items()):
        yield f"| {power} | {', '.join(f'`{name}`' for name in sorted(names))} |"


def _in_the_cluster() -> Iterator[tuple[str, str]]:
    """What a group may change in Kubernetes, and the group. Groups have the names of their functions."""
    documents: Sequence[Mapping[str, Any]] = list(yaml.safe_load_all(RBAC.read_text("utf-8")))
    rules = {(each["kind"], each["metadata"]["name"]): each["rules"] for each in documents if "rules" in each}
    for binding in (each for each in documents if "roleRef" in each):
        kind, name = binding["roleRef"]["kind"], binding["roleRef"]["name"]
        where = "anywhere in Kubernetes" if kind == "ClusterRole" else "in the lab's namespace"
        for rule in rules[kind, name]:
            verbs = " and ".join(verb for verb in rule["verbs"] if verb not in READS)
            what = ", ".join(f"`{each}`" for each in rule["resources"])
            for subject in binding["subjects"] if verbs else ():
                yield f"{verbs} {what} {where}", subject["name"].removeprefix("lamplighter:")
