"""An HTTP API hands requests to its functions as API Gateway does, and their answers back."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping

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


def parts(name: str, function: str, routes: Mapping[str, str], **throttle: float) -> dict[str, dict]:
    """What a template has for an HTTP API of that logical name; the routes with their authorization."""
    api: dict[str, object] = {"ApiId": {"Ref": name}}
    stage = {"StageName": "$default", "AutoDeploy": True, "DefaultRouteSettings": throttle}
    integration = {"IntegrationType": "AWS_PROXY", "IntegrationUri": function, "PayloadFormatVersion": "2.0"}
    caller = {"Fn::Sub": f"arn:aws:execute-api:${{AWS::Region}}:${{AWS::AccountId}}:${{{name}}}/*/*"}
    permission = {"FunctionName": function, "Action": "lambda:InvokeFunction", "SourceArn": caller}
    target = {"Fn::Join": ["/", ["integrations", {"Ref": f"{name}Integration"}]]}
    resources: dict[str, tuple[str, dict[str, object]]] = {
        "": ("ApiGatewayV2::Api", {"Name": "a", "ProtocolType": "HTTP"}),
        "Stage": ("ApiGatewayV2::Stage", {**api, **stage}),
        "Integration": ("ApiGatewayV2::Integration", {**api, **integration}),
        "Permission": ("Lambda::Permission", {**permission, "Principal": "apigateway.amazonaws.com"}),
    }
    for number, (key, kind) in enumerate(routes.items()):
        by = {"AuthorizationType": kind} if kind else {}
        resources[f"Route{number}"] = (
            "ApiGatewayV2::Route",
            {**api, "RouteKey": key, "Target": target, **by},
        )
    return {name + end: {"Type": f"AWS::{of}", "Properties": given} for end, (of, given) in resources.items()}


ROUTES = {
    **dict.fromkeys(("POST /slack", "GET /things/{id}", "ANY /fail", "GET /plain"), ""),
    **dict.fromkeys(("POST /own/open", "POST /lab/open"), "AWS_IAM"),
}


@pytest.fixture
def api(aws):
    """An API deployed from a template; its address."""
    resources = parts("Api", aws.function("echo", ECHO), ROUTES)
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


@pytest.mark.parametrize(
    ("kind", "sent", "encoded", "received"),
    [
        ("application/json", b'{"a": 1}', False, '{"a": 1}'),
        ("text/plain", b"text=\xff", True, "dGV4dD3/"),
    ],
)
def test_text_comes_as_it_is_and_what_is_not_utf_8_in_base64(api, kind, sent, encoded, received):
    status, _, body = ask(f"{api}/slack", "POST", sent, **{"Content-Type": kind})
    event = json.loads(body)
    assert (status, event["isBase64Encoded"], event["body"]) == (201, encoded, received)


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


def test_a_named_stage_answers_below_its_name_and_has_a_throttle_of_its_own(aws, student):
    limits = {"ThrottlingRateLimit": 0.001, "ThrottlingBurstLimit": 1}
    resources = parts("Api", aws.function("echo", ECHO), ROUTES, **limits)
    resources["ApiStage"]["Properties"]["StageName"] = "s3-cret"
    stack = Stacks(aws).create(resources, Outputs={"Url": {"Value": {"Fn::GetAtt": ["Api", "ApiEndpoint"]}}})
    base = stack["Outputs"][0]["OutputValue"]

    # A stranger who knows the host name only reaches no stage, and uses up nothing.
    strangers = [ask(f"{base}{path}/own/open", "POST", b"{}")[0] for path in ("", "/other", "/$default")]
    status, _, body = signed(f"{base}/s3-cret/own/open", *student)

    assert strangers == [404, 404, 404]
    assert status == 201
    event = json.loads(body)
    assert (event["routeKey"], event["rawPath"]) == ("POST /own/open", "/s3-cret/own/open")
    assert event["requestContext"]["stage"] == "s3-cret"
    # Where the stage is known, an unsigned request counts. AWS does not say whether it does: here it is the worse way.
    assert ask(f"{base}/s3-cret/own/open", "POST", b"{}")[0] == 429


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
