"""The reference page of the rights of each function, read from the synthesised templates."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

Template = Mapping[str, Any]

HEAD = """# Permissions

Generated from the templates of the default lab, with Slack and events, by `make docs`. Each function has its own role.
An action that is not listed is not allowed. `ACCOUNT` is the account of the deploy. In Kubernetes, the roles of
`cluster`, `diagnosis`, `doctor`, `experiments` and `guard` belong to groups of the same names, such as
`lamplighter:guard`.
[rbac.yaml](../../../lambdas/lamplighter/data/rbac.yaml) has the rights of these groups. A lab with classes has one more
role, `classes`: it reads the ledger and the address of the cluster, and its group is `lamplighter:<lab>:classes`.
"""
#: The properties with the names of AWS resources.
NAMES = (
    "FunctionName",
    "QueueName",
    "TopicName",
    "LogGroupName",
    "StateMachineName",
    "RoleName",
    "TableName",
)
PSEUDO = {"AWS::Region": "REGION", "AWS::AccountId": "ACCOUNT", "AWS::Partition": "aws"}


def page(stacks: Mapping[str, Template], lab: str, region: str) -> str:
    """The whole page, one stack after the other, with the roles of functions and of AWS services."""
    parts = [HEAD]
    for title, template in stacks.items():
        resources = template["Resources"]
        roles = _roles(resources)
        own = {logical: _statements(resources, logical) for logical in roles}
        ours = {logical: of for logical, of in own.items() if any(each["Effect"] == "Allow" for each in of)}
        if ours:
            parts.append(f"## Roles of the {title} stack\n")
        for logical, statements in sorted(ours.items(), key=lambda role: str(roles[role[0]]["RoleName"])):
            name = str(roles[logical]["RoleName"]).removeprefix(f"{lab}-{region}-")
            parts.append(f"### {name}\n\n{roles[logical]['Description']}.\n")
            rows = [_row(statement, resources) for statement in statements]
            parts.append("\n".join(["| actions | on | condition |", "|---|---|---|", *rows, ""]))
    return "\n".join(parts).rstrip() + "\n"


def rights(template: Template, prefix: str) -> Mapping[str, set[str]]:
    """The actions that each role of a template may take somewhere, by its name without the prefix."""
    resources = template["Resources"]
    return {
        str(role["RoleName"]).removeprefix(prefix): {
            action
            for statement in _statements(resources, logical)
            if statement["Effect"] == "Allow"
            for action in _list(statement["Action"])
        }
        for logical, role in _roles(resources).items()
    }


def _roles(resources: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The properties of each role that has a name."""
    return {
        logical: found["Properties"]
        for logical, found in resources.items()
        if found["Type"] == "AWS::IAM::Role" and "RoleName" in found["Properties"]
    }


def _statements(resources: Mapping[str, Any], role: str) -> list[Mapping[str, Any]]:
    """The statements of a role's own policies. The threat model has the denials for nodes."""
    policies = [found["Properties"] for found in resources.values() if found["Type"] == "AWS::IAM::Policy"]
    return [
        statement
        for policy in policies
        if any(each.get("Ref") == role for each in policy["Roles"])
        for statement in policy["PolicyDocument"]["Statement"]
    ]


def _row(statement: Mapping[str, Any], resources: Mapping[str, Any]) -> str:
    actions = "<br>".join(f"`{action}`" for action in _list(statement["Action"]))
    actions = actions if statement["Effect"] == "Allow" else f"**never:** {actions}"
    on = "<br>".join(f"`{_text(each, resources)}`" for each in _list(statement["Resource"]))
    condition = statement.get("Condition")
    return f"| {actions} | {on} | {f'`{json.dumps(condition)}`' if condition else ''} |"


def _text(value: object, resources: Mapping[str, Any]) -> str:
    """A reference as a person would write it."""
    match value:
        case {"Ref": name} | {"Fn::GetAtt": [name, _]}:
            return PSEUDO.get(str(name)) or _called(resources[str(name)])
        case {"Fn::Join": [between, parts]}:
            return str(between).join(_text(part, resources) for part in parts)
        case _:
            return str(value)


def _called(resource: Mapping[str, Any]) -> str:
    """A resource by its kind and its own name."""
    kind = str(resource["Type"]).split("::")[-1]
    names = (str(resource["Properties"][key]) for key in NAMES if key in resource["Properties"])
    return f"{kind} {next(names, '')}".strip()


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]
