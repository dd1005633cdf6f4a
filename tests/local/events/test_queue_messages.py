"""A queue refuses what SQS refuses as a message, and a fault delivers a message twice or out of order."""

import json

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


REDRIVE = ("StartMessageMoveTask", "ReceiveMessage", "DeleteMessage", "GetQueueAttributes", "SendMessage")


class DeadLetter:
    """A message in the dead-letter queue of a queue whose policy denies sending where a condition is met."""

    def __init__(self, aws, condition: dict | None) -> None:
        self._aws = aws
        dead, self.arn = aws.queue("dead")
        policy = json.dumps({"deadLetterTargetArn": self.arn, "maxReceiveCount": 1})
        self.queue, arn = aws.queue("requests")
        attributes = {"RedrivePolicy": policy}
        if condition:
            denied = {
                "Effect": "Deny",
                "Principal": {"AWS": "*"},
                "Action": "sqs:SendMessage",
                "Resource": arn,
            }
            statements = [{**denied, "Condition": condition}]
            attributes["Policy"] = json.dumps({"Version": "2012-10-17", "Statement": statements})
        aws.call("sqs", "set_queue_attributes", QueueUrl=self.queue, Attributes=attributes)
        aws.call("sqs", "send_message", QueueUrl=dead, MessageBody="late")

    def redrive(self, *may: str, tag: str = "") -> str:
        """SQS's refusal, empty if there is none, of a redrive by a role with these rights."""
        role = self._aws.role("person", *(f"sqs:{action}" for action in may))
        tags = [{"Key": "lamplighter:redrive", "Value": tag}]
        self._aws.call("iam", "tag_role", RoleName="person", Tags=tags)
        try:
            self._aws.call("sqs", "start_message_move_task", role=role, SourceArn=self.arn)
        except ClientError as error:
            return str(error.response["Error"]["Message"])
        return ""


ONLY_A_RULE = {
    "ArnNotEquals": {"aws:SourceArn": "arn:aws:events:ap-northeast-2:123456789012:rule/lab/requests"}
}


def test_a_redrive_sends_dead_letters_back_to_their_queue(aws):
    dead = DeadLetter(aws, None)
    assert dead.redrive(*REDRIVE) == ""
    assert aws.message(dead.queue)["Body"] == "late"


@pytest.mark.parametrize("missing", REDRIVE)
def test_a_redrive_needs_the_right_to_each_of_its_calls(aws, missing):
    refused = DeadLetter(aws, None).redrive(*(action for action in REDRIVE if action != missing))
    assert f"sqs:{missing.lower()}" in refused


def test_a_redrive_sends_as_its_caller_so_a_denial_for_all_but_a_rule_stops_it(aws):
    refused = DeadLetter(aws, ONLY_A_RULE).redrive(*REDRIVE)
    assert "sqs:sendmessage" in refused
    assert "with an explicit deny in a resource-based policy" in refused


@pytest.mark.parametrize(("tag", "may"), [("lab", True), ("other", False)])
def test_a_redrive_is_for_whom_the_tag_of_the_lab_excepts_from_the_denial(aws, tag, may):
    """The condition is that of the queue of requests."""
    excepted = {"StringNotEquals": {"aws:PrincipalTag/lamplighter:redrive": "lab"}}
    refused = DeadLetter(aws, {**ONLY_A_RULE, **excepted}).redrive(*REDRIVE, tag=tag)
    assert ("explicit deny" not in refused) is may


def test_a_queue_without_dead_letters_of_another_is_no_source_of_a_redrive(aws):
    _, plain = aws.queue("plain")
    with pytest.raises(ClientError, match="must be configured as a Dead Letter Queue"):
        aws.call("sqs", "start_message_move_task", SourceArn=plain)
