"""EventBridge rules that call their targets, by an event's pattern or by their own schedule.

moto keeps buses and rules. `buses.py` has AWS's refusals about them, and `put_events.py` the rules for a request. This
file delivers the events, each target in its own fiber. AWS accepts an event for a bus that does not exist, and loses it
(https://github.com/aws/aws-sdk/issues/186). So does this file.
"""

import uuid
from datetime import UTC, datetime
from functools import partial
from typing import Any

from moto.events.exceptions import ResourceNotFoundException, ValidationException
from moto.events.models import EventBus, EventsBackend, Rule, events_backends

from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext
from local.aws.events import buses, put_events
from local.aws.events.delivery_faults import Delivery, DeliveryFaults
from local.aws.events.events_input import payload
from local.aws.events.put_events import instant
from local.aws.events.schedule_expression import BadExpression, Expression, parse
from local.aws.events.targets import Failure, Target, Targets
from local.aws.iam import Service
from local.aws.timers import Timers
from local.clock_fibers import Appointment

_put_rule = EventsBackend.put_rule


class Events:
    """`install` puts it into moto. A process has one at a time; the latest counts."""

    def __init__(
        self, service_context: ServiceContext, timers: Timers, faults: DeliveryFaults[Delivery] | None = None
    ) -> None:
        self._faults = faults or DeliveryFaults()
        self._service_context = service_context
        self._clock = service_context.clock
        self._timers = timers
        self._targets = Targets(service_context)
        self._due: dict[str, Appointment] = {}

    def install(self) -> None:
        events = self

        def send_to_targets(rule: Rule, original_event: Any, transform_input: bool = True) -> None:
            event = _as_sent(original_event)
            patterned = rule.event_pattern.dump() is not None
            if patterned and rule.state == "ENABLED" and rule.event_pattern.matches_event(event):  # type: ignore[arg-type]
                events._send(rule, event, transform_input)

        def put_rule(backend: EventsBackend, *args: Any, **kwargs: Any) -> Rule:
            rule = _put_rule(backend, *args, **kwargs)
            if rule.scheduled_expression:
                events._arm(backend.event_buses["default"], rule)
            return rule

        def put(backend: EventsBackend, entries: list[Document]) -> list[Document]:
            put_events.check(entries)
            return [put_events.refusal(entry) or events._taken(backend, entry) for entry in entries]

        def tell(entry: Document) -> None:
            events._taken(events_backends[service_context.account_id][service_context.region], entry)

        service_context = self._service_context
        service_context.tell = tell
        buses.install()
        Rule.send_to_targets = send_to_targets  # type: ignore[method-assign, assignment]
        EventsBackend.put_rule = put_rule  # type: ignore[method-assign, assignment]
        EventsBackend.put_events = put  # type: ignore[method-assign, assignment]

    def _taken(self, backend: EventsBackend, entry: Document) -> Document:
        """Gives the event of an entry to the rules of its bus, and returns the answer for the entry."""
        context = self._service_context
        event = put_events.event(entry, context.account_id, context.region, self._clock.time())
        try:
            bus = backend.describe_event_bus(entry.get("EventBusName") or "default")
        except ResourceNotFoundException:
            bus = None
        for rule in list(bus.rules.values()) if bus is not None else ():
            rule.send_to_targets(event)  # type: ignore[arg-type]
        return {"EventId": event["id"]}

    def _arm(self, bus: EventBus, rule: Rule) -> None:
        """Rates count from here."""
        before = self._due.pop(rule.name, None)
        if before is not None:
            before.cancel()
        try:
            expression = parse(rule.scheduled_expression or "")
        except BadExpression as error:
            bus.rules.pop(rule.name, None)
            raise ValidationException("Parameter ScheduleExpression is not valid.") from error
        now = self._clock.time()
        self._await(bus, rule, expression, now, now)

    def _await(self, bus: EventBus, rule: Rule, expression: Expression, created: float, after: float) -> None:
        due = expression.next_after(after, created)
        if due is None:
            return

        def tick() -> None:
            present = bus.rules.get(rule.name)
            if present is not rule:
                return  # the rule was deleted, or made again, and the new one has its own timer
            if rule.state == "ENABLED":
                self._send(rule, self._scheduled_event(rule, due), transform=True)
            self._await(bus, rule, expression, created, due)

        self._due[rule.name] = self._timers.at(due, tick)

    def _scheduled_event(self, rule: Rule, due: float) -> Document:
        return {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": self._service_context.account_id,
            "time": instant(due),
            "region": self._service_context.region,
            "resources": [rule.arn],
            "detail": {},
        }

    def _send(self, rule: Rule, event: Document, transform: bool) -> None:
        for target in list(rule.targets):
            if transform and ":archive/" in target["Arn"]:
                continue
            delivery = Delivery(rule.event_bus_name, rule.name, target["Arn"], event)
            for delay in self._faults.delays(delivery):
                self._clock.spawn(f"rule-{rule.name}", partial(self._deliver_in, delay, rule, target, event))

    def _deliver_in(self, delay: float, rule: Rule, target: Document, event: Document) -> None:
        if delay:
            self._clock.sleep(delay)
        self._deliver(rule, target, event)

    def _deliver(self, rule: Rule, target: Document, event: Document) -> None:
        retry = target.get("RetryPolicy") or {}
        more = target.get("SqsParameters") or {}
        if target["Arn"].split(":")[2] == "events":
            more = {"Source": event["source"], "DetailType": event["detail-type"]}

        def letter(failure: Failure) -> dict[str, str]:
            return {
                "RULE_ARN": rule.arn,
                "TARGET_ARN": target["Arn"],
                "ERROR_CODE": failure.code,
                "ERROR_MESSAGE": failure.message[:1024],
                "EXHAUSTED_RETRY_CONDITION": failure.exhausted,
                "RETRY_ATTEMPTS": str(failure.retries),
            }

        self._targets.deliver(
            Target(
                arn=target["Arn"],
                payload=payload(target, event, (rule.name, rule.arn)),
                role=target.get("RoleArn") or "",
                by=Service("events.amazonaws.com", rule.arn),
                attempts=retry.get("MaximumRetryAttempts", 185),
                age=retry.get("MaximumEventAgeInSeconds", 86400),
                queue=(target.get("DeadLetterConfig") or {}).get("Arn", ""),
                more=tuple(more.items()),
            ),
            letter,
        )


def _as_sent(event: Any) -> Document:
    """The event as AWS writes it, with its time as text."""
    sent: Document = {key: value for key, value in event.items() if key != "ingestion-time"}
    moment = sent.get("time")
    if isinstance(moment, int | float):
        sent["time"] = instant(moment)
    elif isinstance(moment, datetime):
        sent["time"] = instant(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp())
    return sent
