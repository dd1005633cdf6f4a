"""Traces, a dashboard and more alarms come with their keys, and only then."""

import json
from collections.abc import Callable

from docs import alarms
from tests.infra.conftest import ENTRY, Assembly, Synthesis


def test_by_default_there_is_neither(synthesise: Callable[..., Assembly]) -> None:
    controller = synthesise().template("gpu-lab-controller")
    assert not controller.of_type("AWS::CloudWatch::Dashboard")
    assert all("TracingConfig" not in function for function in controller.properties("AWS::Lambda::Function"))
    assert "xray:" not in json.dumps(dict(controller.of_type("AWS::IAM::Policy")))


def test_with_tracing_every_function_is_traced_and_may_write_its_segments(
    synthesise: Callable[..., Assembly],
) -> None:
    assembly = synthesise(observability={"tracing": True}, slack={})
    template = assembly.template("gpu-lab-controller")
    functions = template.properties("AWS::Lambda::Function")
    ours = [function for function in functions if str(function["Handler"]).startswith("handlers.")]
    assert "gpu-lab-board" in {function["FunctionName"] for function in ours}
    assert [function["TracingConfig"] for function in ours] == [{"Mode": "Active"}] * len(ours)
    writing = [
        policy
        for policy in template.properties("AWS::IAM::Policy")
        if "xray:PutTraceSegments" in json.dumps(policy)
    ]
    assert len(writing) == len(ours)


def test_the_dashboard_shows_every_metric_and_every_function(synthesise: Callable[..., Assembly]) -> None:
    controller = synthesise(observability={"dashboard": True}).template("gpu-lab-controller")

    dashboard = controller.one("AWS::CloudWatch::Dashboard")

    body = json.dumps(dashboard["DashboardBody"])
    assert dashboard["DashboardName"] == "gpu-lab"
    for metric in (
        "TimeToReady",
        "Breaches",
        "NumberOfMessagesPublished",
        "NodeSecondsWithoutLease",
        "SlackAnswer",
    ):
        assert metric in body
    for function in ("gpu-lab-guard", "gpu-lab-leases", "gpu-lab-cluster", "gpu-lab-planner"):
        assert function in body


def test_people_are_paged_long_before_a_request_that_nobody_takes_is_forgotten(
    synthesise: Callable[..., Assembly],
) -> None:
    assembly = synthesise(
        observability={"queue_alarms": True}, slack={}, events={"allow": {"training": ENTRY}}
    )
    template = assembly.template("gpu-lab-controller")
    for name in ("gpu-lab-slack-requests", "gpu-lab-event-requests"):
        queue = template.one("AWS::SQS::Queue", QueueName=name)
        alarm = template.one("AWS::CloudWatch::Alarm", AlarmName=name)
        assert alarm["MetricName"] == "ApproximateAgeOfOldestMessage"
        assert json.dumps(alarm["Dimensions"]).count("Requests") == 1
        assert alarm["Threshold"] + alarm["Period"] < queue["MessageRetentionPeriod"] / 2
        assert "ChannelsPages" in json.dumps(alarm["AlarmActions"])
        assert name.removeprefix("gpu-lab-") in alarms.ASKED


def test_the_checks_find_nothing_in_a_lab_with_both(synthesis: Synthesis) -> None:
    both = {"tracing": True, "dashboard": True, "queue_alarms": True}
    assert synthesis({"name": "gpu-lab", "slack": {}, "observability": both}, True).violations() == []
