"""What the doctor holds an account to is what the templates ask for."""

import json
import re
from collections.abc import Callable

from docs.doctor import DESCRIPTIONS
from lamplighter.adapters.doctor.bootstrap import VERSION
from lamplighter.data import lifecycle
from lamplighter.domain.doctor.account import NEEDED_BOOTSTRAP
from lamplighter.domain.doctor.window import JOINING
from stacks.constructs.cluster_access import OF_EVERY_LAB
from stacks.layer import CHECKOUT
from tests.infra.conftest import Assembly, Template
from tests.infra.test_permissions import allowed


def test_the_bootstrap_that_is_asked_for_is_the_templates_own(controller: Template) -> None:
    (rule,) = controller.document["Rules"]["CheckBootstrapVersion"]["Assertions"]
    (too_old, _), *_ = rule["Assert"]["Fn::Not"][0].values()
    assert controller.document["Parameters"]["BootstrapVersion"]["Default"] == VERSION
    assert too_old == [str(version) for version in range(1, NEEDED_BOOTSTRAP)]


def test_the_runtime_that_is_watched_is_the_functions_own(controller: Template) -> None:
    named = {
        function["FunctionName"]: function["Runtime"]
        for function in controller.properties("AWS::Lambda::Function")
        if str(function.get("FunctionName", "")).startswith("gpu-lab-")
    }

    assert "gpu-lab-doctor" in named
    assert set(named.values()) == {lifecycle.RUNTIME}


def test_the_doctor_may_make_every_call_that_its_reference_names(controller: Template) -> None:
    reference = (CHECKOUT / "docs" / "reference" / "operation" / "doctor.md").read_text("utf-8")
    named = set(re.findall(r"\b(?:autoscaling|cloudtrail|ec2|eks):[A-Z]\w+", reference))
    may = set(allowed(controller, "gpu-lab-ap-northeast-2-doctor"))
    # Of a cluster that is still to be created, and of NodePools and reservations, which this lab has not.
    assert named - may == {
        "ec2:DescribeAvailabilityZones",
        "ec2:DescribeCapacityBlockStatus",
        "ec2:DescribeCapacityReservations",
        "eks:DescribeAccessEntry",
    }


def test_the_doctor_sees_the_cluster_through_a_group_of_its_own_and_changes_nothing(
    controller: Template,
) -> None:
    entry = controller.one("AWS::EKS::AccessEntry", KubernetesGroups=["lamplighter:doctor"])
    role = controller.name("AWS::IAM::Role", RoleName="gpu-lab-ap-northeast-2-doctor")
    found = allowed(controller, "gpu-lab-ap-northeast-2-doctor")
    may = {action: json.dumps([each["Resource"] for each in granted]) for action, granted in found.items()}

    assert entry["PrincipalArn"] == {"Fn::GetAtt": [role, "Arn"]}
    changing = {one for one in may if not one.partition(":")[2].startswith(("Describe", "Get", "Query"))}
    assert changing == {
        "dynamodb:PutItem",
        "lambda:InvokeFunction",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "sns:Publish",
        "sqs:SendMessage",
    }
    assert "gpu-lab-notices" in may["lambda:InvokeFunction"]
    assert "secret:gpu-lab-slack" in may.get("secretsmanager:GetSecretValue", "secret:gpu-lab-slack")


def test_the_doctor_may_make_every_call_to_auto_scaling_that_its_page_names(controller: Template) -> None:
    calls = set(re.findall(r"autoscaling:\w+", " ".join(check.reads for check in DESCRIPTIONS.values())))
    assert calls
    assert calls <= set(allowed(controller, "gpu-lab-ap-northeast-2-doctor"))


SynthesiseLab = Callable[..., Assembly]
LOOKING = {"ec2:DescribeInstances", "eks:ListAccessEntries"}


def test_a_lab_that_checks_its_windows_again_gives_the_doctor_two_more_rights_and_a_schedule_its_call(
    synthesise: SynthesiseLab, controller: Template
) -> None:
    role = "gpu-lab-ap-northeast-2-doctor"
    looking = synthesise(guard={"look_again": ["24h", "30m"]}).template("gpu-lab-controller")
    may = allowed(looking, role)

    assert set(may) - set(allowed(controller, role)) == LOOKING
    assert "cluster/gpu-lab" in json.dumps([each["Resource"] for each in may["eks:ListAccessEntries"]])
    windows = "gpu-lab-ap-northeast-2-windows"
    started = json.dumps([each["Resource"] for each in allowed(looking, windows)["lambda:InvokeFunction"]])
    assert "function:gpu-lab-doctor" in started
    for function in ("planner", "leases"):
        creating = allowed(looking, f"gpu-lab-ap-northeast-2-{function}")["scheduler:CreateSchedule"]
        assert ":schedule/gpu-lab/look-*" in json.dumps([each["Resource"] for each in creating])
    named = {
        function["FunctionName"]
        for function in looking.properties("AWS::Lambda::Function")
        if "DOCTOR_FUNCTION_ARN" in function["Environment"]["Variables"]
    }
    assert named == {f"gpu-lab-{function}" for function in ("leases", "guard", "planner")}


def test_a_lab_without_such_checks_has_nothing_of_them(controller: Template) -> None:
    document = json.dumps(controller.document)
    assert "DOCTOR_FUNCTION_ARN" not in document
    assert "look-*" not in document
    windows = allowed(controller, "gpu-lab-ap-northeast-2-windows")
    assert "gpu-lab-doctor" not in json.dumps([each["Resource"] for each in windows["lambda:InvokeFunction"]])
    assert not LOOKING & set(allowed(controller, "gpu-lab-ap-northeast-2-doctor"))


def test_a_check_before_a_window_looks_for_functions_that_get_an_access_entry() -> None:
    assert set(JOINING) <= OF_EVERY_LAB.keys()
