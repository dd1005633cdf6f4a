"""A REST API passes requests to a queue as API Gateway does, without a function in between."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

from local.aws.cloudformation.types.rest_api import PAGE
from tests.local.aws.api.rest_api_template import FORM, HEADERS, MOCK, integration, parts, resource, role
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
        status, _, reply = ask(self.url(path), method, body, **(headers or SIGNED))
        return status, reply

    def url(self, path: str = "v1/orders") -> str:
        return f"{self.aws.embedded.endpoint}{PAGE}/{self.stacks.physical()['Api']}/{path}"

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


def test_a_name_of_a_header_counts_as_it_is_written(orders):
    headers = {name.lower(): value for name, value in SIGNED.items()}
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(orders.url()).port)
    connection.request("POST", urlsplit(orders.url()).path, b"a=1", headers)
    assert connection.getresponse().status == 400


@pytest.mark.parametrize(
    ("content_type", "status"),
    [(FORM, 200), (None, 200), ("text/plain", 415), (f"{FORM}; charset=utf-8", 415)],
)
def test_the_content_type_chooses_a_template(orders, content_type, status):
    # A client that names no type: urllib would name a form.
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(orders.url()).port)
    headers = {name: value for name, value in SIGNED.items() if name != "Content-Type"}
    named = {"Content-Type": content_type} if content_type else {}
    connection.request("POST", urlsplit(orders.url()).path, b"a=1", {**headers, **named})
    assert connection.getresponse().status == status
    assert orders.left() == (status == 200)


def test_a_parameter_of_the_query_comes_before_a_header(orders):
    assert orders.ask(path="v1/orders?X-Stamp=7")[0] == 200
    assert orders.message()["MessageAttributes"]["stamp"]["StringValue"] == "7"


def test_more_than_the_stage_lets_in_is_refused_until_a_second_later(aws):
    orders = Orders(aws).create(parts(throttle={"ThrottlingRateLimit": 1, "ThrottlingBurstLimit": 2}))
    aws.hold()
    assert [orders.ask()[0] for _ in range(3)] == [200, 200, 429]
    assert orders.ask()[1] == b'{"message":"Too Many Requests"}'
    aws.clock.sleep(1)
    assert [orders.ask()[0] for _ in range(2)] == [200, 429]


def test_a_body_of_more_than_ten_mebibytes_is_refused(orders):
    assert orders.ask(b"a" * (10 * 1024 * 1024 + 1)) == (413, b'{"message":"Request Too Long"}')


def test_what_sqs_refuses_is_answered_by_the_patterns(orders):
    assert orders.ask(b"a\x00b") == (400, b"")
    assert orders.ask(b"a" * 1_048_577) == (400, b"")
    assert orders.left() == 0


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"Role": role()}, 400),
        ({"Role": role("sqs:SendMessage", taken_by="lambda.amazonaws.com")}, 500),
    ],
)
def test_the_role_must_be_allowed_to_send_and_the_gateway_to_take_it(aws, change, status):
    orders = Orders(aws).create({**parts(), **change})
    assert orders.ask()[0] == status
    assert orders.left() == 0


def test_a_status_without_a_response_and_without_a_default_is_an_error_of_the_api(aws):
    no_default = {**integration(), "IntegrationResponses": integration()["IntegrationResponses"][1:]}
    orders = Orders(aws).create(parts(no_default))
    assert orders.ask() == (500, b'{"message":"Internal server error"}')
    assert orders.ask(b"\x00") == (400, b"")


def test_an_empty_template_passes_the_answer_of_sqs_on(aws):
    empty = {"StatusCode": "200", "ResponseTemplates": {"application/json": ""}}
    orders = Orders(aws).create(parts(integration(IntegrationResponses=[empty])))
    status, body = orders.ask()
    assert status == 200
    assert orders.message()["MessageId"].encode() in body


@pytest.mark.parametrize(
    "left_out", ["$util.urlEncode($input.body)", "$util.urlEncode($input.params('X-Stamp'))"]
)
def test_an_error_in_a_template_reaches_sqs(aws, left_out):
    template = integration()["RequestTemplates"][FORM].replace(left_out, "")
    assert Orders(aws).create(parts(integration(template))).ask()[0] == 400


def test_a_body_that_a_template_does_not_encode_is_cut(aws):
    template = integration()["RequestTemplates"][FORM].replace("$util.urlEncode($input.body)", "$input.body")
    orders = Orders(aws).create(parts(integration(template)))
    orders.ask(b"text=open&user=U1")
    assert orders.message()["Body"] != "text=open&user=U1"


def test_a_change_is_served_after_a_new_deployment_to_which_the_stage_points(orders):
    resources = parts()
    mock = {**MOCK, "RequestTemplates": {FORM: '{"statusCode": 405}'}}
    resources["Post"]["Properties"] |= {"Integration": mock, "MethodResponses": [{"StatusCode": "405"}]}
    orders.update(resources)
    assert orders.ask()[0] == 200

    resources["Second"] = resource(
        "ApiGateway::Deployment", ("Post", "Any", "Unknown"), RestApiId={"Ref": "Api"}
    )
    resources["Stage"]["Properties"]["DeploymentId"] = {"Ref": "Second"}
    del resources["First"]
    orders.update(resources)
    assert orders.ask()[0] == 405


def test_a_stage_can_lose_its_throttle(aws):
    resources = parts(throttle={"ThrottlingRateLimit": 0.001, "ThrottlingBurstLimit": 1})
    orders = Orders(aws).create(resources)
    assert [orders.ask()[0] for _ in range(2)] == [200, 429]
    del resources["Stage"]["Properties"]["MethodSettings"]
    orders.update(resources)
    aws.clock.sleep(1)
    assert [orders.ask()[0] for _ in range(2)] == [200, 200]


def test_a_deleted_api_answers_nothing(aws, orders):
    url = orders.url()
    assert orders.stacks.delete() == "DELETE_COMPLETE"
    assert ask(url, "POST", b"a=1", **SIGNED)[0] == 403
    assert aws.call("apigateway", "get_rest_apis")["items"] == []


def changed(name: str, **properties) -> dict:
    resources = parts()
    resources[name]["Properties"] |= properties
    return resources


def without(*names: str) -> dict:
    resources = {name: each for name, each in parts().items() if name not in names}
    for each in resources.values():
        each["DependsOn"] = [name for name in each["DependsOn"] if name not in names]
    return resources


@pytest.mark.parametrize(
    ("resources", "why"),
    [
        (without("Post", "Any"), "The REST API doesn't contain any methods"),
        (changed("Stage", DeploymentId="none"), "Invalid deployment identifier specified"),
        (
            changed("Stage", MethodSettings=[{"LoggingLevel": "INFO"}]),
            "CloudWatch Logs role ARN must be set in account settings",
        ),
        (changed("Post", Integration=integration(Credentials="")), "Role ARN must be specified"),
        (changed("Post", MethodResponses=[]), "Invalid Response status code specified"),
        (changed("Any", HttpMethod="POST"), "Method already exists for this resource"),
        (changed("Unknown", ResponseType="MISSING"), "Invalid response type MISSING"),
        (changed("Api", BinaryMediaTypes=["*/*"]), "do not know BinaryMediaTypes"),
        (changed("Validator", ValidateRequestBody=True), "do not validate bodies"),
        (
            parts(integration(RequestParameters={"integration.request.header.A": "context.requestId"})),
            "cannot map context.requestId",
        ),
    ],
)
def test_what_api_gateway_or_the_embedded_cloud_does_not_take_is_refused(aws, resources, why):
    assert why in Stacks(aws).failed(resources)
