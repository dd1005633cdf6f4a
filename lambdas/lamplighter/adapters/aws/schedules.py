"""EventBridge Scheduler: the one-time schedules of a lab, in its one schedule group.

Puts a schedule so that it is exactly as asked (and reads it back where that matters), lists and
deletes; which schedules should exist is decided by the domain.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.border import border
from lamplighter.domain.schedules.drift import Listed
from lamplighter.domain.schedules.schedule import Schedule
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason

if TYPE_CHECKING:
    from mypy_boto3_scheduler import EventBridgeSchedulerClient
    from mypy_boto3_scheduler.type_defs import CreateScheduleInputTypeDef, GetScheduleOutputTypeDef

RETRY_ATTEMPTS = 20
UPDATABLE = frozenset(
    {
        "ActionAfterCompletion",
        "Description",
        "EndDate",
        "FlexibleTimeWindow",
        "GroupName",
        "KmsKeyArn",
        "Name",
        "ScheduleExpression",
        "ScheduleExpressionTimezone",
        "StartDate",
        "Target",
    }
)


@border
class Schedules:
    """The schedules of one group; those that this object puts act with one role."""

    def __init__(
        self, group: str, role: str, dead_letters: str, scheduler: "EventBridgeSchedulerClient | None" = None
    ) -> None:
        self.group = group
        self._role = role
        self._dead_letters = dead_letters
        self._scheduler: EventBridgeSchedulerClient = scheduler or client("scheduler")

    def put(self, schedule: Schedule) -> None:
        """Creates or updates the schedule; putting it again changes nothing."""
        asked = self._asked(schedule)
        # UpdateSchedule resets fields that it does not get, so every call has all fields.
        with outside("scheduler:CreateSchedule", f"{self.group}/{schedule.name}"):
            try:
                self._scheduler.create_schedule(**asked)
            except self._scheduler.exceptions.ClientError as error:
                if error_code(error) != "ConflictException":
                    raise
            else:
                return
        with outside("scheduler:UpdateSchedule", f"{self.group}/{schedule.name}"):
            try:
                self._scheduler.update_schedule(**asked)
            except self._scheduler.exceptions.ClientError as error:
                # It fired and removed itself between the two calls.
                if error_code(error) != "ResourceNotFoundException":
                    raise
                self._scheduler.create_schedule(**asked)

    def put_and_read_back(self, schedule: Schedule) -> None:
        """Puts the schedule and reads it back: it must exist, be enabled, and have its instant and target."""
        self.put(schedule)
        found = self.read(schedule.name)
        if found != schedule:
            call, subject = "scheduler:GetSchedule", f"{self.group}/{schedule.name}"
            raise OutsideFailed(
                reason("aws.schedule.missing", call=call, subject=subject, at=schedule.at)
                if found is None
                else reason(
                    "aws.schedule.differs",
                    call=call,
                    subject=subject,
                    at=schedule.at,
                    found=f"{found.at:%H:%M:%S} {found.target} {found.input}",
                ),
                call,
                subject,
            )

    def read(self, name: str) -> Schedule | None:
        """The schedule of that name as AWS has it; None if it does not exist or would not fire as it should.

        One that is switched off, recurs, fires somewhere in a window or acts with another role counts as none.
        """
        with outside("scheduler:GetSchedule", f"{self.group}/{name}"):
            try:
                found = self._scheduler.get_schedule(GroupName=self.group, Name=name)
            except self._scheduler.exceptions.ClientError as error:
                if error_code(error) == "ResourceNotFoundException":
                    return None
                raise
        sound = (
            found.get("State") != "DISABLED"
            and found.get("FlexibleTimeWindow", {}).get("Mode", "OFF") == "OFF"
            and found["Target"]["RoleArn"] == self._role
        )
        at = _instant(found)
        return _schedule(found, at) if sound and at else None

    def listed(self) -> "list[Listed]":
        """Every schedule of the group, by ListSchedules: one call for each hundred."""
        found: list[Listed] = []
        with outside("scheduler:ListSchedules", self.group):
            for page in self._scheduler.get_paginator("list_schedules").paginate(GroupName=self.group):
                found += [
                    Listed(one["Name"], one.get("State") != "DISABLED", one.get("LastModificationDate"))
                    for one in page["Schedules"]
                    if isinstance(one.get("Name"), str)
                ]
        return found

    def switch(self, name: str, *, on: bool) -> None:
        """Enables or disables a schedule and changes nothing else; a schedule that does not exist is ignored."""
        with outside("scheduler:UpdateSchedule", f"{self.group}/{name}"):
            try:
                found = self._scheduler.get_schedule(GroupName=self.group, Name=name)
            except self._scheduler.exceptions.ClientError as error:
                if error_code(error) == "ResourceNotFoundException":
                    return
                raise
            # UpdateSchedule resets fields that it does not get.
            asked = {key: value for key, value in found.items() if key in UPDATABLE}
            self._scheduler.update_schedule(**{**asked, "State": "ENABLED" if on else "DISABLED"})  # type: ignore[arg-type]

    def delete(self, names: Iterable[str]) -> None:
        """Deletes the schedules; one that does not exist is ignored."""
        for name in names:
            with outside("scheduler:DeleteSchedule", f"{self.group}/{name}"):
                try:
                    self._scheduler.delete_schedule(GroupName=self.group, Name=name)
                except self._scheduler.exceptions.ClientError as error:
                    if error_code(error) != "ResourceNotFoundException":
                        raise

    def _asked(self, schedule: Schedule) -> "CreateScheduleInputTypeDef":
        return {
            "GroupName": self.group,
            "Name": schedule.name,
            "ScheduleExpression": f"at({schedule.at.astimezone(UTC):%Y-%m-%dT%H:%M:%S})",
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ActionAfterCompletion": "DELETE",
            "State": "ENABLED",
            "Target": {
                "Arn": schedule.target,
                "RoleArn": self._role,
                "Input": schedule.input,
                "DeadLetterConfig": {"Arn": self._dead_letters},
                "RetryPolicy": {
                    "MaximumEventAgeInSeconds": int(schedule.retried.total_seconds()),
                    "MaximumRetryAttempts": RETRY_ATTEMPTS,
                },
            },
        }


def _instant(found: "GetScheduleOutputTypeDef") -> datetime | None:
    """The one instant at which it fires; None where it recurs, or somebody moved it past every calendar."""
    at = found["ScheduleExpression"].removeprefix("at(").removesuffix(")")
    zone = found.get("ScheduleExpressionTimezone", "UTC")
    try:
        return (
            datetime.fromisoformat(at)
            .replace(tzinfo=UTC if zone == "UTC" else ZoneInfo(zone))
            .astimezone(UTC)
        )
    except (ValueError, OverflowError):
        return None


def _schedule(found: "GetScheduleOutputTypeDef", at: datetime) -> Schedule:
    target = found["Target"]
    return Schedule(
        name=found["Name"],
        at=at,
        target=target["Arn"],
        input=target.get("Input", ""),
        retried=timedelta(seconds=target.get("RetryPolicy", {}).get("MaximumEventAgeInSeconds", 86400)),
    )
