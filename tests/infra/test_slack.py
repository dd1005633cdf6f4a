"""Slack's side of a lab: there only where it is asked for, narrow, throttled, and nothing of it in a log."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from lamplighter.data.lambda_concurrency import NEW_ACCOUNT
from lamplighter.domain.commands.orders import EXPIRES_AFTER
from lamplighter.domain.slack.asked.signature import OLDEST
from lamplighter.domain.slack.kept import SEEN_KEPT
from stacks.constructs.http.throttle import ROOM
from stacks.constructs.slack import HEADERS
from tests.infra.conftest import Assembly, Resource, Template
from tests.infra.test_permissions import allowed, listed

SECRET = "arn:aws:secretsmanager:ap-northeast-2:123456789012:secret:gpu-lab-slack-AbCdEf"
COURSE = "arn:aws:secretsmanager:ap-northeast-2:123456789012:secret:course-AbCdEf"
WITH_SECRETS: dict[str, Any] = {
    "slack": {"secret_arn": SECRET},
    "windows": [
        {"name": name, "calendar": f"https://school.example/{name}.ics", "calendar_secret": COURSE}
        for name in ("monday", "friday")
    ],
}
# What the first request of a new worker takes more: docs/reference/performance.md, `slack-cold`.
COLD_SECONDS = 0.8


def may(slack: Template, function: str) -> dict[str, list[Resource]]:
    return allowed(slack, f"gpu-lab-ap-northeast-2-{function}")


def test_a_lab_without_slack_has_nothing_of_it(synthesise: Callable[..., Assembly]) -> None:
    controller = synthesise().template("gpu-lab-controller")
    assert controller.part("Slack").resources == {}
    assert "SlackUrl" not in controller.outputs
    assert "SLACK" not in json.dumps(controller.properties("AWS::Lambda::Function"))


def test_whoever_installs_the_app_finds_its_address_and_its_secret(slack: Template) -> None:
    assert {"SlackUrl", "SlackSecretArn"} <= set(slack.outputs)
    assert json.dumps(slack.outputs["SlackUrl"]).endswith('/slack"]]}')


def post(slack: Template) -> Resource:
    """The one method of the address."""
    return slack.one("AWS::ApiGateway::Method")


def test_one_method_is_open_and_puts_what_is_posted_into_the_queue(slack: Template) -> None:
    assert post(slack)["HttpMethod"] == "POST"
    assert [each["PathPart"] for each in slack.properties("AWS::ApiGateway::Resource")] == ["slack"]
    integration = post(slack)["Integration"]
    assert (integration["Type"], integration["PassthroughBehavior"]) == ("AWS", "NEVER")
    assert "sqs:path" in json.dumps(integration["Uri"])
    assert "lambda" not in json.dumps(integration)
    for template in integration["RequestTemplates"].values():
        form = dict(pair.split("=", 1) for pair in template.split("&"))
        assert form["Action"] == "SendMessage"
        assert form["MessageBody"] == "$util.urlEncode($input.body)"
        names = {value: key.removesuffix("Name") for key, value in form.items() if key.endswith("Name")}
        for attribute, header in HEADERS.items():
            assert (
                form[f"{names[attribute]}Value.StringValue"] == f"$util.urlEncode($input.params('{header}'))"
            )


def test_a_request_without_slacks_headers_is_refused_before_the_queue(slack: Template) -> None:
    required = {f"method.request.header.{header}": True for header in HEADERS.values()}
    assert post(slack)["RequestParameters"] == required
    assert slack.one("AWS::ApiGateway::RequestValidator")["ValidateRequestParameters"] is True


def test_whoever_posts_gets_an_empty_200_and_a_queue_that_fails_is_no_success(slack: Template) -> None:
    first, *others = post(slack)["Integration"]["IntegrationResponses"]
    assert (first["StatusCode"], "SelectionPattern" in first) == ("200", False)
    [failure] = others
    for code in ("403", "500", "503"):
        assert re.fullmatch(failure["SelectionPattern"], code)
    # SQS says 400 to what Slack would not send: control characters, or more than it takes.
    assert not re.fullmatch(failure["SelectionPattern"], "400")
    assert int(failure["StatusCode"]) >= 500


def test_the_address_may_only_send_into_its_queue(slack: Template) -> None:
    queue = {"Fn::GetAtt": [slack.name("AWS::SQS::Queue"), "Arn"]}
    found = may(slack, "slack-address")
    assert {action: [each["Resource"] for each in allow] for action, allow in found.items()} == {
        "sqs:SendMessage": [queue]
    }


def test_a_class_is_never_throttled_and_a_flood_is_bounded(slack: Template) -> None:
    [limits] = slack.one("AWS::ApiGateway::Stage")["MethodSettings"]
    assert limits["ThrottlingRateLimit"] >= limits["ThrottlingBurstLimit"] >= 250
    assert limits["ThrottlingRateLimit"] <= 1000
    assert limits.get("DataTraceEnabled") is not True


def test_addresses_and_queues_together_leave_a_new_account_room_for_the_guard_and_the_workflows(
    slack: Template, controller: Template
) -> None:
    limits = controller.one("AWS::ApiGatewayV2::Stage")["DefaultRouteSettings"]
    held = int(limits["ThrottlingBurstLimit"] + limits["ThrottlingRateLimit"] * COLD_SECONDS)
    for template in (slack, controller.part("Events")):
        held += taking(template)["ScalingConfig"]["MaximumConcurrency"]

    assert held <= NEW_ACCOUNT - ROOM


def test_a_stranger_who_knows_the_host_of_the_command_lines_address_does_not_know_its_stage(
    controller: Template,
) -> None:
    stage = controller.one("AWS::ApiGatewayV2::Stage")["StageName"]
    assert stage == {"Fn::Select": [2, {"Fn::Split": ["/", {"Ref": "AWS::StackId"}]}]}
    assert controller.outputs["CommandsUrl"]["Fn::Join"][1][-1] == stage


def taking(template: Template) -> Resource:
    """The mapping from a queue."""
    found = template.properties("AWS::Lambda::EventSourceMapping")
    [mapping] = [each for each in found if "StartingPosition" not in each]
    return mapping


def test_a_request_that_fails_comes_again_for_minutes_and_is_then_left_where_an_alarm_looks(
    slack: Template,
) -> None:
    queue, mapping = slack.one("AWS::SQS::Queue"), taking(slack)
    function = slack.one("AWS::Lambda::Function", FunctionName="gpu-lab-slack")
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    # Lambda asks for six times the function's time-out.
    assert queue["VisibilityTimeout"] >= 6 * function["Timeout"]
    assert "ChannelsDeadLetters" in json.dumps(queue["RedrivePolicy"])
    tries = queue["RedrivePolicy"]["maxReceiveCount"] * queue["VisibilityTimeout"]
    # It is a dead letter before it is forgotten; what nobody takes that long is refused, and its person is told.
    assert tries < queue["MessageRetentionPeriod"]
    assert timedelta(seconds=queue["MessageRetentionPeriod"]) > EXPIRES_AFTER
    # It is forgotten before it counts as new.
    assert timedelta(seconds=queue["MessageRetentionPeriod"]) + OLDEST < SEEN_KEPT


def test_the_function_has_processor_enough_for_a_cold_start(slack: Template) -> None:
    door = slack.one("AWS::Lambda::Function", FunctionName="gpu-lab-slack")
    assert door["Handler"] == "handlers.slack.handler"
    assert door["MemorySize"] >= 1024


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
    controller = synthesise(**WITH_SECRETS).template("gpu-lab-controller")
    slack = controller.part("Slack")

    assert not slack.of_type("AWS::SecretsManager::Secret")
    assert slack.outputs["SlackSecretArn"] == SECRET
    assert may(slack, "slack")["secretsmanager:GetSecretValue"][0]["Resource"] == SECRET
    doctor = allowed(controller, "gpu-lab-ap-northeast-2-doctor")
    assert doctor["secretsmanager:GetSecretValue"][0]["Resource"] == SECRET


def test_only_the_planner_reads_the_secret_of_a_calendar(synthesise: Callable[..., Assembly]) -> None:
    controller = synthesise(**WITH_SECRETS).template("gpu-lab-controller")
    secrets = {
        str(role["RoleName"]).rpartition("-")[2]: [statement["Resource"] for statement in reading]
        for role in controller.properties("AWS::IAM::Role")
        if (reading := allowed(controller, role["RoleName"]).get("secretsmanager:GetSecretValue"))
    }
    assert secrets == {"slack": [SECRET], "board": [SECRET], "doctor": [SECRET], "planner": [COURSE]}


def test_whoever_only_shows_never_holds_up_what_happens(controller: Template) -> None:
    """Tried again for a quarter of an hour and then left where an alarm looks."""
    for template in (controller.part("Slack"), controller.part("Pages")):
        mapping = template.one("AWS::Lambda::EventSourceMapping", StartingPosition="LATEST")
        assert mapping["MaximumRetryAttempts"] == 5
        assert mapping["MaximumRecordAgeInSeconds"] == 900
        assert re.search("dead-?letters", json.dumps(mapping["DestinationConfig"]), re.IGNORECASE)
    [table] = controller.properties("AWS::DynamoDB::Table")
    assert table["StreamSpecification"] == {"StreamViewType": "KEYS_ONLY"}


def prefixes(template: Template) -> list[tuple[str, set[str]]]:
    """Partition prefix and sort key prefixes of whoever listens."""
    mapping = template.one("AWS::Lambda::EventSourceMapping", StartingPosition="LATEST")
    filters = mapping["FilterCriteria"]["Filters"]
    assert 0 < len(filters) <= 5
    found = [json.loads(each["Pattern"])["dynamodb"]["Keys"] for each in filters]
    return [
        (keys["pk"]["S"][0]["prefix"], {one["prefix"] for one in keys.get("sk", {}).get("S", [])})
        for keys in found
    ]


def test_what_the_board_notes_itself_wakes_nobody(controller: Template) -> None:
    for template in (controller.part("Slack"), controller.part("Pages")):
        for pk, sks in prefixes(template):
            assert sks or pk == "PROGRESS#"
            assert not sks & {"MESSAGE#", "PERSON#", "SEEN#"}


def test_what_slack_refuses_does_not_wake_the_board_for_ever(slack: Template) -> None:
    """It notes an offer or an answer before it makes it, and takes the note back: only what is new is told of."""
    mapping = slack.one("AWS::Lambda::EventSourceMapping", StartingPosition="LATEST")
    filters = mapping["FilterCriteria"]["Filters"]
    told = [json.loads(each["Pattern"]) for each in filters]
    line = [each for each in told if "WAIT#" in json.dumps(each)]
    assert [each["eventName"] for each in line] == [["INSERT"]]
    assert all(each["eventName"] == ["INSERT", "MODIFY"] for each in told if each not in line)


def test_no_page_is_drawn_because_a_pool_was_looked_at(controller: Template) -> None:
    """The pool's own item is written by every sweep: an idle lab would pay for pages that nobody reads."""
    assert all("STATE" not in sks for _, sks in prefixes(controller.part("Pages")))


def test_the_bucket_of_pages_is_private_encrypted_and_emptied_before_it_goes(controller: Template) -> None:
    [(name, bucket)] = controller.of_type("AWS::S3::Bucket").items()

    assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["Properties"]["BucketEncryption"]
    assert bucket["DeletionPolicy"] == "Delete"
    [emptied] = controller.of_type("Custom::LamplighterEmptied")
    assert name in controller.needs(emptied)
    # Deleted before it: nobody draws a page into an emptied bucket.
    [listening] = controller.part("Pages").of_type("AWS::Lambda::EventSourceMapping")
    assert emptied in controller.needs(listening)


def test_the_doctor_visits_every_month(controller: Template) -> None:
    assert controller.one("AWS::Events::Rule", Name="gpu-lab-doctor")["ScheduleExpression"] == "rate(30 days)"
