"""Classes in the templates: their function, its narrow rights, its place in the workflows; only in a lab with one."""

import json

import pytest

from lamplighter.domain.classes import access
from lamplighter.lab.model import Lab
from tests.infra.conftest import DEFAULT, Assembly, Synthesis, Template
from tests.infra.test_permissions import allowed
from tests.infra.workflow_definitions import definitions
from tests.unit.classes.labs import window

LAB = {**DEFAULT, "windows": [window("evening"), window("night", namespace="gpu-202")]}
FUNCTION = "gpu-lab-classes"


@pytest.fixture(scope="module")
def lab(synthesis: Synthesis) -> Assembly:
    return synthesis(LAB, True)


@pytest.fixture(scope="module")
def controller(lab: Assembly) -> Template:
    return lab.template("gpu-lab-controller")


def test_cdk_nag_finds_nothing(lab: Assembly) -> None:
    assert lab.violations() == []


def test_a_lab_without_a_class_knows_of_none(assembly: Assembly) -> None:
    for name in assembly.stacks:
        written = json.dumps(assembly.template(name).document)
        for word in ("handlers.classes", "KeepClasses", "AnnounceClasses", "lamplighter:gpu-lab:classes"):
            assert word not in written


def test_its_function_reads_the_ledger_and_finds_the_cluster_and_no_more(controller: Template) -> None:
    assert set(allowed(controller, "gpu-lab-ap-northeast-2-classes")) == {
        "dynamodb:GetItem",
        "dynamodb:Query",
        "eks:DescribeCluster",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
    }
    role = controller.name("AWS::IAM::Role", RoleName="gpu-lab-ap-northeast-2-classes")
    entry = controller.one("AWS::EKS::AccessEntry", PrincipalArn={"Fn::GetAtt": [role, "Arn"]})
    assert entry["KubernetesGroups"] == ["lamplighter:gpu-lab:classes"]
    assert (
        controller.one("AWS::Lambda::Function", FunctionName=FUNCTION)["Handler"]
        == "handlers.classes.handler"
    )


def test_the_rights_are_applied_with_the_others_and_name_what_they_may_write(lab: Assembly) -> None:
    written = json.dumps(lab.template("gpu-lab-cluster").document)
    rights = access.documents(Lab.model_validate(LAB))
    assert "lamplighter:gpu-lab:classes" in written
    [role] = [each for each in rights if each["kind"] == "ClusterRole"]
    rules = role["rules"]
    assert isinstance(rules, list)
    assert all(rule["resourceNames"] for rule in rules)
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "create", "patch", "bind"}
    assert rules[0]["resourceNames"] == ["gpu-101", "gpu-202"]
    assert [rule["resourceNames"] for rule in rules if "bind" in rule["verbs"]] == [["edit"]]


def test_the_step_holds_up_neither_the_opening_nor_the_close() -> None:
    machines = definitions(classes=True)
    opening, closing = machines["open"]["States"], machines["close"]["States"]
    assert opening["IsInForce"]["Default"] == "KeepClasses"
    assert closing["IsStillToClose"]["Default"] == "KeepClasses"
    for states, then in ((opening, "AwaitNodes"), (closing, "GiveBack")):
        keep, tell = states["KeepClasses"], states["AnnounceClasses"]
        assert keep["Next"] == "AnnounceClasses"
        assert [(catch["ErrorEquals"], catch["Next"]) for catch in keep["Catch"]] == [
            (["States.ALL"], "AnnounceClasses")
        ]
        assert tell["Next"] == then
        assert [catch["Next"] for catch in tell["Catch"]] == [then]
    # A close whose lease could not be ended writes the quota all the same.
    assert closing["RestoreExperiments"]["Catch"][0]["Next"] == "KeepClasses"
    plain = definitions()
    assert "KeepClasses" not in json.dumps(plain)
