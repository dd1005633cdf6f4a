"""A function gets a queue's messages: in batches, again after the visibility timeout, and a dead letter in the end."""

import json
from typing import Any

import pytest

from tests.local.cloudformation.test_cloudformation import Stacks
from tests.local.events.test_event_sources import KEYS
from tests.steady.hang import await_value

#: Notes each message in a table, with how often it came, and does not take the bad ones.
TAKER = """
    import boto3
    def handler(event, context):
        seen = boto3.client("dynamodb")
        for record in event["Records"]:
            times = record["attributes"]["ApproximateReceiveCount"]
            seen.put_item(TableName="seen", Item={
                "pk": {"S": record["body"] + " " + times},
                "batch": {"N": str(len(event["Records"]))},
                "sent": {"S": record["attributes"]["SentTimestamp"]},
            })
        bad = [record for record in event["Records"] if record["body"].startswith("bad")]
        return {"batchItemFailures": [{"itemIdentifier": record["messageId"]} for record in bad]}
"""
RECEIVING = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")


class Receiving:
    """A queue with dead letters, and a function that takes its messages."""

    def __init__(self, aws, *may: str, visible_after: int = 60) -> None:
        self.aws, self.stacks = aws, Stacks(aws)
        aws.call("dynamodb", "create_table", TableName="seen", **KEYS)
        aws.function("taker", TAKER, role=aws.role("taking", "dynamodb:PutItem", *may))
        self.resources: dict[str, dict[str, Any]] = {
            "Dead": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "dead"}},
            "Queue": {
                "Type": "AWS::SQS::Queue",
                "Properties": {
                    "QueueName": "requests",
                    "VisibilityTimeout": visible_after,
                    "RedrivePolicy": {
                        "deadLetterTargetArn": {"Fn::GetAtt": ["Dead", "Arn"]},
                        "maxReceiveCount": 2,
                    },
                },
            },
            "Mapping": {
                "Type": "AWS::Lambda::EventSourceMapping",
                "Properties": {
                    "EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]},
                    "FunctionName": "taker",
                    "BatchSize": 10,
                    "FunctionResponseTypes": ["ReportBatchItemFailures"],
                    "ScalingConfig": {"MaximumConcurrency": 2},
                },
            },
        }

    def create(self) -> "Receiving":
        made = self.stacks.create(self.resources)
        assert made["StackStatus"] == "CREATE_COMPLETE", self.stacks.reasons()
        return self

    def send(self, *bodies: str) -> None:
        url = self.aws.call("sqs", "get_queue_url", QueueName="requests")["QueueUrl"]
        entries = [{"Id": str(number), "MessageBody": body} for number, body in enumerate(bodies)]
        self.aws.call("sqs", "send_message_batch", QueueUrl=url, Entries=entries)

    def seen(self, *wanted: str) -> dict[str, int]:
        """Each message with how often it came, and how many came with it, as soon as the wanted ones did."""

        def batches() -> dict[str, int] | None:
            found = self.aws.call("dynamodb", "scan", TableName="seen")["Items"]
            seen = {item["pk"]["S"]: int(item["batch"]["N"]) for item in found}
            return seen if seen.keys() >= set(wanted) else None

        return await_value(f"{wanted} come", batches)

    def left(self, queue: str) -> int:
        """The messages of a queue, whoever has them now."""
        url = self.aws.call("sqs", "get_queue_url", QueueName=queue)["QueueUrl"]
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        said = self.aws.call("sqs", "get_queue_attributes", QueueUrl=url, AttributeNames=names)["Attributes"]
        return sum(int(said[name]) for name in names)


def test_what_the_function_takes_is_gone_and_what_it_does_not_comes_again_until_it_is_a_dead_letter(aws):
    receiving = Receiving(aws, *RECEIVING).create()
    aws.clock.hurry(True)

    receiving.send("good one", "bad one", "good two")

    seen = receiving.seen("good one 1", "good two 1", "bad one 2")
    assert set(seen) == {"good one 1", "good two 1", "bad one 1", "bad one 2"}
    url = aws.call("sqs", "get_queue_url", QueueName="dead")["QueueUrl"]
    assert aws.message(url)["Body"] == "bad one"
    assert receiving.left("requests") == 0


@pytest.mark.parametrize("missing", RECEIVING)
def test_a_mapping_whose_role_may_not_receive_is_refused(aws, missing):
    receiving = Receiving(aws, *(action for action in RECEIVING if action != missing))

    assert f"permissions to call {missing.removeprefix('sqs:')} on SQS" in receiving.stacks.failed(
        receiving.resources
    )


def test_a_queue_whose_messages_come_back_before_the_function_times_out_is_refused(aws):
    receiving = Receiving(aws, *RECEIVING, visible_after=10)

    why = receiving.stacks.failed(receiving.resources)
    assert "visibility timeout: 10 seconds is less than Function timeout: 20 seconds" in why


def test_a_sender_waits_for_nobody(aws):
    receiving = Receiving(aws, *RECEIVING).create()

    receiving.send(*(json.dumps({"number": number}) for number in range(10)))

    seen = receiving.seen(*(f'{{"number": {number}}} 1' for number in range(10)))
    assert len(seen) == 10


def test_a_message_says_when_it_was_sent(aws):
    receiving = Receiving(aws, *RECEIVING).create()
    aws.hold()
    sent = aws.clock.time()

    receiving.send("one")

    aws.clock.sleep(5)
    [item] = aws.call("dynamodb", "scan", TableName="seen")["Items"]
    assert int(item["sent"]["S"]) == int(sent * 1000)


def test_a_throttled_batch_is_tried_again_before_its_messages_are_visible_again(aws):
    receiving = Receiving(aws, *RECEIVING, visible_after=100).create()
    aws.hold()
    aws.runtime.concurrency = 0
    receiving.send("one")
    aws.clock.sleep(50)
    aws.runtime.concurrency = 1
    aws.clock.sleep(49)

    assert set(receiving.seen("one 1")) == {"one 1"}


def test_a_batch_that_is_throttled_for_too_long_is_received_again_and_then_a_dead_letter(aws):
    receiving = Receiving(aws, *RECEIVING, visible_after=100).create()
    aws.hold()
    aws.runtime.concurrency = 0
    receiving.send("one", "two")
    aws.clock.sleep(150)
    assert receiving.left("dead") == 0
    aws.clock.sleep(150)

    assert (receiving.left("requests"), receiving.left("dead")) == (0, 2)


def test_a_message_that_is_delivered_twice_comes_twice(aws):
    receiving = Receiving(aws, *RECEIVING).create()
    aws.embedded.queue_deliveries.judge = lambda _: [0.0, 5.0]
    aws.hold()

    receiving.send("one")
    aws.clock.sleep(4)
    receiving.seen("one 1")
    aws.call("dynamodb", "delete_item", TableName="seen", Key={"pk": {"S": "one 1"}})
    aws.clock.sleep(4)

    assert set(receiving.seen("one 1")) == {"one 1"}


def test_a_batching_window_collects_in_five_pollers(aws):
    receiving = Receiving(aws, *RECEIVING)
    receiving.resources["Mapping"]["Properties"] |= {"BatchSize": 100, "MaximumBatchingWindowInSeconds": 20}
    receiving.create()
    aws.hold()

    for number in range(40):
        receiving.send(str(number))
        aws.clock.sleep(0.1)
    aws.clock.sleep(15)
    assert aws.runtime.faults.invocations("taker") == 0
    aws.clock.sleep(10)

    batches = list(receiving.seen(*(f"{number} 1" for number in range(40))).values())
    assert aws.runtime.faults.invocations("taker") == 5
    assert max(batches) > 30


def test_lambda_may_wait_20_seconds_for_a_quiet_queue_however_short_the_window_is(aws):
    receiving = Receiving(aws, *RECEIVING)
    receiving.resources["Mapping"]["Properties"] |= {"MaximumBatchingWindowInSeconds": 1}
    receiving.create()
    aws.hold()

    receiving.send("one")
    aws.clock.sleep(19)
    assert aws.runtime.faults.invocations("taker") == 0
    aws.clock.sleep(5)
    assert set(receiving.seen("one 1")) == {"one 1"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"BatchSize": 11}, "Maximum batch window in seconds must be greater than 0"),
        ({"BatchSize": 10_001, "MaximumBatchingWindowInSeconds": 1}, "less than or equal to 10000"),
        ({"MaximumBatchingWindowInSeconds": 301}, "less than or equal to 300"),
        ({"ScalingConfig": {"MaximumConcurrency": 1}}, "greater than or equal to 2"),
        ({"ScalingConfig": {"MaximumConcurrency": 1001}}, "less than or equal to 1000"),
    ],
)
def test_a_mapping_that_lambda_does_not_take_is_refused(aws, change, why):
    receiving = Receiving(aws, *RECEIVING)
    receiving.resources["Mapping"]["Properties"] |= change

    assert why in receiving.stacks.failed(receiving.resources)


def test_the_messages_of_a_deleted_function_stay(aws):
    receiving = Receiving(aws, *RECEIVING).create()
    aws.call("lambda", "delete_function", FunctionName="taker")
    aws.hold()

    receiving.send("one")
    aws.clock.sleep(5)

    assert receiving.left("requests") == 1


def test_a_mapping_that_is_switched_on_takes_what_waits(aws):
    receiving = Receiving(aws, *RECEIVING).create()
    [mapping] = aws.call("lambda", "list_event_source_mappings")["EventSourceMappings"]
    aws.clock.hurry(True)

    aws.call("lambda", "update_event_source_mapping", UUID=mapping["UUID"], Enabled=False)
    receiving.send("good one", "good two")
    assert receiving.left("requests") == 2
    aws.call("lambda", "update_event_source_mapping", UUID=mapping["UUID"], Enabled=True)

    assert set(receiving.seen("good one 1", "good two 1")) == {"good one 1", "good two 1"}
