"""The five workflows as they are synthesised, for tests that read them and tests that run them."""

import json
from functools import cache
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Template

from stacks.constructs.workflows.change import ChangeLab
from stacks.constructs.workflows.close_lab import CloseLab
from stacks.constructs.workflows.experiment import RunExperiment
from stacks.constructs.workflows.extend import ExtendLease
from stacks.constructs.workflows.open_lab import OpenLab
from stacks.names import Names

FUNCTIONS = ("leases", "nodegroups", "cluster", "diagnosis", "experiments", "guard", "planner", "notices")
REGION, ACCOUNT = "ap-northeast-2", "123456789012"


@cache
def definitions(
    close_lab: str = "close-lab",
    *,
    adopts_node_pools: bool = False,
    falls_back: bool = False,
    classes: bool = False,
) -> dict[str, dict[str, Any]]:
    """By workflow (open, close, extend, change, experiment); what refers to CloseLab reads `close_lab`."""
    stack = cdk.Stack(cdk.App(), "Test", env={"region": REGION})
    functions = {
        name: lambda_.Function.from_function_arn(
            stack, name, f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
        )
        for name in (*FUNCTIONS, *(("classes",) if classes else ()))
    }
    names = Names(lab="gpu-lab", region=REGION, cluster="gpu-lab")
    close = CloseLab(stack, "Close", names=names, functions=functions)
    OpenLab(
        stack,
        "Open",
        names=names,
        functions=functions,
        close_lab=close.workflow,
        adopts_node_pools=adopts_node_pools,
        falls_back=falls_back,
    )
    ExtendLease(stack, "Extend", names=names, functions=functions)
    ChangeLab(stack, "Change", names=names, functions=functions)
    RunExperiment(stack, "Experiment", names=names, functions=functions)
    machines = Template.from_stack(stack).find_resources("AWS::StepFunctions::StateMachine").values()
    return {
        machine["Properties"]["StateMachineName"].removeprefix("gpu-lab-"): json.loads(
            _text(machine["Properties"]["DefinitionString"], close_lab)
        )
        for machine in machines
    }


def _text(definition: Any, close_lab: str) -> str:
    parts = [definition] if isinstance(definition, str) else definition["Fn::Join"][1]
    values = ["aws" if part == {"Ref": "AWS::Partition"} else part for part in parts]
    return "".join(part if isinstance(part, str) else close_lab for part in values)
