"""EventBridge Scheduler: one-time schedules of one group, which run within a minute of their instant.

A failed target is tried again until the event is too old. Then it becomes a dead letter.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from local.aws.events.schedule_expression import parse
from tests.world.aws.event_queue import EventQueue
from tests.world.outside import NotInTheWorld, refused

Json = dict[str, Any]
Done = Callable[[str | None], None]
Target = Callable[[str, Json, Done], None]
FIELDS = {
    "GroupName",
    "Name",
    "ScheduleExpression",
    "ScheduleExpressionTimezone",
    "FlexibleTimeWindow",
    "ActionAfterCompletion",
    "State",
    "Target",
}
LATE = 60.0
FIRST_RETRY, LONGEST_RETRY = 20.0, 600.0


@dataclass
class Entry:
    asked: Json
    at: datetime
    put: datetime

    @property
    def daily(self) -> bool:
        return bool(self.asked["ScheduleExpression"].startswith("cron("))


class Scheduler:
    """`deliver` takes a target, its input and a callback for the error (None: no error)."""

    def __init__(self, event_queue: EventQueue, chance: random.Random) -> None:
        self._event_queue = event_queue
        # A random source of its own: how often our code writes a schedule changes no other random choice.
        self._lateness = chance.getrandbits(64)
        self.entries: dict[str, Entry] = {}
        self.deliver: Target = lambda _arn, _input, _done: None
        self.fired: Callable[[str], None] = lambda _name: None
        self.dead_letters: list[str] = []
        self.version = 0

    def create_schedule(self, **asked: Any) -> Json:
        if asked["Name"] in self.entries:
            raise refused("ConflictException", f"Schedule {asked['Name']} already exists.", "CreateSchedule")
        self._put(asked)
        return {}

    def update_schedule(self, **asked: Any) -> Json:
        self._found(asked["Name"])
        self._put(asked)
        return {}

    def get_schedule(self, *, GroupName: str, Name: str) -> Json:
        return {**self._found(Name).asked}

    def list_schedules(self, *, GroupName: str, NamePrefix: str = "") -> Json:
        names = sorted(name for name in self.entries if name.startswith(NamePrefix))
        return {
            "Schedules": [
                {
                    "Name": name,
                    "GroupName": GroupName,
                    "State": self.entries[name].asked["State"],
                    "LastModificationDate": self.entries[name].put,
                }
                for name in names
            ]
        }

    def delete_schedule(self, *, GroupName: str, Name: str) -> Json:
        self._found(Name)
        del self.entries[Name]
        self.version += 1
        return {}

    def _put(self, asked: Json) -> None:
        strange = set(asked) - FIELDS
        expression = asked["ScheduleExpression"]
        if strange or len(asked["Name"]) > 64:
            raise NotInTheWorld(f"the world does not know such a schedule: {expression} {strange}")
        at = self._due(asked)
        self.version += 1
        entry = Entry(asked, at, self._event_queue.now)
        self.entries[asked["Name"]] = entry
        late = random.Random(f"{self._lateness} {asked['Name']} {expression}").uniform(0.0, LATE)
        self._event_queue.at(at + timedelta(seconds=late), lambda: self._fire(entry))

    def _due(self, asked: Json) -> datetime:
        """When the schedule is due next."""
        expression = parse(asked["ScheduleExpression"], asked["ScheduleExpressionTimezone"])
        now = self._event_queue.now.timestamp()
        due = expression.next_after(now, now)
        if due is None:
            raise refused(
                "ValidationException", f"{asked['ScheduleExpression']} is in the past", "CreateSchedule"
            )
        return datetime.fromtimestamp(due, UTC)

    def _fire(self, entry: Entry) -> None:
        name = entry.asked["Name"]
        if self.entries.get(name) is not entry:
            return
        if entry.daily:
            self._put(entry.asked)
        if entry.asked["State"] == "ENABLED":
            self.fired(name)
            self._try(entry, FIRST_RETRY)

    def _try(self, entry: Entry, wait: float) -> None:
        target = entry.asked["Target"]

        def done(error: str | None) -> None:
            age = self._event_queue.now - entry.at
            longest = timedelta(seconds=target["RetryPolicy"]["MaximumEventAgeInSeconds"])
            if error is not None and age + timedelta(seconds=wait) < longest:
                self._event_queue.after(wait, lambda: self._try(entry, min(wait * 2, LONGEST_RETRY)))
                return
            if error is not None:
                self.dead_letters.append(f"{entry.asked['Name']}: {error}")
            if self.entries.get(entry.asked["Name"]) is entry:
                del self.entries[entry.asked["Name"]]
                self.version += 1

        self.deliver(target["Arn"], json.loads(target["Input"]), done)

    def _found(self, name: str) -> Entry:
        if name not in self.entries:
            raise refused("ResourceNotFoundException", f"Schedule {name} does not exist.", "Schedule", 404)
        return self.entries[name]
