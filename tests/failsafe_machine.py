"""The failsafe's machine as a stack of its own, for tests that read its template and tests that run it."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Template

from stacks.constructs.failsafe.ended_pool import EndedPool
from stacks.constructs.failsafe.machine import FailsafeMachine
from stacks.names import Names

REGION, ACCOUNT, LAB, CLUSTER = "ap-northeast-2", "123456789012", "gpu-lab", "gpu-lab"
NAMES = Names(lab=LAB, region=REGION, cluster=CLUSTER)
CONTROLLER, CONTROL_PLANE = NAMES.role("karpenter"), NAMES.role("control-plane")

BOUNDARIES = {CONTROLLER: "karpenter", CONTROL_PLANE: "control-plane"}
"""The purposes of the boundaries of these roles, which are the lab's."""


def _pool(name: str, kind: str, role: str, *, may_switch_off: bool = False) -> EndedPool:
    return EndedPool(name, f"gpu-lab-{name}", kind, CLUSTER, role, may_switch_off, BOUNDARIES[role])


KARPENTER = _pool("gpu", "karpenter", CONTROLLER)
SECOND = _pool("big", "karpenter", CONTROLLER)
UNLOCKED = EndedPool("theirs", "their-gpus", "karpenter", CLUSTER, None)
AUTO_MODE = _pool("auto", "auto-mode", CONTROL_PLANE)
SWITCHED_OFF = _pool("last", "auto-mode", CONTROL_PLANE, may_switch_off=True)
POOLS = (KARPENTER, SECOND, UNLOCKED, AUTO_MODE, SWITCHED_OFF)


@cache
def template(pools: Sequence[EndedPool] = POOLS) -> dict[str, Any]:
    """The template of the stack, which needs no bootstrapped account."""
    synthesizer = cdk.BootstraplessSynthesizer()
    stack = cdk.Stack(cdk.App(), "Test", env={"region": REGION}, synthesizer=synthesizer)
    pages = sns.Topic(stack, "Pages", topic_name="pages")
    FailsafeMachine(
        stack, "Failsafe", names=NAMES, pools=pools, pages=pages, dead_letters=sqs.Queue(stack, "DeadLetters")
    )
    return dict(Template.from_stack(stack).to_json())


def properties(kind: str, pools: Sequence[EndedPool] = POOLS) -> list[dict[str, Any]]:
    """The properties of the resources of a type; references to the partition and the account are filled in."""
    resources = template(tuple(pools))["Resources"].values()
    return [_filled(each["Properties"]) for each in resources if each["Type"] == kind]


def definition(pools: Sequence[EndedPool] = POOLS) -> str:
    """The text of the machine's definition."""
    [machine] = properties("AWS::StepFunctions::StateMachine", pools)
    text: str = machine["DefinitionString"]
    return text


def states(pools: Sequence[EndedPool] = POOLS) -> dict[str, Any]:
    """The states of the definition, by name."""
    found: dict[str, Any] = json.loads(definition(pools))["States"]
    return found


def _filled(value: Any) -> Any:
    if isinstance(value, dict):
        if value in ({"Ref": "AWS::Partition"}, {"Ref": "AWS::AccountId"}):
            return "aws" if value["Ref"] == "AWS::Partition" else ACCOUNT
        filled = {key: _filled(inner) for key, inner in value.items()}
        if list(filled) == ["Fn::Join"] and all(isinstance(part, str) for part in filled["Fn::Join"][1]):
            return filled["Fn::Join"][0].join(filled["Fn::Join"][1])
        return filled
    return [_filled(inner) for inner in value] if isinstance(value, list) else value
