"""The whole request to EventBridge Scheduler for a schedule, and how its answers are read."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from lamplighter.adapters.aws.schedules import Schedules
from lamplighter.domain.schedules.drift import Listed
from lamplighter.domain.schedules.schedule import Schedule
from lamplighter.errors import OutsideFailed

ROLE, LETTERS = "arn:aws:iam::111122223333:role/schedules", "arn:aws:sqs:ap-northeast-2:111122223333:letters"
OPEN = "arn:aws:states:ap-northeast-2:111122223333:stateMachine:open"
AT = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
SHOT = Schedule("open-evening", AT, OPEN, "{}", timedelta(minutes=30))
NAMED = {"GroupName": "lab", "Name": "open-evening"}
ASKED: dict[str, Any] = {
    **NAMED,
    "ScheduleExpression": "at(2026-11-20T20:00:00)",
    "ScheduleExpressionTimezone": "UTC",
    "FlexibleTimeWindow": {"Mode": "OFF"},
    "ActionAfterCompletion": "DELETE",
    "State": "ENABLED",
    "Target": {
        "Arn": OPEN,
        "RoleArn": ROLE,
        "Input": "{}",
        "DeadLetterConfig": {"Arn": LETTERS},
        "RetryPolicy": {"MaximumEventAgeInSeconds": 1800, "MaximumRetryAttempts": 20},
    },
}
ARN = {"ScheduleArn": "arn:aws:scheduler:ap-northeast-2:111122223333:schedule/lab/open-evening"}


@pytest.fixture
def scheduler() -> Iterator[Stubber]:
    client = boto3.client(
        "scheduler", "ap-northeast-2", aws_access_key_id="test", aws_secret_access_key="test"
    )
    with Stubber(client) as stub:
        yield stub
        stub.assert_no_pending_responses()


def schedules(scheduler: Stubber) -> Schedules:
    client: Any = scheduler.client
    return Schedules("lab", ROLE, LETTERS, client)


def test_a_new_schedule_is_created_with_every_field(scheduler: Stubber) -> None:
    scheduler.add_response("create_schedule", ARN, ASKED)
    schedules(scheduler).put(SHOT)


def test_one_that_is_there_is_written_over_and_one_that_fired_meanwhile_is_made_anew(
    scheduler: Stubber,
) -> None:
    scheduler.add_client_error("create_schedule", "ConflictException")
    scheduler.add_response("update_schedule", ARN, ASKED)
    scheduler.add_client_error("create_schedule", "ConflictException")
    scheduler.add_client_error("update_schedule", "ResourceNotFoundException")
    scheduler.add_response("create_schedule", ARN, ASKED)

    schedules(scheduler).put(SHOT)
    schedules(scheduler).put(SHOT)


def test_any_other_refusal_to_put_a_schedule_is_said(scheduler: Stubber) -> None:
    scheduler.add_client_error("create_schedule", "ValidationException")
    scheduler.add_client_error("create_schedule", "ConflictException")
    scheduler.add_client_error("update_schedule", "ValidationException")

    for _ in range(2):
        with pytest.raises(OutsideFailed):
            schedules(scheduler).put(SHOT)


def test_a_schedule_reads_as_it_was_put(scheduler: Stubber) -> None:
    scheduler.add_response("get_schedule", ASKED, NAMED)
    assert schedules(scheduler).read("open-evening") == SHOT


def test_a_time_in_another_zone_is_the_same_instant(scheduler: Stubber) -> None:
    seoul = {"ScheduleExpression": "at(2026-11-21T05:00:00)", "ScheduleExpressionTimezone": "Asia/Seoul"}
    bare = {**ASKED, "Target": {"Arn": OPEN, "RoleArn": ROLE}, **seoul}
    scheduler.add_response("get_schedule", bare)
    del bare["FlexibleTimeWindow"]
    scheduler.add_response("get_schedule", bare)

    default = replace(SHOT, input="", retried=timedelta(days=1))
    assert [schedules(scheduler).read("open-evening") for _ in range(2)] == [default, default]


@pytest.mark.parametrize("changed", [
    {"State": "DISABLED"},
    {"FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 5}},
    {"Target": {**ASKED["Target"], "RoleArn": ROLE + "-other"}},
    {"ScheduleExpression": "rate(1 hour)"},
    {"ScheduleExpression": "at(9999-12-31T23:59:59)", "ScheduleExpressionTimezone": "America/New_York"},
])  # fmt: skip
def test_a_schedule_that_would_not_fire_as_it_should_counts_as_none(
    scheduler: Stubber, changed: dict[str, Any]
) -> None:
    scheduler.add_response("get_schedule", {**ASKED, **changed})
    assert schedules(scheduler).read("open-evening") is None


def test_a_schedule_that_is_not_there_is_none_and_any_other_failure_is_said(scheduler: Stubber) -> None:
    scheduler.add_client_error("get_schedule", "ResourceNotFoundException")
    scheduler.add_client_error("get_schedule", "ValidationException")

    assert schedules(scheduler).read("open-evening") is None
    with pytest.raises(OutsideFailed):
        schedules(scheduler).read("open-evening")


def test_what_reads_back_otherwise_is_said_and_what_reads_the_same_is_not(scheduler: Stubber) -> None:
    for found in (ASKED, {**ASKED, "ScheduleExpression": "at(2026-11-20T20:00:01)"}):
        scheduler.add_response("create_schedule", ARN, ASKED)
        scheduler.add_response("get_schedule", found, NAMED)
    scheduler.add_response("create_schedule", ARN, ASKED)
    scheduler.add_client_error("get_schedule", "ResourceNotFoundException")

    schedules(scheduler).put_and_read_back(SHOT)
    put = (
        "scheduler:GetSchedule on lab/open-evening: the schedule was put for 20:00 UTC on 2026-11-20, but it"
    )
    with pytest.raises(OutsideFailed, match=f"^{put} reads 20:00:01 {OPEN} {{}}$"):
        schedules(scheduler).put_and_read_back(SHOT)
    with pytest.raises(OutsideFailed, match=f"^{put} is not there$"):
        schedules(scheduler).put_and_read_back(SHOT)


def test_a_listing_tells_which_schedules_are_on_and_when_each_was_written(scheduler: Stubber) -> None:
    first = {"Name": "a", "State": "ENABLED", "LastModificationDate": AT}
    more = [{"State": "ENABLED"}, {"Name": "b", "State": "DISABLED"}]
    scheduler.add_response(
        "list_schedules", {"Schedules": [first], "NextToken": "more"}, {"GroupName": "lab"}
    )
    scheduler.add_response("list_schedules", {"Schedules": more}, {"GroupName": "lab", "NextToken": "more"})

    assert schedules(scheduler).listed() == [Listed("a", True, AT), Listed("b", False, None)]


@pytest.mark.parametrize(("on", "state"), [(True, "ENABLED"), (False, "DISABLED")])
def test_a_switch_leaves_all_else_as_it_is(scheduler: Stubber, state: str, *, on: bool) -> None:
    scheduler.add_response("get_schedule", {**ASKED, "Arn": ARN["ScheduleArn"], "CreationDate": AT}, NAMED)
    scheduler.add_response("update_schedule", ARN, {**ASKED, "State": state})
    schedules(scheduler).switch("open-evening", on=on)


def test_a_switch_of_a_schedule_that_is_gone_does_nothing_and_any_other_failure_is_said(
    scheduler: Stubber,
) -> None:
    scheduler.add_client_error("get_schedule", "ResourceNotFoundException")
    scheduler.add_client_error("get_schedule", "ValidationException")

    schedules(scheduler).switch("open-evening", on=True)
    with pytest.raises(OutsideFailed):
        schedules(scheduler).switch("open-evening", on=True)


def test_schedules_are_deleted_one_by_one_and_what_is_gone_already_is_fine(scheduler: Stubber) -> None:
    scheduler.add_client_error("delete_schedule", "ResourceNotFoundException")
    scheduler.add_response("delete_schedule", {}, {"GroupName": "lab", "Name": "b"})
    scheduler.add_client_error("delete_schedule", "ValidationException")

    schedules(scheduler).delete(["a", "b"])
    with pytest.raises(OutsideFailed):
        schedules(scheduler).delete(["c"])
