"""A REST API that passes signed requests to a queue: a template of its own, as small as it can be."""

import json
from collections.abc import Mapping
from typing import Any

FORM = "application/x-www-form-urlencoded"
#: The body of a request, and two of its headers as attributes.
TO_THE_QUEUE = (
    "Action=SendMessage&MessageBody=$util.urlEncode($input.body)"
    "&MessageAttribute.1.Name=signature&MessageAttribute.1.Value.DataType=String"
    "&MessageAttribute.1.Value.StringValue=$util.urlEncode($input.params('X-Signature'))"
    "&MessageAttribute.2.Name=stamp&MessageAttribute.2.Value.DataType=String"
    "&MessageAttribute.2.Value.StringValue=$util.urlEncode($input.params('X-Stamp'))"
)
#: A template that is not empty, and that gives an empty body.
NOTHING = '#set($nothing = "")'
HEADERS = ("X-Signature", "X-Stamp")


def resource(kind: str, needs: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:
    return {"Type": f"AWS::{kind}", "Properties": properties, "DependsOn": list(needs)}


def role(*allowed: str, taken_by: str = "apigateway.amazonaws.com") -> dict[str, Any]:
    """A role that a service takes, and that may do this with every queue."""
    taken = {"Effect": "Allow", "Principal": {"Service": taken_by}, "Action": "sts:AssumeRole"}
    document = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": list(allowed), "Resource": "*"}],
    }
    policies = [{"PolicyName": "may", "PolicyDocument": document}] if allowed else []
    return resource(
        "IAM::Role",
        AssumeRolePolicyDocument={"Version": "2012-10-17", "Statement": [taken]},
        Policies=policies,
    )


def integration(template: str = TO_THE_QUEUE, **more: Any) -> dict[str, Any]:
    """An integration with the queue, whose errors are 400 or 503."""
    queue = "arn:aws:apigateway:${AWS::Region}:sqs:path/${AWS::AccountId}/${Queue.QueueName}"
    codes = {"200": "", "400": "4\\d\\d", "503": "5\\d\\d"}
    return {
        "Type": "AWS",
        "IntegrationHttpMethod": "POST",
        "Uri": {"Fn::Sub": queue},
        "Credentials": {"Fn::GetAtt": ["Role", "Arn"]},
        "RequestParameters": {"integration.request.header.Content-Type": f"'{FORM}'"},
        "RequestTemplates": {FORM: template, "application/json": template},
        "PassthroughBehavior": "NEVER",
        "IntegrationResponses": [
            {
                "StatusCode": code,
                "ResponseTemplates": {"application/json": NOTHING},
                **({"SelectionPattern": pattern} if pattern else {}),
            }
            for code, pattern in codes.items()
        ],
        **more,
    }


MOCK = {
    "Type": "MOCK",
    "RequestTemplates": {"application/json": json.dumps({"statusCode": 405})},
    "PassthroughBehavior": "NEVER",
    "IntegrationResponses": [{"StatusCode": "405", "ResponseTemplates": {"application/json": NOTHING}}],
}


def parts(
    to_the_queue: Mapping[str, Any] | None = None, throttle: Mapping[str, float] | None = None
) -> dict[str, dict[str, Any]]:
    """The resources of a template. Its address is `v1/orders`."""
    api: dict[str, Any] = {"RestApiId": {"Ref": "Api"}}
    at = {**api, "ResourceId": {"Ref": "Orders"}, "AuthorizationType": "NONE"}
    required = {f"method.request.header.{name}": True for name in HEADERS}
    everywhere = {"ResourcePath": "/*", "HttpMethod": "*", **(throttle or {})}
    return {
        "Queue": resource("SQS::Queue", QueueName="orders"),
        "Role": role("sqs:SendMessage"),
        "Api": resource("ApiGateway::RestApi", Name="orders", EndpointConfiguration={"Types": ["REGIONAL"]}),
        "Orders": resource(
            "ApiGateway::Resource",
            **api,
            ParentId={"Fn::GetAtt": ["Api", "RootResourceId"]},
            PathPart="orders",
        ),
        "Validator": resource("ApiGateway::RequestValidator", **api, ValidateRequestParameters=True),
        "Post": resource(
            "ApiGateway::Method",
            **at,
            HttpMethod="POST",
            RequestParameters=required,
            RequestValidatorId={"Ref": "Validator"},
            Integration=to_the_queue or integration(),
            MethodResponses=[{"StatusCode": code} for code in ("200", "400", "503")],
        ),
        "Any": resource(
            "ApiGateway::Method",
            **at,
            HttpMethod="ANY",
            Integration=MOCK,
            MethodResponses=[{"StatusCode": "405"}],
        ),
        "Unknown": resource(
            "ApiGateway::GatewayResponse",
            **api,
            ResponseType="MISSING_AUTHENTICATION_TOKEN",
            StatusCode="404",
            ResponseTemplates={"application/json": '{"message": "Not Found"}'},
        ),
        "First": resource("ApiGateway::Deployment", ("Post", "Any", "Unknown"), **api),
        "Stage": resource(
            "ApiGateway::Stage",
            **api,
            StageName="v1",
            DeploymentId={"Ref": "First"},
            MethodSettings=[everywhere],
        ),
    }
