"""CloudWatch alarms on the messages of SNS topics, judged in virtual time, with their actions.

moto keeps alarms and never evaluates them. Here a new alarm is judged at once, as on AWS: CloudWatch sets it to
INSUFFICIENT_DATA, evaluates it and takes the actions of the new state (API reference, PutMetricAlarm). Data that was
missing before the alarm existed counts as missing. The count of a topic arrives some minutes late. Alarms on other
metrics than `NumberOfMessagesPublished` keep their first state. An alarm can publish to a topic only if the topic's own
policy allows CloudWatch.
"""

import json
import logging
import operator
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from moto.cloudwatch.models import Alarm, CloudWatchBackend, MetricDatum, cloudwatch_backends
from moto.sns.models import Topic

from local.aws.api.service_context import ServiceContext
from local.aws.iam import Service, may
from local.aws.timers import Timers

LOG = logging.getLogger(__name__)
NAMESPACE, METRIC = "AWS/SNS", "NumberOfMessagesPublished"
#: SNS sends its counts every minute (SNS developer guide, monitoring topics with CloudWatch). CloudWatch shows them
#: some time later; AWS does not publish how much later.
LATE_SECONDS = 120.0
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanOrEqualToThreshold": operator.le,
    "LessThanThreshold": operator.lt,
}
_plain_put = CloudWatchBackend.put_metric_alarm
_plain_publish = Topic.publish


class Alarms:
    """The alarms of one embedded AWS."""

    def __init__(self, around: ServiceContext, timers: Timers) -> None:
        self._around, self._timers = around, timers

    def install(self) -> None:
        """Installs it for every backend of this process. It may be called again; the last one counts."""
        judge, count = self._judge, self._count

        def put(backend: CloudWatchBackend, *given: Any, **named: Any) -> Alarm:
            before = dict(backend.alarms)
            alarm = _plain_put(backend, *given, **named)
            old = before.get(alarm.name)
            alarm.state_value = old.state_value if old else "INSUFFICIENT_DATA"
            judge(alarm.name)
            return alarm

        def publish(topic: Topic, *given: Any, **named: Any) -> str:
            count(topic.name)
            return _plain_publish(topic, *given, **named)

        CloudWatchBackend.put_metric_alarm = put  # type: ignore[method-assign,assignment]
        Topic.publish = publish  # type: ignore[method-assign,assignment]

    def _backend(self) -> CloudWatchBackend:
        found: CloudWatchBackend = cloudwatch_backends[self._around.account_id][self._around.region]
        return found

    def _now(self) -> datetime:
        return self._around.clock.now().astimezone(UTC)

    def _count(self, topic: str) -> None:
        """The count of a message arrives later, with the minute in which the message was sent."""
        dimension = {"Name": "TopicName", "Value": topic}
        # moto's times have no zone, and are compared with the times of a request.
        sent = self._now().replace(tzinfo=None)
        datum = {"MetricName": METRIC, "Dimensions": [dimension], "Value": 1, "Timestamp": sent}

        def arrives() -> None:
            self._backend().put_metric_data(NAMESPACE, [datum])
            for alarm in list(self._backend().alarms.values()):
                if _watches(alarm) and _topic(alarm) == topic:
                    self._judge(alarm.name)

        self._timers.after(LATE_SECONDS, arrives)

    def _judge(self, name: str) -> None:
        """Judges the alarm next, and again when the newest count has left the alarm's window."""
        self._timers.soon(lambda: self._judged(name))

    def _judged(self, name: str) -> None:
        alarm = self._backend().alarms.get(name)
        if alarm is None or not _watches(alarm):
            return
        now = self._now().timestamp()
        counts = self._counts(alarm, now)
        state = _state(alarm, counts)
        if state != alarm.state_value:
            self._change(alarm, state)
        newest = next((age for age, count in enumerate(counts) if count is not None), None)
        if newest is not None:
            self._timers.after((alarm.evaluation_periods - newest) * alarm.period, lambda: self._judged(name))

    def _counts(self, alarm: Alarm, now: float) -> list[float | None]:
        """The sum of each period of the alarm, the newest first; None for a period without a count."""
        sums: list[float | None] = [None] * alarm.evaluation_periods
        for datum in self._backend().metric_data:
            about = {each.name: each.value for each in datum.dimensions}
            if (datum.namespace, datum.name, about.get("TopicName")) != (NAMESPACE, METRIC, _topic(alarm)):
                continue
            age = int((now - datum.timestamp.replace(tzinfo=UTC).timestamp()) // alarm.period)
            if 0 <= age < len(sums) and isinstance(datum, MetricDatum):
                sums[age] = (sums[age] or 0) + datum.value
        return sums

    def _change(self, alarm: Alarm, state: str) -> None:
        said = {
            "AlarmName": alarm.name,
            "AlarmDescription": alarm.description,
            "AlarmArn": alarm.alarm_arn,
            "OldStateValue": alarm.state_value,
            "NewStateValue": state,
            "StateChangeTime": self._now().isoformat(),
        }
        alarm.update_state("Threshold Crossed", "{}", state)
        actions = {
            "ALARM": alarm.alarm_actions,
            "OK": alarm.ok_actions,
            "INSUFFICIENT_DATA": alarm.insufficient_data_actions,
        }
        cloudwatch = Service("cloudwatch.amazonaws.com", alarm.alarm_arn).caller()
        for arn in actions[state] if alarm.actions_enabled else ():
            if not may(cloudwatch, "sns:Publish", arn, self._around.state):
                LOG.warning("CloudWatch may not publish to %s: its policy does not let it in", arn)
                continue
            message = {"TopicArn": arn, "Subject": f'{state}: "{alarm.name}"', "Message": json.dumps(said)}
            self._around.call("sns", "publish", message)


def _watches(alarm: Alarm) -> bool:
    return (alarm.namespace, alarm.metric_name) == (NAMESPACE, METRIC)


def _topic(alarm: Alarm) -> str:
    named = {each.name: each.value for each in alarm.dimensions}
    return str(named.get("TopicName", ""))


def _state(alarm: Alarm, counts: list[float | None]) -> str:
    """The state by the CloudWatch user guide, "Configuring how CloudWatch alarms treat missing data", for these periods
    only.
    """
    missing = alarm.treat_missing_data or "missing"
    breaches = _COMPARED[alarm.comparison_operator]
    judged = [breaches(count, alarm.threshold) for count in counts if count is not None]
    lacking = len(counts) - len(judged)
    if not judged and missing in {"missing", "ignore"}:
        return "INSUFFICIENT_DATA" if missing == "missing" else str(alarm.state_value)
    breaching = sum(judged) + (lacking if missing == "breaching" else 0)
    return "ALARM" if breaching >= (alarm.datapoints_to_alarm or alarm.evaluation_periods) else "OK"
