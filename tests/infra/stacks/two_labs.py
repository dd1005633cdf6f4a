"""Two labs in one account of the embedded AWS: their roles with their policies, and what those name.

Of the stacks stands what policies speak of; nothing runs. The second lab is the first under another name.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from moto.iam.models import iam_backends

from local.aws import iam
from local.aws.embedded import EmbeddedAws
from local.stack_template import StackTemplate
from tests.infra.conftest import Template
from tests.infra.test_permissions import listed

MINE, NEIGHBOUR = "gpu-lab", "other-lab"
#: What starts by itself, needs a running cluster, or calls functions.
LEFT_OUT = (
    "Custom::",
    "AWS::ApiGatewayV2",
    "AWS::CloudWatch",
    "AWS::EC2",
    "AWS::EKS",
    "AWS::Events",
    "AWS::IAM::OIDC",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Permission",
)


@dataclass(frozen=True)
class TwoLabs:
    """`ids` are names that AWS gave, by lab and kind: instance, group, security-group, bucket."""

    aws: EmbeddedAws
    ids: Mapping[str, Mapping[str, str]]

    def call(self, service: str, operation: str, *, role: str = "", **request: Any) -> dict[str, Any]:
        return self.aws.around.call(service, operation, request, role=role)


def built(aws: EmbeddedAws, stacks: Mapping[str, Template]) -> TwoLabs:
    """Both labs, of the stacks of the first by name, in the order of their deploy."""
    for lab in (MINE, NEIGHBOUR):
        for name, template in stacks.items():
            body = json.dumps(renamed(_reduced(template.document), lab))
            made = aws.deploy(StackTemplate(f"{lab}-{name}", body, {}))
            assert made.status == "CREATE_COMPLETE", f"{made.name}: {made.failure()}"
    return TwoLabs(aws, {lab: _of_ec2(aws, lab) for lab in (MINE, NEIGHBOUR)})


def renamed(value: Any, lab: str) -> Any:
    """The same with another lab's name."""
    return json.loads(json.dumps(value).replace(MINE, lab))


def _reduced(document: Mapping[str, Any]) -> dict[str, Any]:
    resources = {
        name: resource
        for name, resource in document["Resources"].items()
        if not resource["Type"].startswith(LEFT_OUT)
    }
    dropped = {
        name: MINE if resource["Type"] == "AWS::EKS::Cluster" else f"{MINE}-no-{name}"
        for name, resource in document["Resources"].items()
        if name not in resources
    }
    outputs = _without(document.get("Outputs", {}), dropped)
    return {**document, "Resources": _without(resources, dropped), "Outputs": outputs}


def _without(value: Any, dropped: Mapping[str, str]) -> Any:
    """References to what is left out become names that nothing has."""
    if isinstance(value, dict):
        if value.get("Ref") in dropped:
            return dropped[value["Ref"]]
        attribute = value.get("Fn::GetAtt")
        if isinstance(attribute, list) and attribute[0] in dropped:
            return dropped[attribute[0]]
        needs = value.get("DependsOn")
        if needs is not None:
            left = [each for each in ([needs] if isinstance(needs, str) else needs) if each not in dropped]
            value = {**value, "DependsOn": left}
        return {key: _without(inner, dropped) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without(inner, dropped) for inner in value]
    return value


def _of_ec2(aws: EmbeddedAws, lab: str) -> dict[str, str]:
    """A pool's group with an instance, the security group of its nodes, and the name of the lab's bucket."""

    def call(service: str, operation: str, **request: Any) -> dict[str, Any]:
        return aws.around.call(service, operation, request)

    network = call("ec2", "create_vpc", CidrBlock="192.168.0.0/16")["Vpc"]["VpcId"]
    subnet = call("ec2", "create_subnet", VpcId=network, CidrBlock="192.168.0.0/22")["Subnet"]["SubnetId"]
    tags = {"eks:cluster-name": lab, "eks:nodegroup-name": f"{lab}-ng-gpu"}
    launched = {"ImageId": "ami-12c6146b", "InstanceType": "g5.xlarge"}
    template = call("ec2", "create_launch_template", LaunchTemplateName=lab, LaunchTemplateData=launched)
    group = f"eks-{lab}-ng-gpu-1"
    call(
        "autoscaling",
        "create_auto_scaling_group",
        AutoScalingGroupName=group,
        MinSize=0,
        MaxSize=1,
        LaunchTemplate={"LaunchTemplateId": template["LaunchTemplate"]["LaunchTemplateId"], "Version": "1"},
        VPCZoneIdentifier=subnet,
        Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in tags.items()],
    )
    instance = call(
        "ec2",
        "run_instances",
        MinCount=1,
        MaxCount=1,
        **launched,
        SubnetId=subnet,
        TagSpecifications=[{"ResourceType": "instance", "Tags": _tags(tags)}],
    )["Instances"][0]["InstanceId"]
    security = call(
        "ec2", "create_security_group", GroupName=f"{lab}-node", Description="nodes", VpcId=network
    )
    buckets = [each["Name"] for each in call("s3", "list_buckets")["Buckets"]]
    [bucket] = [each for each in buckets if each.startswith(lab)]
    named = {"lamplighter:lab": lab, "Name": f"{lab}-node"}
    call("ec2", "create_tags", Resources=[security["GroupId"]], Tags=_tags(named))
    return {"group": group, "instance": instance, "security-group": security["GroupId"], "bucket": bucket}


def _tags(values: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in values.items()]


def granted(aws: EmbeddedAws) -> Iterator[tuple[str, str, str, str]]:
    """(ARN of a role of the first lab, action, resource, condition as text) of all that is allowed on a name."""
    for role in iam_backends[iam.ACCOUNT][iam.PARTITION].roles.values():
        if MINE not in role.name:
            continue
        for document in role.policies.values():
            for statement in json.loads(document)["Statement"]:
                if statement["Effect"] == "Allow":
                    for action in listed(statement["Action"]):
                        for resource in listed(statement["Resource"]):
                            if resource != "*":
                                yield role.arn, action, resource, json.dumps(statement.get("Condition", ""))
