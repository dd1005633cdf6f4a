"""Whatever is handed on and not waited for: how long it is retried, how old it may grow, where it ends."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from moto.events.models import EventPattern

from tests.infra.conftest import Assembly, Resource, Template
from tests.infra.filled import filled

# What an event may be retried for before what it asks for has no sense any more, in seconds.
FIVE_MINUTES, AN_HOUR = 300, 3600
LONGEST = {
    "sweep": FIVE_MINUTES,
    "instances": FIVE_MINUTES,
    "plan": AN_HOUR,
    "closing-failed": AN_HOUR,
    "requests": AN_HOUR,
    "doctor": 6 * AN_HOUR,
}


def targets(controller: Template) -> Iterator[tuple[str, Resource]]:
    for rule in controller.properties("AWS::Events::Rule"):
        for target in rule["Targets"]:
            yield rule["Name"].removeprefix("gpu-lab-"), target


def test_every_rule_gives_up_in_time_and_into_the_queue(controller: Template) -> None:
    of_the_lab, of_the_bus = (
        controller.name("AWS::SQS::Queue", QueueName=f"gpu-lab-{name}")
        for name in ("dead-letters", "dead-events")
    )
    seen = set()
    for name, target in targets(controller):
        seen.add(name)
        queue = of_the_bus if name in {"requests", "tell"} else of_the_lab
        assert target["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0] == queue, name
        assert target["RetryPolicy"]["MaximumEventAgeInSeconds"] <= LONGEST.get(name, FIVE_MINUTES), name
    assert seen >= set(LONGEST)


def invoked_without_waiting(controller: Template) -> set[str]:
    """By rules, by schedules and by CloudFormation; workflows wait for what they call but for what lets it start."""
    by_rules = {str(target["Arn"]) for _, target in targets(controller)}
    return {
        function["FunctionName"].removeprefix("gpu-lab-")
        for name, function in controller.of_type("AWS::Lambda::Function").items()
        for function in [function["Properties"]]
        if any(name in arn for arn in by_rules)
    } | {"cluster", "nodegroups", "notices", "deploy"}


def test_no_function_acts_on_an_event_that_lay_about(controller: Template) -> None:
    ages = {}
    for config in controller.properties("AWS::Lambda::EventInvokeConfig"):
        name = controller.resources[config["FunctionName"]["Ref"]]["Properties"]["FunctionName"]
        ages[name.removeprefix("gpu-lab-")] = config["MaximumEventAgeInSeconds"]
        assert config["MaximumRetryAttempts"] == 2

    assert ages == {
        "cluster": FIVE_MINUTES,
        "guard": FIVE_MINUTES,
        "nodegroups": 60,
        "planner": AN_HOUR,
        "notices": FIVE_MINUTES,
        "deploy": FIVE_MINUTES,
        "doctor": 6 * AN_HOUR,
        "lifecycle": FIVE_MINUTES,
    }
    assert invoked_without_waiting(controller) == set(ages)


def test_what_a_function_cannot_do_ends_in_the_queue(controller: Template) -> None:
    with_a_queue = {
        function["FunctionName"].removeprefix("gpu-lab-")
        for function in controller.properties("AWS::Lambda::Function")
        if "DeadLetterConfig" in function
    }

    assert with_a_queue == {"cluster", "guard", "planner", "notices", "deploy", "doctor", "lifecycle"}


def test_a_page_that_no_mail_takes_ends_in_the_queue(controller: Template) -> None:
    (subscription,) = controller.properties("AWS::SNS::Subscription")
    assert subscription["Protocol"] == "email"
    assert subscription["RedrivePolicy"]["deadLetterTargetArn"]


def test_places_are_kept_for_the_guard_alone_and_only_where_the_lab_asks_for_them(
    controller: Template, synthesise: Callable[..., Assembly]
) -> None:
    def reserved(template: Template) -> dict[str, int]:
        functions = template.properties("AWS::Lambda::Function")
        key = "ReservedConcurrentExecutions"
        return {each["FunctionName"]: each[key] for each in functions if key in each}

    asked = synthesise(guard={"reserved_concurrency": 5}).template("gpu-lab-controller")
    assert reserved(controller) == {}
    assert reserved(asked) == {"gpu-lab-guard": 5}


def test_there_are_at_most_five_alarms_on_metrics_of_aws(controller: Template) -> None:
    alarms = controller.properties("AWS::CloudWatch::Alarm")

    assert len(alarms) <= 5
    for alarm in alarms:
        assert alarm["Namespace"].startswith("AWS/")
        assert alarm["AlarmActions"]


def test_an_alarm_looks_back_as_far_as_its_datum_may_be_late(controller: Template) -> None:
    """CloudWatch hears of a queue that has slept up to 15 minutes late, and goes on judging a last long period."""
    failed = controller.one("AWS::CloudWatch::Alarm", AlarmName="gpu-lab-failsafe-failed")
    silent = controller.one("AWS::CloudWatch::Alarm", AlarmName="gpu-lab-guard-silent")

    assert failed["Period"] * failed["EvaluationPeriods"] > 15 * 60
    assert failed["DatapointsToAlarm"] == 1
    assert (silent["Period"], silent["EvaluationPeriods"], silent["DatapointsToAlarm"]) == (60, 15, 15)
    assert silent["TreatMissingData"] == "breaching"


# --- what a trail tells ---------------------------------------------------------------------------


def patterns(controller: Template) -> dict[str, dict[str, Any]]:
    """The patterns of the trail's rules, with the account filled in."""
    found = {}
    for rule in controller.properties("AWS::Events::Rule"):
        text = json.dumps(rule.get("EventPattern", {}))
        if "CloudTrail" in text:
            found[rule["Name"].removeprefix("gpu-lab-")] = filled(rule["EventPattern"])
    return found


def call(source: str, name: str, asked: Mapping[str, object], **who: object) -> dict[str, Any]:
    """An event as CloudTrail hands it to EventBridge."""
    identity = {"type": "IAMUser", "arn": "arn:aws:iam::123456789012:user/alice", **who}
    return {
        "source": source,
        "detail-type": "AWS API Call via CloudTrail",
        "detail": {"eventName": name, "requestParameters": asked, "userIdentity": identity},
    }


RAISED = {"name": "gpu-lab", "nodegroupName": "gpu-lab-ng-gpu", "scalingConfig": {"desiredSize": 2}}
OURS = "arn:aws:sts::123456789012:assumed-role/gpu-lab-ap-northeast-2-nodegroups/gpu-lab-nodegroups"


@pytest.mark.parametrize(("rule", "event", "wakes"), [
    ("nodegroup-calls", call("aws.eks", "UpdateNodegroupConfig", RAISED), True),
    ("nodegroup-calls", call("aws.eks", "DescribeNodegroup", RAISED), False),
    ("nodegroup-calls", call("aws.eks", "UpdateNodegroupConfig", {**RAISED, "nodegroupName": "x"}), False),
    ("nodegroup-calls", call("aws.eks", "UpdateNodegroupConfig", RAISED, arn=OURS), False),
    ("group-calls", call("aws.autoscaling", "SetDesiredCapacity", {"autoScalingGroupName": "eks-gpu-lab-ng-gpu-1"}),
     True),
    ("group-calls", call("aws.autoscaling", "UpdateAutoScalingGroup", {"autoScalingGroupName": "eks-gpu-lab-ng-gpu-1"},
     invokedBy="eks-nodegroup.amazonaws.com"), False),
    ("group-calls", call("aws.autoscaling", "SetDesiredCapacity", {"autoScalingGroupName": "web"}), False),
])  # fmt: skip
def test_a_trail_wakes_the_guard_for_others_calls_on_a_pool_only(
    controller: Template, rule: str, event: dict[str, Any], wakes: bool
) -> None:
    pattern = patterns(controller)[rule]
    assert EventPattern(json.dumps(pattern), pattern).matches_event(event) is wakes  # type: ignore[arg-type]


def test_instances_are_looked_at_by_their_tags(controller: Template) -> None:
    asked = patterns(controller)["instance-calls"]["detail"]["requestParameters"]

    # EventBridge looks into every item of a list; moto does not.
    assert asked == {
        "tagSpecificationSet": {
            "items": {"tags": {"key": ["eks:nodegroup-name"], "value": ["gpu-lab-ng-gpu"]}}
        }
    }
