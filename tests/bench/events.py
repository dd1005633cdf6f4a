"""The lab's bus: how long a program waits for its answer, and how many events one window tells."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3

from lamplighter.domain.events.lab_event import source
from local.aws.functions.durations import Measured
from local.cloud import Cloud
from stacks import cost
from tests.bench.figure import Measurement

LAB = Path(__file__).parent / "labs" / "events.yaml"
BEGINS = datetime(2026, 12, 1, 11, 0, tzinfo=UTC)
POOL = "gpu"
#: Seconds between two looks: where they are part of a figure, and where they are not.
LOOK_EVERY, LOOK_SELDOM = 0.02, 10.0
PATIENCE = timedelta(minutes=40)


def _take() -> Mapping[str, float]:
    """In the lab's time: functions take the processor time that they used, at the share that their memory buys."""
    with Cloud(LAB, start=BEGINS, durations=Measured()) as cloud:
        cloud.up()
        bus = _Bus(cloud)
        cold = bus.answered("open", "lease-granted", token="first", for_seconds=3600)
        bus.heard_of("pool-open", LOOK_SELDOM)
        bus.answered("close", "pool-closing", token="first")
        bus.heard_of("receipt", LOOK_SELDOM)
        told = len(bus.told)
        # Every function on the way is warm: the same way was gone a moment ago.
        bus.answered("open", "lease-granted", token="second", for_seconds=3600)
        warm = bus.answered("open", "lease-granted", token="third", for_seconds=3600)
    # What was put to open and close it counts as well.
    put = told + 2
    return {
        "events-cold": cold * 1000,
        "events-warm": warm * 1000,
        "events-of-a-window": put,
        "events-of-a-window-price": float(cost.price("custom_event") * put),
    }


class _Bus:
    """The bus, with a rule and a queue that take everything which the lab tells."""

    def __init__(self, cloud: Cloud) -> None:
        endpoints = cloud.endpoints()
        session: Any = boto3.session.Session(
            aws_access_key_id=endpoints.access_key_id,
            aws_secret_access_key=endpoints.secret_access_key,
            region_name=endpoints.region,
        )
        self._clock, self._lab = cloud.clock, cloud.lab.name
        self._events = session.client("events", endpoint_url=endpoints.endpoint)
        self._sqs = session.client("sqs", endpoint_url=endpoints.endpoint)
        self._queue = self._sqs.create_queue(QueueName="told")["QueueUrl"]
        named = self._sqs.get_queue_attributes(QueueUrl=self._queue, AttributeNames=["QueueArn"])
        arn = named["Attributes"]["QueueArn"]
        let_in = {"Service": "events.amazonaws.com"}
        sent = {"Effect": "Allow", "Principal": let_in, "Action": "sqs:SendMessage", "Resource": arn}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [sent]})
        self._sqs.set_queue_attributes(QueueUrl=self._queue, Attributes={"Policy": policy})
        pattern = json.dumps({"source": [source(self._lab)]})
        self._events.put_rule(Name="told", EventBusName=self._lab, EventPattern=pattern)
        self._events.put_targets(Rule="told", EventBusName=self._lab, Targets=[{"Id": "told", "Arn": arn}])
        self.told: list[dict[str, Any]] = []

    def answered(self, detail_type: str, answer: str, **detail: object) -> float:
        """Seconds from PutEvents until the answer is there."""
        begun = self._clock.time()
        entry = {"EventBusName": self._lab, "Source": "bench", "DetailType": detail_type}
        entry["Detail"] = json.dumps({"pool": POOL, **detail})
        event = self._events.put_events(Entries=[entry])["Entries"][0]["EventId"]
        self.heard_of(answer, LOOK_EVERY, in_reply_to=event)
        return self._clock.time() - begun

    def heard_of(self, detail_type: str, look_every: float, **wanted: object) -> None:
        """Waits for an event that the lab tells."""
        deadline = self._clock.time() + PATIENCE.total_seconds()
        while not any(
            event["detail-type"] == detail_type and wanted.items() <= event["detail"].items()
            for event in self._take()
        ):
            if self._clock.time() > deadline:
                raise RuntimeError(f"the lab never told {detail_type}")
            self._clock.sleep(look_every)

    def _take(self) -> list[dict[str, Any]]:
        while found := self._sqs.receive_message(QueueUrl=self._queue, MaxNumberOfMessages=10).get(
            "Messages"
        ):
            for message in found:
                self.told.append(json.loads(message["Body"]))
                self._sqs.delete_message(QueueUrl=self._queue, ReceiptHandle=message["ReceiptHandle"])
        return self.told


MEASUREMENTS = (
    Measurement(
        {
            "events-cold": "ms",
            "events-warm": "ms",
            "events-of-a-window": "events",
            "events-of-a-window-price": "USD",
        },
        _take,
    ),
)
