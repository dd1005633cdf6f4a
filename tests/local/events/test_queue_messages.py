"""A queue refuses what SQS refuses as a message, and a fault delivers a message twice or out of order."""

import pytest
from botocore.exceptions import ClientError


def string(value: str, kind: str = "String") -> dict:
    return {"DataType": kind, "StringValue": value}


@pytest.fixture
def queue(aws):
    """The URL of a queue that takes messages of 1 KiB."""
    return aws.call("sqs", "create_queue", QueueName="q", Attributes={"MaximumMessageSize": "1024"})[
        "QueueUrl"
    ]


@pytest.mark.parametrize(
    ("body", "attributes", "code"),
    [
        ("", {}, "MissingParameter"),
        ("a\x00", {}, "InvalidMessageContents"),
        ("a\ufffe", {}, "InvalidMessageContents"),
        ("a", {"b": string("")}, "InvalidParameterValue"),
        ("a", {"b": string("\x1b")}, "InvalidMessageContents"),
        ("가" * 342, {}, "InvalidParameterValue"),
        ("a" * 1015, {"bcd": string("e")}, "InvalidParameterValue"),
    ],
)
def test_what_sqs_refuses_is_refused(aws, queue, body, attributes, code):
    with pytest.raises(ClientError) as refusal:
        aws.call("sqs", "send_message", QueueUrl=queue, MessageBody=body, MessageAttributes=attributes)
    assert refusal.value.response["Error"]["Code"] == code
    assert refusal.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


@pytest.mark.parametrize(("body", "attributes"), [("가" * 341, {}), ("\t\n\r 🎉", {"b": string("\ufffd")})])
def test_what_sqs_takes_comes_as_it_was_sent(aws, queue, body, attributes):
    aws.call("sqs", "send_message", QueueUrl=queue, MessageBody=body, MessageAttributes=attributes)
    message = aws.message(queue)
    assert (message["Body"], message.get("MessageAttributes", {})) == (body, attributes)


def test_a_fault_delivers_a_message_twice_and_lets_another_pass(aws, queue):
    delays = {"first": [30.0], "second": [0.0, 60.0]}
    aws.embedded.queue_deliveries.judge = lambda delivery: delays[delivery.body]
    aws.hold()
    for body in delays:
        aws.call("sqs", "send_message", QueueUrl=queue, MessageBody=body)

    came = []
    for _ in range(3):
        request = {"QueueUrl": queue, "MaxNumberOfMessages": 10}
        for message in aws.call("sqs", "receive_message", **request).get("Messages", []):
            came.append((message["Body"], message["MessageId"]))
            aws.call("sqs", "delete_message", QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        aws.clock.sleep(31)

    assert [body for body, _ in came] == ["second", "first", "second"]
    assert came[0] == came[2]
