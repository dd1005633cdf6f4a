"""Queues of many EventBridge rules: the CDK writes a statement for each, and SQS takes 20 in a policy."""

from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_sqs as sqs


def admit_rules_together(queue: sqs.Queue) -> None:
    """One statement of the queue's policy for all rules that send to it. Call it after the last rule."""
    policy: Any = queue.node.find_child("Policy")
    document = Stack.of(queue).resolve(policy.document.to_json())
    others = [each for each in document["Statement"] if not _of_rule(each)]
    of_rules = [each for each in document["Statement"] if _of_rule(each)]
    if len(of_rules) > 1:
        arns = [each["Condition"]["ArnEquals"]["aws:SourceArn"] for each in of_rules]
        together = of_rules[0] | {"Sid": "Rules", "Condition": {"ArnEquals": {"aws:SourceArn": arns}}}
        policy.node.default_child.policy_document = document | {"Statement": [*others, together]}


def _of_rule(statement: dict[str, Any]) -> bool:
    return statement.get("Principal") == {"Service": "events.amazonaws.com"}
