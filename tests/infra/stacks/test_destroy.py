"""`cdk destroy` leaves the ledger and nothing else, and nothing grows for ever meanwhile."""

import re

import pytest

from tests.checkout import ROOT
from tests.infra.conftest import Template


def test_only_the_ledger_outlives_the_lab(templates: list[Template]) -> None:
    kept = [
        (name, resource["Type"])
        for template in templates
        for name, resource in template.resources.items()
        if resource.get("DeletionPolicy", "Delete") != "Delete"
    ]
    assert [kind for _, kind in kept] == ["AWS::DynamoDB::Table"]


def test_the_ledger_can_be_taken_up_again(controller: Template) -> None:
    """What CloudFormation imports must have a name that the template states, and be retained."""
    (ledger,) = controller.of_type("AWS::DynamoDB::Table").values()
    assert ledger["Properties"]["TableName"] == "gpu-lab-ledger"
    assert ledger["DeletionPolicy"] == "RetainExceptOnCreate"
    assert ledger["UpdateReplacePolicy"] == "Retain"
    assert ledger["Properties"]["BillingMode"] == "PAY_PER_REQUEST"
    assert ledger["Properties"]["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


def test_every_log_group_is_declared_and_forgets(templates: list[Template], cluster: Template) -> None:
    for template in templates:
        for group in template.properties("AWS::Logs::LogGroup"):
            assert group["RetentionInDays"] == 30
        for function in template.of_type("AWS::Lambda::Function").values():
            name = function["Properties"].get("FunctionName")
            if name is not None:
                template.one("AWS::Logs::LogGroup", LogGroupName=f"/aws/lambda/{name}")
    assert len(cluster.properties("AWS::Logs::LogGroup")) == 1 + len(
        cluster.properties("AWS::Lambda::Function")
    )


def test_each_guarded_node_group_is_claimed_under_a_fixed_name(controller: Template) -> None:
    claim = controller.one("AWS::SSM::Parameter")
    assert claim["Name"] == "/lamplighter/claims/gpu-lab/gpu-lab-ng-gpu"
    assert claim["Value"] == "gpu-lab"


def test_a_claim_of_another_lab_fails_a_deploy_before_a_function_or_a_sweep_knows_the_pool(
    controller: Template,
) -> None:
    claim = controller.name("AWS::SSM::Parameter")
    for function in ("cluster", "guard", "leases", "nodegroups", "planner"):
        needed = controller.needs(
            controller.name("AWS::Lambda::Function", FunctionName=f"gpu-lab-{function}")
        )
        assert claim in needed
    for rule in ("sweep", "plan", "instances"):
        assert claim in controller.needs(controller.name("AWS::Events::Rule", Name=f"gpu-lab-{rule}"))
    assert claim in controller.needs(controller.name("Custom::LamplighterLastClosed"))


def test_the_command_line_finds_what_it_looks_for(controller: Template) -> None:
    assert set(controller.outputs) == {
        *("LabName", "Region", "ClusterName", "LedgerTable", "CommandsUrl", "PagesBucket"),
        *("SlackUrl", "SlackSecretArn", "EventBusName"),
        *("OpenLabArn", "CloseLabArn", "ExtendLeaseArn", "ChangeLabArn", "ExperimentArn"),
    }


@pytest.mark.parametrize(
    ("rule", "expected"), [("gpu-lab-sweep", "rate(5 minutes)"), ("gpu-lab-plan", "rate(1 hour)")]
)
def test_the_guard_sweeps_every_five_minutes(controller: Template, rule: str, expected: str) -> None:
    assert controller.one("AWS::Events::Rule", Name=rule)["ScheduleExpression"] == expected


def test_auto_scalings_events_of_the_pools_wake_the_guard(controller: Template) -> None:
    rule = controller.one("AWS::Events::Rule", Name="gpu-lab-instances")
    assert rule["EventPattern"] == {
        "source": ["aws.autoscaling"],
        "detail": {"AutoScalingGroupName": [{"prefix": "eks-gpu-lab-ng-gpu-"}]},
    }
    for target in rule["Targets"]:
        assert target["DeadLetterConfig"]


def test_terraform_waits_longer_than_the_last_close_takes(controller: Template) -> None:
    file = (ROOT / "docs/how-to/set-up/terraform/lamplighter.tf").read_text("utf-8")
    waits = file.partition('resource "aws_cloudformation_stack" "controller"')[2]
    (closed,) = controller.of_type("Custom::LamplighterLastClosed").values()

    minutes = int(re.findall(r'delete = "(\d+)m"', waits)[0])
    assert minutes * 60 > int(closed["Properties"]["ServiceTimeout"])
