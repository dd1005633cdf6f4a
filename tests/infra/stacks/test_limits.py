"""The largest lab that `check` permits, with the longest names, is within every quota of AWS that its pools use up.

IAM user guide, "IAM and AWS STS quotas"; SQS developer guide, "Quotas related to policies"; the quotas of EventBridge,
CloudFormation, Lambda and Step Functions; 2026-11.
"""

import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from ruamel.yaml import YAML

from lamplighter.lab.model import Lab
from lamplighter.labfile import file as labfile
from tests.infra.conftest import Assembly, Synthesis, Template

NAME = "n" * 39 + "1"
MOST = 40
KINDS: Mapping[str, Mapping[str, object]] = {
    "node-group": {},
    "karpenter": {"cluster": {"karpenter": {"version": "1.14.3"}}},
    "existing": {"cluster": {"existing": "theirs" + "s" * 94}},
}


def names(many: int) -> list[str]:
    """Of pools: as long as their node groups' names may be."""
    return [f"pool{number:02}-{'x' * 12}" for number in range(many)]


def document(kind: str, many: int = MOST) -> dict[str, Any]:
    """A lab with so many pools of a kind, and what else costs resources or statements for each."""
    pools = {
        name: {
            "instance_type": "g5.xlarge",
            "max_nodes": 2,
            "price_per_hour": "1.2",
            **({"kind": kind} if kind == "karpenter" else {}),
            **(
                {"existing": f"{name}-{'y' * 43}", "auto_scaling_group": f"{name}-{'z' * 235}"}
                if kind == "existing"
                else {}
            ),
        }
        for name in names(many)
    }
    return {
        "name": NAME,
        "notify": {"email": "oncall@example.com", "notices": [{"to": "all@example.com"}]},
        "slack": {"channel": "C0123456789"},
        "events": {"allow": {"ci": {"source": "ci", "principals": ["arn:aws:iam::111122223333:role/ci"]}}},
        "guard": {"curfew": "23:00"},
        "observability": {"tracing": True, "dashboard": True},
        "pools": pools,
        **KINDS[kind],
    }


def judged(lab: Mapping[str, object]) -> list[str]:
    """What `check` says."""
    text = io.StringIO()
    YAML(typ="safe").dump(lab, text)
    read = labfile.parse(text.getvalue())
    return [] if isinstance(read, Lab) else [str(problem) for problem in read]


def written(value: Any) -> Any:
    """As AWS gets it: a reference is as long as what it stands for may be."""
    if isinstance(value, dict):
        if "Ref" in value:
            return {"AWS::Partition": "aws", "AWS::AccountId": "1" * 12}.get(value["Ref"], "x" * 120)
        if "Fn::GetAtt" in value:
            return "x" * 150
        if "Fn::Join" in value:
            return value["Fn::Join"][0].join(str(written(part)) for part in value["Fn::Join"][1])
        return {key: written(part) for key, part in value.items()}
    return [written(part) for part in value] if isinstance(value, list) else value


def characters(value: Any) -> int:
    return len(re.sub(r"\s", "", json.dumps(written(value), separators=(",", ":"))))


@pytest.fixture(params=list(KINDS), scope="module")
def largest(request: pytest.FixtureRequest, synthesis: Synthesis) -> Assembly:
    lab = document(request.param)
    if request.param == "karpenter":
        lab["pools"] = dict(list(lab["pools"].items())[:28])
    assert judged(lab) == []
    return synthesis(lab, False)


def templates(assembly: Assembly) -> Iterator[tuple[str, Template]]:
    for file in assembly.files:
        assert file.stat().st_size <= 1_000_000, f"{file.name} is a template that S3 takes"
        yield file.name, assembly.template(file.name.removesuffix(".template.json"))


def test_policies_are_as_short_as_iam_asks(largest: Assembly) -> None:
    for _, template in templates(largest):
        inline: Counter[str] = Counter()
        attached: dict[str, list[object]] = defaultdict(list)
        for name, role in template.of_type("AWS::IAM::Role").items():
            inline[name] += sum(
                characters(one["PolicyDocument"]) for one in role["Properties"].get("Policies", ())
            )
            attached[name] += role["Properties"].get("ManagedPolicyArns", ())
            assert characters(role["Properties"]["AssumeRolePolicyDocument"]) <= 2_048
        for policy in template.properties("AWS::IAM::Policy"):
            for role in policy["Roles"]:
                inline[role["Ref"]] += characters(policy["PolicyDocument"])
        for policy in template.properties("AWS::IAM::ManagedPolicy"):
            assert characters(policy["PolicyDocument"]) <= 6_144
            for role in policy.get("Roles", ()):
                attached[role["Ref"]].append(policy)
        assert {name: size for name, size in inline.items() if size > 10_240} == {}
        assert {name: len(each) for name, each in attached.items() if len(each) > 10} == {}


def test_a_statement_is_in_the_later_part_before_it_leaves_the_earlier_one(largest: Assembly) -> None:
    for _, template in templates(largest):
        parts = [name for name in template.of_type("AWS::IAM::ManagedPolicy") if "More" in name]
        roles = {str(template.resources[name]["Properties"]["Roles"]) for name in parts}
        last = [name for name in parts if not {*template.resources[name].get("DependsOn", ())} & {*parts}]
        assert len(last) == len(roles)


def test_queues_rules_and_functions_take_what_they_get(largest: Assembly) -> None:
    for _, template in templates(largest):
        for policy in template.properties("AWS::SQS::QueuePolicy"):
            assert len(policy["PolicyDocument"]["Statement"]) <= 20
            assert characters(policy["PolicyDocument"]) <= 8_192
        for policy in template.properties("AWS::SNS::TopicPolicy"):
            assert characters(policy["PolicyDocument"]) <= 30_720
        for rule in template.properties("AWS::Events::Rule"):
            assert characters(rule.get("EventPattern", "")) <= 2_048
            assert len(rule["Targets"]) <= 5
        for function in template.properties("AWS::Lambda::Function"):
            assert characters(function.get("Environment", {}).get("Variables", {})) <= 4_096
        permissions: Counter[str] = Counter()
        for permission in template.properties("AWS::Lambda::Permission"):
            # Lambda writes a statement around them.
            permissions[json.dumps(permission["FunctionName"])] += characters(permission) + 200
        assert all(size <= 20_480 for size in permissions.values())


def test_stacks_and_machines_are_as_small_as_aws_asks(largest: Assembly) -> None:
    for name, template in templates(largest):
        assert len(template.resources) <= 500, name
        assert len(template.outputs) <= 200, name
        for machine in template.properties("AWS::StepFunctions::StateMachine"):
            assert characters(machine["DefinitionString"]) <= 1_000_000
        for resource in template.resources.values():
            if resource["Type"].startswith("Custom::"):
                # CloudFormation sends the new and the old ones, and Lambda takes 256 KiB.
                assert characters(resource["Properties"]) <= 100_000


def test_one_pool_more_is_refused_in_a_line() -> None:
    for kind in ("node-group", "existing"):
        [problem] = judged(document(kind, MOST + 1))
        assert "pools: are 41, and a lab has at most 40 together; make two labs of them" in problem
    lab = document("node-group", MOST - 1) | {"cluster": {"node_groups": {"a": {}, "b": {}}}}
    [problem] = judged(lab)
    assert "pools: are 39 and 2 under cluster.node_groups, and a lab has at most 40 together" in problem


def test_locks_that_the_role_of_karpenter_cannot_hold_are_refused_in_a_line() -> None:
    """The failsafe puts one on it for each NodePool that has ended."""
    [problem] = judged(document("karpenter"))
    assert f"on the role {NAME[:10]}" in problem
    assert "IAM takes 10240 in inline policies of a role; write fewer NodePools or shorter names" in problem


def test_a_lab_that_fits_one_policy_has_one(synthesise: Callable[..., Assembly]) -> None:
    template = synthesise(pools={f"gpu{number}": {} for number in range(10)}).template("gpu-lab-controller")
    assert not template.of_type("AWS::IAM::ManagedPolicy")
