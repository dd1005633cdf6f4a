"""An HTTP API in front of one function, with a low request rate and without request bodies in its log.

A stage has a throttle of its own, and everybody who reaches it uses it up, signed or not. So the name of the stage is
one that strangers cannot guess: the UUID in the id of the stack. At any other path of the host no stage answers, so
only the account's limit for all its APIs should count: docs/how-to/set-up/verify-first-deploy.md has how to see it
(https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html).
"""

from aws_cdk import Aws, Fn, RemovalPolicy, Stack
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from constructs import Construct

from stacks.constructs.functions.functions import LOG_RETENTION
from stacks.constructs.http.throttle import Throttle


def http_address(
    scope: Construct,
    *,
    name: str,
    description: str,
    integration: str,
    function: lambda_.IFunction,
    paths: list[str],
    throttle: Throttle,
    authorizer: apigateway.IHttpRouteAuthorizer | None = None,
) -> tuple[str, list[apigateway.HttpRoute]]:
    """Its address up to the stage, and its routes: a POST for each path. `integration` is its id in the template."""
    api = apigateway.HttpApi(
        scope,
        "Api",
        api_name=name,
        description=description,
        create_default_stage=False,
    )
    leads_to = HttpLambdaIntegration(integration, function)
    routes = [
        route
        for path in paths
        for route in api.add_routes(
            path=path, methods=[apigateway.HttpMethod.POST], integration=leads_to, authorizer=authorizer
        )
    ]
    log_group = logs.LogGroup(
        scope,
        "Requests",
        log_group_name=f"/aws/apigateway/{name}",
        retention=LOG_RETENTION,
        removal_policy=RemovalPolicy.DESTROY,
    )
    stage = apigateway.HttpStage(
        scope,
        "Stage",
        http_api=api,
        stage_name=Fn.select(2, Fn.split("/", Aws.STACK_ID)),
        auto_deploy=True,
        throttle=apigateway.ThrottleSettings(
            rate_limit=throttle.requests_a_second, burst_limit=throttle.burst
        ),
    )
    plain = stage.node.default_child
    assert isinstance(plain, apigateway.CfnStage)  # noqa: S101 -- what an HttpStage is made of
    # Time, source and answer of a request; never its content or its sender.
    fields = ("requestId", "requestTime", "routeKey", "status", "responseLatency", "integrationError")
    plain.access_log_settings = apigateway.CfnStage.AccessLogSettingsProperty(
        destination_arn=log_group.log_group_arn,
        format=Stack.of(scope).to_json_string(
            {**{f: f"$context.{f}" for f in fields}, "ip": "$context.identity.sourceIp"}
        ),
    )
    return f"{api.api_endpoint}/{stage.stage_name}", routes
