"""Reads CloudFormation stacks: which labs are deployed here, and the outputs of their stacks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.values.lab_tag import LAB_TAG

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

_GONE = frozenset({"DELETE_COMPLETE"})


@dataclass(frozen=True)
class Stack:
    """One deployed stack of a lab."""

    name: str
    lab: str
    status: str
    outputs: Mapping[str, str]


@border
class Stacks:
    """The stacks of the account and region that belong to labs."""

    def __init__(self, cloudformation: "CloudFormationClient | None" = None) -> None:
        self._cfn: CloudFormationClient = cloudformation or client("cloudformation")

    def of_labs(self, lab: str | None = None) -> tuple[Stack, ...]:
        """Every stack with the lab tag, or those of the named lab, ordered by stack name."""
        stacks: list[Stack] = []
        with outside("cloudformation:DescribeStacks", "all stacks"):
            for page in self._cfn.get_paginator("describe_stacks").paginate():
                for found in page["Stacks"]:
                    tags = {tag["Key"]: tag["Value"] for tag in found.get("Tags", [])}
                    owner = tags.get(LAB_TAG)
                    if owner is None or found["StackStatus"] in _GONE or lab not in {None, owner}:
                        continue
                    outputs = {
                        output.get("OutputKey", ""): output.get("OutputValue", "")
                        for output in found.get("Outputs", [])
                    }
                    stacks.append(Stack(found["StackName"], owner, found["StackStatus"], outputs))
        return tuple(sorted(stacks, key=lambda stack: stack.name))
