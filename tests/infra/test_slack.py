"""Slack's side of a lab: there only where it is asked for, narrow, throttled, and nothing of it in a log."""

import json
from collections.abc import Callable

from lamplighter.application.slack.receiving import SECONDS
from lamplighter.data.lambda_concurrency import NEW_ACCOUNT
from stacks.constructs.http.throttle import ROOM, SLACK
from tests.infra.conftest import Assembly, Resource, Template
from tests.infra.test_permissions import allowed, listed

SECRET = "arn:aws:secretsmanager:ap-northeast-2:123456789012:secret:gpu-lab-slack-AbCdEf"
# What the first request of a new worker takes more: docs/reference/performance.md, `slack-cold`.
COLD_SECONDS = 0.8


def may(slack: Template, function: str) -> dict[str, list[Resource]]:
    return allowed(slack, f"gpu-lab-ap-northeast-2-{function}")


def test_a_lab_without_slack_has_no_slack_stack(synthesise: Callable[..., Assembly]) -> None:
    lab = synthesise()
    assert lab.stacks == ["gpu-lab-cluster", "gpu-lab-controller"]
    assert "SLACK" not in json.dumps(lab.template("gpu-lab-controller").properties("AWS::Lambda::Function"))


def test_slack_comes_after_the_controller(assembly: Assembly) -> None:
    assert "gpu-lab-controller" in assembly.artifacts["gpu-lab-slack"]["dependencies"]


def test_whoever_installs_the_app_finds_its_address_and_its_secret(slack: Template) -> None:
    assert set(slack.outputs) == {"LabName", "SlackUrl", "SlackSecretArn"}
    assert json.dumps(slack.outputs["SlackUrl"]).endswith('"/slack"]]}')


def test_one_route_is_open_and_it_is_throttled(slack: Template) -> None:
    assert [route["RouteKey"] for route in slack.properties("AWS::ApiGatewayV2::Route")] == ["POST /slack"]
    stage = slack.one("AWS::ApiGatewayV2::Stage")
    assert stage["StageName"] == "$default"
    limits = stage["DefaultRouteSettings"]
    assert limits == {"ThrottlingRateLimit": SLACK.requests_a_second, "ThrottlingBurstLimit": SLACK.burst}


def test_both_addresses_together_leave_a_new_account_room_for_the_guard_and_the_workflows(
    slack: Template, controller: Template
) -> None:
    held = 0
    for template, seconds in ((slack, SECONDS + COLD_SECONDS), (controller, COLD_SECONDS)):
        limits = template.one("AWS::ApiGatewayV2::Stage")["DefaultRouteSettings"]
        held += int(limits["ThrottlingBurstLimit"] + limits["ThrottlingRateLimit"] * seconds)

    assert held <= NEW_ACCOUNT - ROOM


def test_the_access_log_says_when_and_what_was_answered_and_nothing_of_what_was_said(slack: Template) -> None:
    logged = json.loads(slack.one("AWS::ApiGatewayV2::Stage")["AccessLogSettings"]["Format"])
    assert {"requestTime", "status", "ip"} <= set(logged)
    for value in logged.values():
        assert not any(word in value for word in ("body", "header", "querystring", "path")), value


def test_the_door_has_processor_enough_for_a_cold_start_and_gives_up_soon(slack: Template) -> None:
    door = slack.one("AWS::Lambda::Function", FunctionName="gpu-lab-slack")
    assert door["Handler"] == "handlers.slack.handler"
    assert door["MemorySize"] >= 1024
    assert door["Timeout"] <= 10


def test_the_door_and_the_board_write_only_what_slack_said(slack: Template) -> None:
    for function in ("slack", "board"):
        found = may(slack, function)
        for action in ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"):
            [statement] = found[action]
            assert statement["Condition"] == {
                "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["SLACK", "SLACK#*"]}
            }
        assert found["secretsmanager:GetSecretValue"][0]["Resource"] == slack.outputs["SlackSecretArn"]
        assert not any(action.startswith(("eks:", "autoscaling:", "ec2:", "iam:")) for action in found)


def test_the_door_starts_the_four_workflows_of_people_and_the_board_starts_none(slack: Template) -> None:
    [starting] = may(slack, "slack")["states:StartExecution"]
    named = sorted(
        json.dumps(arn).split("gpu-lab-")[-1].split('"')[0] for arn in listed(starting["Resource"])
    )

    assert named == ["change", "close", "extend", "open"]
    assert "states:StartExecution" not in may(slack, "board")
    door = slack.one("AWS::Lambda::Function", FunctionName="gpu-lab-slack")["Environment"]["Variables"]
    assert {"OPEN_LAB_ARN", "CLOSE_LAB_ARN", "EXTEND_LEASE_ARN", "CHANGE_LAB_ARN"} <= set(door)


def test_pages_are_read_and_never_written_from_slack(slack: Template) -> None:
    for function in ("slack", "board"):
        assert {action for action in may(slack, function) if action.startswith("s3:")} == {"s3:GetObject"}


def test_the_secret_is_made_empty_and_a_later_deploy_leaves_it_alone(slack: Template) -> None:
    secret = slack.one("AWS::SecretsManager::Secret")
    assert json.loads(secret["SecretString"]) == {"signing_secret": "", "bot_token": ""}
    assert "GenerateSecretString" not in secret


def test_a_secret_of_ones_own_is_used_as_it_is(synthesise: Callable[..., Assembly]) -> None:
    lab = synthesise(slack={"secret_arn": SECRET})
    slack = lab.template("gpu-lab-slack")

    assert not slack.of_type("AWS::SecretsManager::Secret")
    assert slack.outputs["SlackSecretArn"] == SECRET
    assert may(slack, "slack")["secretsmanager:GetSecretValue"][0]["Resource"] == SECRET
    doctor = allowed(lab.template("gpu-lab-controller"), "gpu-lab-ap-northeast-2-doctor")
    assert doctor["secretsmanager:GetSecretValue"][0]["Resource"] == SECRET


def test_whoever_only_shows_never_holds_up_what_happens(slack: Template, controller: Template) -> None:
    """Tried again for a quarter of an hour and then left where an alarm looks."""
    for template in (slack, controller):
        mapping = template.one("AWS::Lambda::EventSourceMapping")
        assert mapping["StartingPosition"] == "LATEST"
        assert mapping["MaximumRetryAttempts"] == 5
        assert mapping["MaximumRecordAgeInSeconds"] == 900
        assert "gpu-lab-dead-letters" in json.dumps(mapping["DestinationConfig"])
    [table] = controller.properties("AWS::DynamoDB::Table")
    assert table["StreamSpecification"] == {"StreamViewType": "KEYS_ONLY"}


def prefixes(template: Template) -> list[tuple[str, set[str]]]:
    """Partition prefix and sort key prefixes of whoever listens."""
    filters = template.one("AWS::Lambda::EventSourceMapping")["FilterCriteria"]["Filters"]
    assert 0 < len(filters) <= 5
    found = [json.loads(each["Pattern"])["dynamodb"]["Keys"] for each in filters]
    return [
        (keys["pk"]["S"][0]["prefix"], {one["prefix"] for one in keys.get("sk", {}).get("S", [])})
        for keys in found
    ]


def test_what_the_board_notes_itself_wakes_nobody(slack: Template, controller: Template) -> None:
    for template in (slack, controller):
        for pk, sks in prefixes(template):
            assert sks or pk == "PROGRESS#"
            assert not sks & {"MESSAGE#", "PERSON#", "SEEN#"}


def test_an_offer_that_slack_refuses_does_not_wake_the_board_for_ever(slack: Template) -> None:
    """It notes an offer before it makes it, and takes the note back: only who is new in line is told of."""
    filters = slack.one("AWS::Lambda::EventSourceMapping")["FilterCriteria"]["Filters"]
    told = [json.loads(each["Pattern"]) for each in filters]
    line = [each for each in told if "WAIT#" in json.dumps(each)]
    assert [each["eventName"] for each in line] == [["INSERT"]]
    assert all(each["eventName"] == ["INSERT", "MODIFY"] for each in told if each not in line)


def test_no_page_is_drawn_because_a_pool_was_looked_at(controller: Template) -> None:
    """The pool's own item is written by every sweep: an idle lab would pay for pages that nobody reads."""
    assert all("STATE" not in sks for _, sks in prefixes(controller))


def test_the_bucket_of_pages_is_private_encrypted_and_emptied_before_it_goes(controller: Template) -> None:
    [(name, bucket)] = controller.of_type("AWS::S3::Bucket").items()

    assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["Properties"]["BucketEncryption"]
    assert bucket["DeletionPolicy"] == "Delete"
    [emptied] = controller.of_type("Custom::LamplighterEmptied")
    assert name in controller.needs(emptied)
    # Deleted before it: nobody draws a page into an emptied bucket.
    [listening] = controller.of_type("AWS::Lambda::EventSourceMapping")
    assert emptied in controller.needs(listening)


def test_the_doctor_visits_every_month(controller: Template) -> None:
    assert controller.one("AWS::Events::Rule", Name="gpu-lab-doctor")["ScheduleExpression"] == "rate(30 days)"
