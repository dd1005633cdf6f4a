"""A REST API passes requests to a queue as API Gateway does, without a function in between."""

import json

import pytest

from tests.local.aws.api.rest_api_template import FORM, HEADERS, parts, resource
from tests.local.aws.api.test_http_api import ask
from tests.local.cloudformation.test_cloudformation import Stacks
from tests.local.events.test_event_sources import KEYS
from tests.local.events.test_queue_sources import RECEIVING
from tests.steady.hang import await_value

SIGNED = {"Content-Type": FORM, "X-Signature": "v0=ab/+ c", "X-Stamp": "1700000000"}


class Orders:
    """The API of a stack, and its queue."""

    def __init__(self, aws) -> None:
        self.aws, self.stacks = aws, Stacks(aws)

    def create(self, resources=None) -> "Orders":
        made = self.stacks.create(resources or parts())
        assert made["StackStatus"] == "CREATE_COMPLETE", self.stacks.reasons()
        return self

    def update(self, resources) -> None:
        made = self.stacks.update(resources)
        assert made["StackStatus"] == "UPDATE_COMPLETE", self.stacks.reasons()

    def ask(self, body: bytes | None = b"a=1", method: str = "POST", path: str = "v1/orders", **headers: str):
        """The status and the body of an answer."""
        api = self.stacks.physical()["Api"]
        url = f"{self.aws.embedded.endpoint}/_restapis/{api}/{path}"
        status, _, reply = ask(url, method, body, **(headers or SIGNED))
        return status, reply

    def message(self):
        return self.aws.message(self.stacks.physical()["Queue"])

    def left(self) -> int:
        request = {"QueueUrl": self.stacks.physical()["Queue"], "AttributeNames": ["All"]}
        return int(
            self.aws.call("sqs", "get_queue_attributes", **request)["Attributes"][
                "ApproximateNumberOfMessages"
            ]
        )


@pytest.fixture
def orders(aws):
    return Orders(aws).create()


@pytest.mark.parametrize("text", ["text=open+2%26&x=*~!", "한국어 ☃ 🎉\n&=+%", " "])
def test_a_signed_request_is_a_message_with_its_body_and_headers(orders, text):
    assert orders.ask(text.encode()) == (200, b"")
    message = orders.message()
    attributes = {name: value["StringValue"] for name, value in message["MessageAttributes"].items()}
    assert message["Body"] == text
    assert attributes == {"signature": "v0=ab/+ c", "stamp": "1700000000"}


TAKER = """
    import boto3, json
    def handler(event, context):
        for record in event["Records"]:
            item = {"pk": {"S": record["body"]}, "attributes": {"S": json.dumps(record["messageAttributes"])}}
            boto3.client("dynamodb").put_item(TableName="taken", Item=item)
"""


def test_a_function_gets_the_message_with_both_attributes(aws):
    aws.call("dynamodb", "create_table", TableName="taken", **KEYS)
    aws.function("taker", TAKER, role=aws.role("taking", "dynamodb:PutItem", *RECEIVING))
    mapping = {"EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]}, "FunctionName": "taker", "BatchSize": 10}
    orders = Orders(aws).create({**parts(), "Mapping": resource("Lambda::EventSourceMapping", **mapping)})

    assert orders.ask(b"text=open") == (200, b"")

    [item] = await_value("it is taken", lambda: aws.call("dynamodb", "scan", TableName="taken")["Items"])
    assert item["pk"]["S"] == "text=open"
    attributes = json.loads(item["attributes"]["S"])
    assert attributes["stamp"] == {
        "stringValue": "1700000000",
        "stringListValues": [],
        "binaryListValues": [],
        "dataType": "String",
    }
    assert attributes["signature"]["stringValue"] == "v0=ab/+ c"


@pytest.mark.parametrize("without", HEADERS)
@pytest.mark.parametrize("value", [None, " "])
def test_a_request_without_a_required_header_is_refused(orders, without, value):
    headers = {name: said for name, said in SIGNED.items() if name != without}
    status, body = orders.ask(**headers, **({without: value} if value else {}))
    assert (status, json.loads(body)) == (
        400,
        {"message": f"Missing required request parameters: [{without}]"},
    )
    assert orders.left() == 0


def test_another_method_and_another_path_have_their_own_answers(orders):
    assert orders.ask(None, "GET", Accept="*/*") == (405, b"")
    assert orders.ask(None, "DELETE", **SIGNED)[0] == 415  # the template is for JSON alone
    assert orders.ask(path="v1/nothing") == (404, b'{"message": "Not Found"}')
    assert orders.ask(path="v2/orders") == (403, b'{"message":"Forbidden"}')


def test_bytes_that_are_no_text_and_an_empty_body_come_as_api_gateway_writes_them(orders):
    assert orders.ask(b"a=\xff")[0] == 200
    assert orders.message()["Body"] == "a=\N{REPLACEMENT CHARACTER}"
    assert orders.ask(b"")[0] == 200
    assert orders.message()["Body"] == "{}"
