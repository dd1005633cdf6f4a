"""The lab's bus as others see it: somebody who puts events in a role, and somebody who hears every event."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import ClientError

from tests.scenarios.lab_day import LabDay

if TYPE_CHECKING:
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

LOOK_EVERY = timedelta(seconds=30)


class Sender:
    """A role of the account that puts events. Its own policies allow every event of every bus, if none are given."""

    def __init__(self, day: LabDay, name: str, *policies: Mapping[str, object]) -> None:
        iam, account = day.api("iam"), "123456789012"
        trust = {
            "Effect": "Allow",
            "Principal": {"AWS": f"arn:aws:iam::{account}:root"},
            "Action": "sts:AssumeRole",
        }
        arn = iam.create_role(RoleName=name, AssumeRolePolicyDocument=_policy(trust))["Role"]["Arn"]
        allowed = {"Effect": "Allow", "Action": "events:PutEvents", "Resource": "*"}
        for number, policy in enumerate(policies or [{"Version": "2012-10-17", "Statement": [allowed]}]):
            document = json.dumps(policy)
            iam.put_role_policy(RoleName=name, PolicyName=f"events-{number}", PolicyDocument=document)
        got = day.api("sts").assume_role(RoleArn=arn, RoleSessionName=name)["Credentials"]
        self.session = boto3.session.Session(
            aws_access_key_id=got["AccessKeyId"],
            aws_secret_access_key=got["SecretAccessKey"],
            aws_session_token=got["SessionToken"],
            region_name=day.lab.region,
        )
        #: The variables with which a program has the role.
        self.environment = {
            "AWS_ACCESS_KEY_ID": got["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": got["SecretAccessKey"],
            "AWS_SESSION_TOKEN": got["SessionToken"],
        }
        self._bus = day.lab.name
        self._events = self.session.client("events", endpoint_url=day.cloud.endpoints().endpoint)

    def put(self, source: str, detail_type: str, **detail: object) -> str:
        """Puts one event; its id. ClientError where the bus's policy refuses it."""
        entry: PutEventsRequestEntryTypeDef = {
            "EventBusName": self._bus,
            "Source": source,
            "DetailType": detail_type,
            "Detail": json.dumps(detail),
        }
        [answer] = self._events.put_events(Entries=[entry])["Entries"]
        return str(answer["EventId"])

    def refused(self, source: str, detail_type: str, **detail: object) -> str:
        """Puts an event that AWS must refuse; the error's code."""
        try:
            self.put(source, detail_type, **detail)
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return ""


class Listener:
    """Every event of the bus, by a rule and a queue of one's own."""

    def __init__(self, day: LabDay) -> None:
        self._day, self._sqs = day, day.api("sqs")
        self._queue = self._sqs.create_queue(QueueName="everything")["QueueUrl"]
        attributes = self._sqs.get_queue_attributes(QueueUrl=self._queue, AttributeNames=["QueueArn"])
        arn = attributes["Attributes"]["QueueArn"]
        sent = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": arn}
        policy = _policy({**sent, "Principal": {"Service": "events.amazonaws.com"}})
        self._sqs.set_queue_attributes(QueueUrl=self._queue, Attributes={"Policy": policy})
        events, bus = day.api("events"), day.lab.name
        pattern = json.dumps({"account": ["123456789012"]})
        events.put_rule(Name="everything", EventBusName=bus, EventPattern=pattern)
        events.put_targets(Rule="everything", EventBusName=bus, Targets=[{"Id": "queue", "Arn": arn}])
        self.heard: list[dict[str, Any]] = []

    def leave(self) -> None:
        """Deletes the rule."""
        events, bus = self._day.api("events"), self._day.lab.name
        events.remove_targets(Rule="everything", EventBusName=bus, Ids=["queue"])
        events.delete_rule(Name="everything", EventBusName=bus)

    def take(self) -> list[dict[str, Any]]:
        """Every event so far, in the order in which they came."""
        while found := self._sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10).get(
            "Messages"
        ):
            for message in found:
                self.heard.append(json.loads(message["Body"]))
                self._sqs.delete_message(QueueUrl=self._queue, ReceiptHandle=message["ReceiptHandle"])
        return self.heard

    def told(self, *types: str, **wanted: object) -> list[dict[str, Any]]:
        """What the lab told, of these types, with these values in the detail."""
        return [
            event
            for event in self.take()
            if event["source"] == f"lamplighter.{self._day.lab.name}"
            and (not types or event["detail-type"] in types)
            and wanted.items() <= event["detail"].items()
        ]

    def until(
        self, *types: str, within: timedelta = timedelta(minutes=40), **wanted: object
    ) -> dict[str, Any]:
        """The first such event, once it is told; its detail."""
        what = f"{' or '.join(types)} with {wanted}"
        self._day.until(what, lambda _: bool(self.told(*types, **wanted)), within, LOOK_EVERY)
        detail: dict[str, Any] = self.told(*types, **wanted)[0]["detail"]
        return detail


def _policy(*statements: Mapping[str, object]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})
