"""Nobody may do more than they do: names instead of wildcards, one role a function, narrow trust."""

import json
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from tests.infra.conftest import Template

# A trail may be in another region, or the organisation's.
OF_ANY_TRAIL = {"cloudtrail:GetEventSelectors", "cloudtrail:GetTrailStatus"}
# Calls that take no resource, by AWS's service authorization reference.
TAKE_NO_RESOURCE = {
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeLifecycleHooks",
    "autoscaling:DescribeScalingActivities",
    "autoscaling:DescribeScheduledActions",
    "cloudtrail:DescribeTrails",
    "cloudwatch:GetMetricStatistics",
    "dynamodb:ListStreams",
    "eks:DescribeClusterVersions",
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeCapacityBlockStatus",
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:DescribeSecurityGroupRules",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "freetier:GetAccountPlanState",
    "logs:DescribeLogGroups",
    "pricing:GetProducts",
    "scheduler:ListSchedules",
}


def listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def statements(template: Template, effect: str = "Allow") -> Iterator[tuple[str, dict[str, Any]]]:
    """(name of the policy, statement) of every inline policy that allows something, or denies it."""
    for name, resource in template.of_type("AWS::IAM::Policy").items():
        for statement in resource["Properties"]["PolicyDocument"]["Statement"]:
            if statement["Effect"] == effect:
                yield name, statement


def allowed(template: Template, role: str) -> dict[str, list[dict[str, Any]]]:
    """Action -> statements, of the role of that name."""
    logical = template.name("AWS::IAM::Role", RoleName=role)
    own = template.resources[logical]["Properties"]
    attached = [arn["Ref"] for arn in own.get("ManagedPolicyArns", []) if "Ref" in arn]
    found: dict[str, list[dict[str, Any]]] = {}
    policies = {**template.of_type("AWS::IAM::Policy"), **template.of_type("AWS::IAM::ManagedPolicy")}
    for name, resource in policies.items():
        if name in attached or {"Ref": logical} in resource["Properties"].get("Roles", []):
            for statement in resource["Properties"]["PolicyDocument"]["Statement"]:
                if statement["Effect"] != "Allow":
                    continue
                for action in listed(statement["Action"]):
                    found.setdefault(action, []).append(statement)
    return found


OF_THE_POOL = {
    "aws:ResourceTag/eks:cluster-name": "gpu-lab",
    "aws:ResourceTag/eks:nodegroup-name": ["gpu-lab-ng-gpu"],
}
SIZING = (
    "autoscaling:DeleteTags",
    "autoscaling:SetDesiredCapacity",
    "autoscaling:StartInstanceRefresh",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
    "autoscaling:UpdateAutoScalingGroup",
    "ec2:DeleteTags",
    "ec2:TerminateInstances",
    "eks:UpdateNodegroupConfig",
)


def test_no_node_may_size_a_pool(cluster: Template) -> None:
    """The default lab's autoscaler policy may size every group with a tag that EKS sets by itself."""
    nodes = [
        logical
        for logical, resource in cluster.of_type("AWS::IAM::Role").items()
        if "ec2.amazonaws.com" in json.dumps(resource["Properties"]["AssumeRolePolicyDocument"])
    ]
    groups = cluster.properties("AWS::EKS::Nodegroup")
    assert sorted(nodes) == sorted(group["NodeRole"]["Fn::GetAtt"][0] for group in groups)
    denied = {
        action: statement
        for policy in cluster.properties("AWS::IAM::ManagedPolicy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny"
        for action in listed(statement["Action"])
    }
    for action in SIZING:
        (pattern,) = (each for each in denied if fnmatch(action, each))
        tags = denied[pattern].get("Condition", {}).get("StringEquals")
        assert tags == (None if action.startswith("eks:") else OF_THE_POOL)


def test_who_may_size_a_group_is_who_the_threat_model_names(
    cluster: Template, controller: Template, slack: Template
) -> None:
    may = {
        str(resource["Properties"]["RoleName"]).rpartition("-")[2]
        for template in (cluster, controller, slack)
        for logical, resource in template.of_type("AWS::IAM::Role").items()
        for policy in template.of_type("AWS::IAM::Policy").values()
        if {"Ref": logical} in policy["Properties"]["Roles"]
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow" and set(listed(statement["Action"])) & set(SIZING)
    }
    threats = Path("docs/explanation/threat-model.md").read_text("utf-8")
    [named] = re.findall(r"Only (\w+) roles may size a group, and only the pools:\*\* (.*?)\.", threats)
    assert may == set(re.findall(r"`(\w+)`", named[1]))


def may(controller: Template, action: str, name: str, effect: str = "Allow") -> set[str]:
    """The roles with a statement of this effect on a resource whose ARN ends with a name."""
    return {
        str(controller.resources[role["Ref"]]["Properties"]["RoleName"]).rpartition("-")[2]
        for policy in controller.of_type("AWS::IAM::Policy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Effect"] == effect and action in listed(statement["Action"])
        if any(fnmatch(name, f"*{named['Fn::Join'][1][-1]}") for named in listed(statement["Resource"]))
        for role in policy["Properties"]["Roles"]
    }


@pytest.mark.parametrize("verb", ["Create", "Delete", "Update"])
def test_who_may_write_the_failsafe_is_who_the_threat_model_names(controller: Template, verb: str) -> None:
    action, failsafe = f"scheduler:{verb}Schedule", "arn:aws:scheduler:r:1:schedule/gpu-lab/failsafe-gpu-10"
    threats = Path("docs/explanation/threat-model.md").read_text("utf-8")
    [named] = re.findall(r"Only two functions may write the failsafe's schedules:\*\* (.*?)\.", threats)
    two = set(re.findall(r"`(\w+)`", named))

    assert may(controller, action, failsafe) - may(controller, action, failsafe, "Deny") == two
    assert may(controller, "iam:PassRole", "arn:aws:iam::1:role/gpu-lab-ap-northeast-2-failsafe") == two


def test_the_guard_alone_may_switch_a_curfew(controller: Template) -> None:
    curfew = "arn:aws:scheduler:r:1:schedule/gpu-lab/curfew-gpu-eks"

    assert may(controller, "scheduler:UpdateSchedule", curfew) == {"guard"}
    assert may(controller, "scheduler:GetSchedule", curfew) == {"guard", "planner"}


def test_a_star_stands_only_for_calls_that_take_no_resource(templates: list[Template]) -> None:
    for template in templates:
        for name, statement in statements(template):
            if "*" in listed(statement["Resource"]):
                assert set(listed(statement["Action"])) <= TAKE_NO_RESOURCE | OF_ANY_TRAIL, name


def test_no_action_is_a_wildcard(templates: list[Template]) -> None:
    for template in templates:
        for name, statement in statements(template):
            assert not [action for action in listed(statement["Action"]) if "*" in action], name


def test_nobody_is_everybody(templates: list[Template]) -> None:
    for template in templates:
        for name, resource in template.resources.items():
            properties = resource.get("Properties", {})
            for key in ("AssumeRolePolicyDocument", "PolicyDocument"):
                document = properties.get(key)
                for statement in document["Statement"] if isinstance(document, Mapping) else []:
                    if statement["Effect"] == "Allow" and "Principal" in statement:
                        assert '"*"' not in json.dumps(statement["Principal"]), name


def test_each_function_has_a_role_of_its_own_with_a_name(controller: Template) -> None:
    functions = controller.properties("AWS::Lambda::Function")
    roles = [function["Role"]["Fn::GetAtt"][0] for function in functions]
    assert len(set(roles)) == len(functions) == 16
    for function, role in zip(functions, roles, strict=True):
        short = function["FunctionName"].removeprefix("gpu-lab-")
        assert controller.resources[role]["Properties"]["RoleName"] == f"gpu-lab-ap-northeast-2-{short}"
        assert function["Handler"] == f"handlers.{short}.handler"


def test_only_two_functions_and_the_failsafe_may_write_a_size(controller: Template) -> None:
    for writer in ("eks:UpdateNodegroupConfig", "autoscaling:UpdateAutoScalingGroup"):
        able = {
            role["RoleName"].removeprefix("gpu-lab-ap-northeast-2-")
            for role in controller.properties("AWS::IAM::Role")
            if writer in allowed(controller, role["RoleName"])
        }
        assert able == {"nodegroups", "guard", "failsafe"}


def test_the_failsafe_may_lower_the_pools_and_nothing_else(controller: Template) -> None:
    may = allowed(controller, "gpu-lab-ap-northeast-2-failsafe")

    assert set(may) == {"eks:UpdateNodegroupConfig", "autoscaling:UpdateAutoScalingGroup", "sqs:SendMessage"}
    assert "nodegroup/gpu-lab/gpu-lab-ng-gpu/*" in json.dumps(may["eks:UpdateNodegroupConfig"])
    (by_group,) = may["autoscaling:UpdateAutoScalingGroup"]
    of_the_pool = {key.replace("aws:", "autoscaling:", 1): value for key, value in OF_THE_POOL.items()}
    assert by_group["Condition"]["StringEquals"] == of_the_pool


@pytest.mark.parametrize("purpose", ["failsafe", "windows", "restores"])
def test_only_schedules_of_the_labs_group_may_take_the_schedule_roles(
    controller: Template, purpose: str
) -> None:
    role = controller.one("AWS::IAM::Role", RoleName=f"gpu-lab-ap-northeast-2-{purpose}")

    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]

    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    condition = trust["Condition"]["StringEquals"]
    assert condition["aws:SourceAccount"] == {"Ref": "AWS::AccountId"}
    assert "schedule-group/gpu-lab" in json.dumps(condition["aws:SourceArn"])


def test_a_role_is_passed_to_the_scheduler_only(controller: Template) -> None:
    passing = [s for _, s in statements(controller) if "iam:PassRole" in listed(s["Action"])]
    assert passing
    for statement in passing:
        assert statement["Condition"] == {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
        assert "*" not in json.dumps(statement["Resource"])


def test_kubernetes_is_reached_by_five_roles_through_one_group_each(controller: Template) -> None:
    entries = controller.properties("AWS::EKS::AccessEntry")
    reached = {
        controller.resources[entry["PrincipalArn"]["Fn::GetAtt"][0]]["Properties"]["RoleName"]: entry[
            "KubernetesGroups"
        ]
        for entry in entries
    }
    assert reached == {
        "gpu-lab-ap-northeast-2-cluster": ["lamplighter:cluster"],
        "gpu-lab-ap-northeast-2-diagnosis": ["lamplighter:diagnosis"],
        "gpu-lab-ap-northeast-2-doctor": ["lamplighter:doctor"],
        "gpu-lab-ap-northeast-2-experiments": ["lamplighter:experiments"],
        "gpu-lab-ap-northeast-2-guard": ["lamplighter:guard"],
    }
    assert not any("AccessPolicies" in entry for entry in entries)


def test_the_gatekeeper_writes_nothing_but_its_own_marks_and_bounds_through_eks(cluster: Template) -> None:
    may = set(allowed(cluster, "gpu-lab-ap-northeast-2-gatekeeper"))
    assert may == {
        "eks:DescribeCluster",
        "eks:DescribeNodegroup",
        "eks:DescribeUpdate",
        "eks:UpdateNodegroupConfig",
        "autoscaling:DescribeAutoScalingGroups",
        "ec2:DescribeAvailabilityZones",
        "dynamodb:GetItem",
        "dynamodb:Query",
        "dynamodb:DeleteItem",
        "dynamodb:PutItem",
        "logs:CreateLogStream",
        "logs:DeleteLogGroup",
        "logs:DescribeLogGroups",
        "logs:PutLogEvents",
    }
    [writing] = [
        statement
        for policy in cluster.properties("AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        if "dynamodb:PutItem" in statement["Action"]
    ]
    assert writing["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["DEPLOY#*"]}}


def test_what_an_environment_names_is_what_the_function_may_use(controller: Template) -> None:
    """A name that leads where the role may not go, or leave for what is not named, is a mistake."""
    uses = {
        "NOTICES_TOPIC_ARN": "sns:Publish",
        "PAGES_TOPIC_ARN": "sns:Publish",
        "LAST_CLOSE_ARN": "states:StartExecution",
        "PLANNER_FUNCTION_ARN": "lambda:InvokeFunction",
        "CLUSTER_FUNCTION_ARN": "lambda:InvokeFunction",
        "DIAGNOSIS_FUNCTION_ARN": "lambda:InvokeFunction",
        "EXPERIMENTS_FUNCTION_ARN": "lambda:InvokeFunction",
        "SCHEDULE_GROUP": "scheduler:CreateSchedule",
        "PAGES_BUCKET": "s3:GetObject",
        "LIFECYCLE_FUNCTION_ARN": "lambda:InvokeFunction",
        "NOTICES_FUNCTION_ARN": "lambda:InvokeFunction",
    }
    for function in controller.properties("AWS::Lambda::Function"):
        short = function["FunctionName"].removeprefix("gpu-lab-")
        may = set(allowed(controller, f"gpu-lab-ap-northeast-2-{short}"))
        named = function["Environment"]["Variables"]
        wanted = {action for variable, action in uses.items() if variable in named}
        if short in {"guard", "leases", "planner", "commands", "slack", "events"}:
            wanted.add("states:StartExecution")
        assert may & set(uses.values()) == wanted, short


def test_the_cluster_function_writes_how_far_warm_ups_are_and_what_it_borrows_and_nothing_else(
    controller: Template,
) -> None:
    may = allowed(controller, "gpu-lab-ap-northeast-2-cluster")

    assert "dynamodb:DeleteItem" not in may
    conditions = [
        condition for each in may["dynamodb:UpdateItem"] for condition in each["Condition"].values()
    ]
    assert [condition["dynamodb:LeadingKeys"] for condition in conditions] == [["LOAN"], ["PROGRESS#*"]]
