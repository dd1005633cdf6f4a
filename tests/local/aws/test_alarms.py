"""An alarm on a topic's silence, as CloudWatch judges it: at once when it is new, and by what has arrived."""

import json
from datetime import timedelta

import pytest
from moto.sns.models import sns_backends

from tests.local.conftest import Aws


class Watched:
    """A topic that is to be given something every quarter of an hour, and one for pages."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws
        self.alive = aws.call("sns", "create_topic", Name="alive")["TopicArn"]
        self.pages = aws.call("sns", "create_topic", Name="pages")["TopicArn"]

    def alarm(self, missing: str = "breaching") -> None:
        self._aws.call(
            "cloudwatch",
            "put_metric_alarm",
            AlarmName="silent",
            Namespace="AWS/SNS",
            MetricName="NumberOfMessagesPublished",
            Dimensions=[{"Name": "TopicName", "Value": "alive"}],
            Statistic="Sum",
            Period=60,
            EvaluationPeriods=15,
            DatapointsToAlarm=15,
            Threshold=0,
            ComparisonOperator="LessThanOrEqualToThreshold",
            TreatMissingData=missing,
            AlarmActions=[self.pages],
        )

    def let_in(self, service: str) -> None:
        """Gives the topic for pages a policy of its own, in the place of that which SNS gave it."""
        statement = {
            "Effect": "Allow",
            "Principal": {"Service": f"{service}.amazonaws.com"},
            "Action": "sns:Publish",
            "Resource": self.pages,
            "Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}},
        }
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        self._aws.call(
            "sns",
            "set_topic_attributes",
            TopicArn=self.pages,
            AttributeName="Policy",
            AttributeValue=policy,
        )

    def say(self) -> None:
        self._aws.call("sns", "publish", TopicArn=self.alive, Message="alive")

    def pass_minutes(self, minutes: float) -> None:
        self._aws.clock.sleep(minutes * 60)

    def counted(self) -> float:
        """The messages of the last ten minutes, as whoever asks CloudWatch is told."""
        now = self._aws.clock.now()
        found = self._aws.call(
            "cloudwatch",
            "get_metric_statistics",
            Namespace="AWS/SNS",
            MetricName="NumberOfMessagesPublished",
            Dimensions=[{"Name": "TopicName", "Value": "alive"}],
            StartTime=now - timedelta(minutes=10),
            EndTime=now,
            Period=60,
            Statistics=["Sum"],
        )
        return sum(point["Sum"] for point in found["Datapoints"])

    @property
    def state(self) -> str:
        [found] = self._aws.call("cloudwatch", "describe_alarms", AlarmNames=["silent"])["MetricAlarms"]
        return found["StateValue"]

    @property
    def paged(self) -> int:
        return len(sns_backends["123456789012"]["ap-northeast-2"].topics[self.pages].sent_notifications)


@pytest.fixture
def watched(aws: Aws) -> Watched:
    aws.hold()
    return Watched(aws)


def test_a_new_alarm_takes_what_was_never_said_for_silence_and_pages_at_once(watched: Watched) -> None:
    watched.alarm()
    watched.pass_minutes(1)

    assert (watched.state, watched.paged) == ("ALARM", 1)


def test_a_new_alarm_on_a_topic_that_was_heard_of_pages_after_a_silence_only(watched: Watched) -> None:
    watched.say()
    watched.pass_minutes(3)
    watched.alarm()
    watched.pass_minutes(11)
    assert (watched.state, watched.paged) == ("OK", 0)

    watched.pass_minutes(3)

    assert (watched.state, watched.paged) == ("ALARM", 1)


def test_what_was_said_a_moment_ago_is_not_known_yet(watched: Watched) -> None:
    watched.say()
    watched.alarm()
    watched.pass_minutes(1)
    assert (watched.state, watched.paged) == ("ALARM", 1)

    watched.pass_minutes(2)

    assert watched.state == "OK"


def test_who_asks_is_told_of_a_message_once_it_is_counted(watched: Watched) -> None:
    watched.say()
    assert watched.counted() == 0

    watched.pass_minutes(3)

    assert watched.counted() == 1


def test_one_that_passes_over_what_is_missing_never_pages(watched: Watched) -> None:
    watched.alarm("notBreaching")
    watched.pass_minutes(30)

    assert (watched.state, watched.paged) == ("OK", 0)


def test_signs_of_life_every_five_minutes_keep_it_quiet(watched: Watched) -> None:
    watched.say()
    watched.pass_minutes(3)
    watched.alarm()
    for _ in range(12):
        watched.say()
        watched.pass_minutes(5)

    assert (watched.state, watched.paged) == ("OK", 0)


@pytest.mark.parametrize(("service", "paged"), [("cloudwatch", 1), ("events", 0)])
def test_a_page_gets_through_only_where_the_topics_policy_lets_cloudwatch_in(
    watched: Watched, service: str, paged: int
) -> None:
    watched.let_in(service)
    watched.alarm()
    watched.pass_minutes(1)

    assert (watched.state, watched.paged) == ("ALARM", paged)
