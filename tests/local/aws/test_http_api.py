"""An HTTP API hands requests to its functions as API Gateway does, and their answers back."""

import json
import urllib.error
import urllib.request

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.local.cloudformation.test_cloudformation import Stacks

ECHO = """
    def handler(event, context):
        if event["rawPath"] == "/fail":
            raise ValueError("no")
        if event["rawPath"] == "/plain":
            return {"hello": "you"}
        import json
        return {"statusCode": 201, "headers": {"X-Seen": "yes"}, "body": json.dumps(event)}
"""


@pytest.fixture
def api(aws):
    """An API deployed from a template; its address."""
    function = aws.function("echo", ECHO)
    resources = {
        "Api": {"Type": "AWS::ApiGatewayV2::Api", "Properties": {"Name": "a", "ProtocolType": "HTTP"}},
        "Stage": {
            "Type": "AWS::ApiGatewayV2::Stage",
            "Properties": {"ApiId": {"Ref": "Api"}, "StageName": "$default", "AutoDeploy": True},
        },
        "Integration": {
            "Type": "AWS::ApiGatewayV2::Integration",
            "Properties": {
                "ApiId": {"Ref": "Api"},
                "IntegrationType": "AWS_PROXY",
                "IntegrationUri": function,
                "PayloadFormatVersion": "2.0",
            },
        },
        "Permission": {
            "Type": "AWS::Lambda::Permission",
            "Properties": {
                "FunctionName": function,
                "Action": "lambda:InvokeFunction",
                "Principal": "apigateway.amazonaws.com",
                "SourceArn": {"Fn::Sub": "arn:aws:execute-api:${AWS::Region}:${AWS::AccountId}:${Api}/*/*"},
            },
        },
    }
    for name, key in {
        "Post": "POST /slack",
        "Get": "GET /things/{id}",
        "Any": "ANY /fail",
        "P": "GET /plain",
        "Own": "POST /own/open",
        "Lab": "POST /lab/open",
    }.items():
        target = {"Fn::Join": ["/", ["integrations", {"Ref": "Integration"}]]}
        by = {"AuthorizationType": "AWS_IAM"} if name in {"Own", "Lab"} else {}
        resources[name] = {
            "Type": "AWS::ApiGatewayV2::Route",
            "Properties": {"ApiId": {"Ref": "Api"}, "RouteKey": key, "Target": target, **by},
        }
    stack = Stacks(aws).create(resources, Outputs={"Url": {"Value": {"Fn::GetAtt": ["Api", "ApiEndpoint"]}}})
    return stack["Outputs"][0]["OutputValue"]


def ask(url: str, method: str = "GET", body: bytes | None = None, **headers: str):
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, reply.headers, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def test_a_form_reaches_the_function_whole_and_in_base64(api):
    form = {"Content-Type": "application/x-www-form-urlencoded", "X-Slack-Signature": "v0=abc"}
    status, headers, body = ask(f"{api}/slack?x=1&x=2", "POST", b"text=open+2", **form)
    event = json.loads(body)
    assert (status, headers["X-Seen"]) == (201, "yes")
    assert (event["routeKey"], event["version"]) == ("POST /slack", "2.0")
    assert (event["isBase64Encoded"], event["body"]) == (True, "dGV4dD1vcGVuKzI=")
    assert event["headers"]["x-slack-signature"] == "v0=abc"
    assert event["queryStringParameters"] == {"x": "1,2"}
    assert event["requestContext"]["http"]["method"] == "POST"


def test_a_text_body_comes_as_it_is(api):
    _, _, body = ask(f"{api}/slack", "POST", b'{"a": 1}', **{"Content-Type": "application/json"})
    event = json.loads(body)
    assert (event["isBase64Encoded"], event["body"]) == (False, '{"a": 1}')


def test_text_that_is_not_utf_8_reaches_the_function_byte_for_byte(api):
    status, _, body = ask(f"{api}/slack", "POST", b"text=\xff", **{"Content-Type": "text/plain"})
    event = json.loads(body)
    assert (status, event["isBase64Encoded"], event["body"]) == (201, True, "dGV4dD3/")


def test_names_in_the_path_are_handed_over(api):
    _, _, body = ask(f"{api}/things/7")
    assert json.loads(body)["pathParameters"] == {"id": "7"}


def test_an_answer_without_a_status_is_json(api):
    status, headers, body = ask(f"{api}/plain")
    assert (status, headers["Content-Type"], json.loads(body)) == (200, "application/json", {"hello": "you"})


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/slack", 404), ("POST", "/no", 404), ("GET", "/fail", 500)]
)
def test_what_no_route_takes_or_a_function_fails_is_said(api, method, path, status):
    assert ask(api + path, method)[0] == status


def test_a_function_that_is_gone_is_an_internal_error(aws, api):
    aws.call("lambda", "delete_function", FunctionName="echo")
    status, _, body = ask(f"{api}/plain")
    assert (status, json.loads(body)) == (500, {"message": "Internal Server Error"})


def test_there_is_nothing_at_an_address_of_no_api(api):
    assert ask(f"{api.rpartition('/')[0]}/nothing/plain")[0] == 404


def signed(url: str, key: str, secret: str, body: bytes = b"{}"):
    """The request as somebody with this key signs it."""
    request = AWSRequest("POST", url, {"Content-Type": "application/json"}, body)
    SigV4Auth(Credentials(key, secret), "execute-api", "ap-northeast-2").add_auth(request)
    return ask(url, "POST", body, **dict(request.headers))


@pytest.fixture
def student(aws):
    """A user's key; their policy lets them ask at `own/` alone."""
    aws.call("iam", "create_user", UserName="student")
    allow = {
        "Effect": "Allow",
        "Action": "execute-api:Invoke",
        "Resource": "arn:aws:execute-api:*:*:*/*/POST/own/*",
    }
    document = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    aws.call("iam", "put_user_policy", UserName="student", PolicyName="own", PolicyDocument=document)
    key = aws.call("iam", "create_access_key", UserName="student")["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


def test_who_signed_is_told_to_the_function_and_nobody_else_comes_in(api, student):
    status, _, body = signed(f"{api}/own/open", *student)
    caller = json.loads(body)["requestContext"]["authorizer"]["iam"]
    assert status == 201
    assert caller["userArn"] == "arn:aws:iam::123456789012:user/student"
    assert caller["accessKey"] == student[0]

    forged = {"authorizer": {"iam": {"userArn": "arn:aws:iam::123456789012:user/boss"}}}
    key, secret = student
    _, _, body = signed(f"{api}/own/open", key, secret, json.dumps({"requestContext": forged}).encode())
    assert json.loads(body)["requestContext"]["authorizer"]["iam"] == caller


def test_unsigned_wrongly_signed_and_unknown_keys_are_forbidden(api, student):
    key, secret = student
    assert ask(f"{api}/own/open", "POST", b"{}")[0] == 403
    assert signed(f"{api}/own/open", key, "another")[0] == 403
    assert signed(f"{api}/own/open", "AKIANOBODYKNOWSTHIS0", secret)[0] == 403
    request = AWSRequest("POST", f"{api}/own/open", {"Content-Type": "application/json"}, b"{}")
    SigV4Auth(Credentials(key, secret), "execute-api", "ap-northeast-2").add_auth(request)
    assert ask(f"{api}/own/open", "POST", b'{"verb": "close"}', **dict(request.headers))[0] == 403


def test_a_policy_lets_people_in_at_its_own_addresses_only(aws, api, student):
    assert signed(f"{api}/lab/open", *student)[0] == 403

    deny = {"Effect": "Deny", "Action": "*", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [deny]})
    aws.call("iam", "put_user_policy", UserName="student", PolicyName="no", PolicyDocument=document)
    assert signed(f"{api}/own/open", *student)[0] == 403
