"""What a group has beside its bounds: scheduled actions, which change them by the clock, and a warm pool's settings.

A warm pool is kept and described; the embedded cloud starts no instances in it.
"""

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from local.aws.api.own_services import AwsError, Document
from local.aws.events import schedule_expression

if TYPE_CHECKING:
    from collections.abc import Callable

    from local.aws.autoscaling.group import Group
    from local.aws.timers import Timers

SIZES = ("MinSize", "MaxSize", "DesiredCapacity")
FIELDS = 5
"""Of a recurrence: minute, hour, day of the month, month, day of the week."""


class GroupSettings:
    """The operations of scheduled actions and warm pools, a part of `autoscaling`."""

    _timers: "Timers"
    _now: "Callable[[], datetime]"

    def put_scheduled_update_group_action(self, request: Document) -> Document:
        group, name = self._group(request["AutoScalingGroupName"]), request["ScheduledActionName"]
        if not any(size in request for size in SIZES):
            raise AwsError(
                "ValidationError", "At least one of MinSize, MaxSize and DesiredCapacity is required."
            )
        # The parser of requests leaves out their zone, which is UTC.
        request |= {key: _in_utc(request[key]) for key in ("Time", "StartTime", "EndTime") if key in request}
        start = request.get("StartTime") or request.get("Time")
        if start is not None and start < self._now():
            raise AwsError("ValidationError", "Given start time is in the past.")
        arn = f"{group.arn.replace(':autoScalingGroup:', ':scheduledUpdateGroupAction:')}:scheduledActionName/{name}"
        kept = {key: value for key, value in request.items() if key != "Time"}
        action = {**kept, "ScheduledActionARN": arn} | ({"StartTime": start, "Time": start} if start else {})
        if not start and "Recurrence" not in request:
            raise AwsError("ValidationError", "Either StartTime or Recurrence is required.")
        group.scheduled[name] = action
        self._appoint(group, name, action)
        return {}

    def describe_scheduled_actions(self, request: Document) -> Document:
        named, names = request.get("AutoScalingGroupName"), request.get("ScheduledActionNames") or []
        groups = [self._group(named)] if named else self._groups()
        actions = [action for group in groups for action in group.scheduled.values()]
        chosen = [action for action in actions if not names or action["ScheduledActionName"] in names]
        return {"ScheduledUpdateGroupActions": chosen}

    def delete_scheduled_action(self, request: Document) -> Document:
        group, name = self._group(request["AutoScalingGroupName"]), request["ScheduledActionName"]
        if group.scheduled.pop(name, None) is None:
            raise AwsError("ValidationError", "Scheduled action name not found")
        return {}

    def put_warm_pool(self, request: Document) -> Document:
        group = self._group(request["AutoScalingGroupName"])
        settings = {"MinSize": 0, "PoolState": "Stopped"} | group.warm_pool | request
        group.warm_pool = {key: value for key, value in settings.items() if key != "AutoScalingGroupName"}
        return {}

    def describe_warm_pool(self, request: Document) -> Document:
        warm_pool = self._group(request["AutoScalingGroupName"]).warm_pool
        return {"Instances": []} | ({"WarmPoolConfiguration": warm_pool} if warm_pool else {})

    def delete_warm_pool(self, request: Document) -> Document:
        group = self._group(request["AutoScalingGroupName"])
        if not group.warm_pool:
            raise AwsError("ValidationError", f"No warm pool found for AutoScalingGroup {group.name}")
        group.warm_pool = {}
        return {}

    def _appoint(self, group: "Group", name: str, action: Document) -> None:
        """Carries the action out at its next instant, and at those after it."""
        now = self._now().timestamp()
        start = action["StartTime"].timestamp() if "StartTime" in action else now
        due: float | None = start
        if "Recurrence" in action:
            expression = _recurrence(action["Recurrence"], action.get("TimeZone") or "UTC")
            due = expression.next_after(max(now, start), now)
        ends = action["EndTime"].timestamp() if "EndTime" in action else None
        if due is not None and (ends is None or due <= ends):
            self._timers.at(due, lambda: self._carry_out(group, name, action))

    def _carry_out(self, group: "Group", name: str, action: Document) -> None:
        if group.scheduled.get(name) is not action or all(other is not group for other in self._groups()):
            return
        if "Recurrence" in action:
            self._appoint(group, name, action)
        else:
            del group.scheduled[name]
        sizes = {size: action[size] for size in SIZES if size in action}
        with suppress(AwsError):  # sizes that do not fit the bounds of the group change nothing
            self.update_auto_scaling_group({"AutoScalingGroupName": group.name, **sizes})

    def _group(self, name: str) -> "Group":
        raise NotImplementedError

    def _groups(self) -> "list[Group]":
        raise NotImplementedError

    def update_auto_scaling_group(self, request: Document) -> Document:
        raise NotImplementedError


def _in_utc(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _recurrence(text: str, zone: str) -> schedule_expression.Expression:
    """The recurrence of Unix's cron, in which Sunday is 0 or 7, as Scheduler writes it, where Sunday is 1."""
    fields = text.split()
    if len(fields) != FIELDS or "*" not in (fields[2], fields[4]):
        raise AwsError("ValidationError", f"Given recurrence string:{text} is invalid")
    minute, hour, day, month, weekday = fields
    weekday = re.sub(r"(?<![/\d])\d", lambda number: str(int(number[0]) % 7 + 1), weekday)
    day, weekday = (day, "?") if weekday == "*" else ("?", weekday)
    try:
        return schedule_expression.parse(f"cron({minute} {hour} {day} {month} {weekday} *)", zone)
    except schedule_expression.BadExpression:
        raise AwsError("ValidationError", f"Given recurrence string:{text} is invalid") from None
