"""EventBridge Scheduler: groups, and schedules that run at virtual times with the credentials of their role.

scheduler_rules.py has what it refuses, and targets.py how it calls a target.
"""

import random
import threading
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime

from local.aws.api.own_services import AwsError, Document
from local.aws.api.service_context import ServiceContext
from local.aws.events.schedule_expression import At, Expression
from local.aws.events.scheduler_rules import check_name, check_target, check_window, checked_expression
from local.aws.events.targets import Failure, Target, Targets
from local.aws.iam import Service
from local.aws.timers import Timers
from local.clock_fibers import Appointment

#: A schedule runs within its minute; here within this many seconds.
LATENESS_SECONDS = 2.0
DEFAULT_RETRY = {"MaximumEventAgeInSeconds": 86400, "MaximumRetryAttempts": 185}


@dataclass
class Schedule:
    """`document` is what GetSchedule returns; rates count from `created`, an epoch."""

    document: Document
    expression: Expression
    created: float
    appointment: Appointment | None = None


@dataclass
class Group:
    name: str
    arn: str
    created: datetime
    tags: list[Document] = field(default_factory=list)
    schedules: dict[str, Schedule] = field(default_factory=dict)

    def document(self) -> Document:
        return {
            "Arn": self.arn,
            "Name": self.name,
            "State": "ACTIVE",
            "CreationDate": self.created,
            "LastModificationDate": self.created,
        }


@dataclass(frozen=True)
class Firing:
    """One invocation: when it was due and when it was made (epochs), and the reason if it failed."""

    schedule: str
    due: float
    fired: float
    failure: Failure | None


class Scheduler:
    """Public methods with the names of boto3's operations are operations of `scheduler`."""

    def __init__(self, service_context: ServiceContext, timers: Timers, seed: int = 0) -> None:
        self._service_context = service_context
        self._clock = service_context.clock
        self._timers = timers
        self._targets = Targets(service_context)
        self._chance = random.Random(seed)  # noqa: S311 (jitter)
        self._lock = threading.RLock()
        self._groups: dict[str, Group] = {}
        self.firings: list[Firing] = []
        self._new_group("default", [])

    def create_schedule_group(self, request: Document) -> Document:
        name = request["Name"]
        check_name(name)
        with self._lock:
            if name in self._groups:
                raise AwsError("ConflictException", f"Schedule group {name} already exists.")
            return {"ScheduleGroupArn": self._new_group(name, request.get("Tags") or []).arn}

    def get_schedule_group(self, request: Document) -> Document:
        return self._group(request["Name"]).document()

    def list_schedule_groups(self, request: Document) -> Document:
        prefix = request.get("NamePrefix") or ""
        groups = [group.document() for name, group in self._groups.items() if name.startswith(prefix)]
        return {"ScheduleGroups": groups}

    def delete_schedule_group(self, request: Document) -> Document:
        """Deletes a group with all its schedules."""
        if request["Name"] == "default":
            raise AwsError("ValidationException", "The default schedule group cannot be deleted.")
        with self._lock:
            group = self._group(request["Name"])
            for schedule in group.schedules.values():
                _disarm(schedule)
            del self._groups[group.name]
        return {}

    def create_schedule(self, request: Document) -> Document:
        check_name(request["Name"])
        schedule = self._checked(request)
        with self._lock:
            group = self._group(schedule.document["GroupName"])
            if request["Name"] in group.schedules:
                raise AwsError("ConflictException", f"Schedule {request['Name']} already exists.")
            group.schedules[request["Name"]] = schedule
            self._arm(schedule)
        return {"ScheduleArn": schedule.document["Arn"]}

    def update_schedule(self, request: Document) -> Document:
        """Changes a schedule. A value that is not given goes back to its default, as on AWS."""
        known = self._schedule(request)
        schedule = self._checked(request)
        schedule.document["CreationDate"], schedule.created = known.document["CreationDate"], known.created
        with self._lock:
            _disarm(known)
            self._group(schedule.document["GroupName"]).schedules[request["Name"]] = schedule
            self._arm(schedule)
        return {"ScheduleArn": schedule.document["Arn"]}

    def get_schedule(self, request: Document) -> Document:
        return self._schedule(request).document

    def list_schedules(self, request: Document) -> Document:
        wanted, prefix = request.get("GroupName"), request.get("NamePrefix") or ""
        groups = [self._group(wanted)] if wanted else list(self._groups.values())
        keys = ("Arn", "Name", "GroupName", "State", "CreationDate", "LastModificationDate")
        found = [
            {
                **{key: schedule.document[key] for key in keys},
                "Target": {"Arn": schedule.document["Target"]["Arn"]},
            }
            for group in groups
            for name, schedule in sorted(group.schedules.items())
            if name.startswith(prefix) and request.get("State") in (None, schedule.document["State"])
        ]
        first = int(request.get("NextToken") or 0)
        last = first + (request.get("MaxResults") or 100)
        return {"Schedules": found[first:last], "NextToken": str(last) if last < len(found) else None}

    def delete_schedule(self, request: Document) -> Document:
        with self._lock:
            schedule = self._schedule(request)
            _disarm(schedule)
            del self._group(schedule.document["GroupName"]).schedules[request["Name"]]
        return {}

    def tag_resource(self, request: Document) -> Document:
        group = self._by_arn(request["ResourceArn"])
        keys = {tag["Key"] for tag in request["Tags"]}
        group.tags = [tag for tag in group.tags if tag["Key"] not in keys] + request["Tags"]
        return {}

    def untag_resource(self, request: Document) -> Document:
        group = self._by_arn(request["ResourceArn"])
        group.tags = [tag for tag in group.tags if tag["Key"] not in request["TagKeys"]]
        return {}

    def list_tags_for_resource(self, request: Document) -> Document:
        return {"Tags": self._by_arn(request["ResourceArn"]).tags}

    def _new_group(self, name: str, tags: list[Document]) -> Group:
        arn = self._service_context.arn("scheduler", f"schedule-group/{name}")
        group = self._groups[name] = Group(name, arn, self._clock.now(), tags)
        return group

    def _checked(self, request: Document) -> Schedule:
        expression = checked_expression(request, self._clock.time())
        check_window(request["FlexibleTimeWindow"])
        group, now = request.get("GroupName") or "default", self._clock.now()
        check_target(request["Target"], self._service_context, self._service(group))
        target = dict(request["Target"])
        target["RetryPolicy"] = {**DEFAULT_RETRY, **(target.get("RetryPolicy") or {})}
        document = {
            "Arn": self._service_context.arn("scheduler", f"schedule/{group}/{request['Name']}"),
            "GroupName": group,
            "Name": request["Name"],
            "ScheduleExpression": request["ScheduleExpression"],
            "ScheduleExpressionTimezone": request.get("ScheduleExpressionTimezone") or "UTC",
            "StartDate": request.get("StartDate"),
            "EndDate": request.get("EndDate"),
            "Description": request.get("Description"),
            "State": request.get("State") or "ENABLED",
            "KmsKeyArn": request.get("KmsKeyArn"),
            "Target": target,
            "FlexibleTimeWindow": request["FlexibleTimeWindow"],
            "ActionAfterCompletion": request.get("ActionAfterCompletion") or "NONE",
            "CreationDate": now,
            "LastModificationDate": now,
        }
        return Schedule(document, expression, now.timestamp())

    def _service(self, group: str) -> Service:
        """Scheduler as the trust policy of a schedule's role sees it."""
        arn = self._service_context.arn("scheduler", f"schedule-group/{group}")
        return Service("scheduler.amazonaws.com", arn)

    def _arm(self, schedule: Schedule, after: float | None = None) -> None:
        document = schedule.document
        start = _epoch(document["StartDate"])
        begin = max(self._clock.time() if after is None else after, start or 0.0)
        due = schedule.expression.next_after(begin, schedule.created)
        end = _epoch(document["EndDate"])
        if document["State"] != "ENABLED" or due is None or (end is not None and due > end):
            return
        window = document["FlexibleTimeWindow"].get("MaximumWindowInMinutes", 0) * 60
        late = self._chance.uniform(0, window or LATENESS_SECONDS)
        schedule.appointment = self._timers.at(due + late, lambda: self._fire(schedule, due))

    def _fire(self, schedule: Schedule, due: float) -> None:
        once = isinstance(schedule.expression, At)
        if not once:
            self._arm(schedule, due)
        name = f"schedule-{schedule.document['Name']}"
        self._clock.spawn(name, lambda: self._deliver(schedule, due, once))

    def _deliver(self, schedule: Schedule, due: float, once: bool) -> None:
        document, target = schedule.document, schedule.document["Target"]
        moment = datetime.fromtimestamp(due, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        execution, retry = str(uuid.uuid4()), target["RetryPolicy"]
        known = {
            "<aws.scheduler.schedule-arn>": document["Arn"],
            "<aws.scheduler.scheduled-time>": moment,
            "<aws.scheduler.execution-id>": execution,
            "<aws.scheduler.attempt-number>": "1",
        }
        payload = target.get("Input") or ""
        for placeholder, value in known.items():
            payload = payload.replace(placeholder, value)
        more = (target.get("SqsParameters") or {}) | (target.get("EventBridgeParameters") or {})

        def letter(failure: Failure) -> dict[str, str]:
            return {
                "ERROR_CODE": failure.code,
                "ERROR_MESSAGE": failure.message[:1024],
                "EXECUTION_ID": execution,
                "EXHAUSTED_RETRY_CONDITION": failure.exhausted,
                "IS_PAYLOAD_TRUNCATED": "false",
                "RETRY_ATTEMPTS": str(failure.retries),
                "SCHEDULED_TIME": moment,
                "SCHEDULE_ARN": document["Arn"],
                "TARGET_ARN": target["Arn"],
            }

        fired = self._clock.time()
        failure = self._targets.deliver(
            Target(
                arn=target["Arn"],
                payload=payload,
                role=target["RoleArn"],
                by=self._service(document["GroupName"]),
                attempts=retry["MaximumRetryAttempts"],
                age=retry["MaximumEventAgeInSeconds"],
                queue=(target.get("DeadLetterConfig") or {}).get("Arn", ""),
                more=tuple(more.items()),
            ),
            letter,
        )
        if once and document["ActionAfterCompletion"] == "DELETE":
            self._remove(schedule)
        self.firings.append(Firing(document["Name"], due, fired, failure))
        self._clock.stir()  # for callers that wait for an invocation

    def _remove(self, schedule: Schedule) -> None:
        """Removes it, unless it was changed or made again in the meantime."""
        with self._lock:
            group = self._groups.get(schedule.document["GroupName"])
            if group and group.schedules.get(schedule.document["Name"]) is schedule:
                del group.schedules[schedule.document["Name"]]

    def _group(self, name: str) -> Group:
        group = self._groups.get(name)
        if group is None:
            raise AwsError("ResourceNotFoundException", f"Schedule group {name} does not exist.")
        return group

    def _by_arn(self, arn: str) -> Group:
        return self._group(arn.rpartition("/")[2])

    def _schedule(self, request: Document) -> Schedule:
        schedule = self._group(request.get("GroupName") or "default").schedules.get(request["Name"])
        if schedule is None:
            raise AwsError("ResourceNotFoundException", f"Schedule {request['Name']} does not exist.")
        return schedule


def _disarm(schedule: Schedule) -> None:
    if schedule.appointment is not None:
        schedule.appointment.cancel()


def _epoch(moment: datetime | None) -> float | None:
    """moto gives naive instants in UTC."""
    return None if moment is None else moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
