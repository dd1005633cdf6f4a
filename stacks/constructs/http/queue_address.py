"""An address that puts what is posted into a queue, with no function in between.

So it answers everybody at once, however busy the functions of the account are. It is a REST API: an HTTP API's
integration with SQS passes on SQS's own answer, and only a REST API's has templates for an answer
(https://docs.aws.amazon.com/apigateway/latest/developerguide/models-mappings.html).
"""

from collections.abc import Mapping

from aws_cdk import Aws
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.constructs.accepted import accept
from stacks.constructs.grants import Grants
from stacks.constructs.http.throttle import REQUESTS_A_SECOND
from stacks.constructs.policy_parts import give
from stacks.names import Names

STAGE = "v1"
FORM = "application/x-www-form-urlencoded"
FORMS = (FORM, f"{FORM}; charset=utf-8", f"{FORM};charset=UTF-8", "application/json")
"""Slack sends the first. The last is what API Gateway takes a body for that names no type."""
NOTHING = "#set($nothing = '')"
"""Renders no text. Without a template SQS's own answer would be the body."""
NO_ROOM = "403|5\\d\\d"
"""Where SQS refused the role or failed: the request is not in the queue, and its sender hears so. What SQS refuses
as malformed is none of Slack's, and is answered as everything else is."""


class QueueAddress(Construct):
    """A POST to `url` becomes a message; `headers` become attributes of it, by their names there."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        names: Names,
        purpose: str,
        path: str,
        queue: sqs.Queue,
        headers: Mapping[str, str],
        description: str,
    ) -> None:
        super().__init__(scope, construct_id)
        role = iam.Role(
            self,
            "Role",
            role_name=names.role(f"{purpose}-address"),
            assumed_by=iam.ServicePrincipal("apigateway.amazonaws.com"),
            description=f"Puts what is posted to the address of {names.function(purpose)} into its queue",
        )
        policy = give(self, "Permissions", role, [Grants(["sqs:SendMessage"], [queue.queue_arn])])
        self.api = apigateway.RestApi(
            self,
            "Api",
            rest_api_name=names.function(purpose),
            description=description,
            endpoint_types=[apigateway.EndpointType.REGIONAL],
            # A role for logs is a setting of the whole account and region, which other stacks may need otherwise.
            cloud_watch_role=False,
            deploy_options=apigateway.StageOptions(
                stage_name=STAGE,
                # The API's own metrics are free; those of its methods are not.
                metrics_enabled=False,
                throttling_rate_limit=REQUESTS_A_SECOND,
                throttling_burst_limit=REQUESTS_A_SECOND,
            ),
        )
        self.method = self.api.root.add_resource(path).add_method(
            "POST",
            self._to(queue, role, headers),
            request_parameters={f"method.request.header.{header}": True for header in headers.values()},
            request_validator_options=apigateway.RequestValidatorOptions(validate_request_parameters=True),
            method_responses=[apigateway.MethodResponse(status_code=code) for code in ("200", "503")],
        )
        self.method.node.add_dependency(policy)
        # Another path or method: by itself API Gateway says 403.
        self.api.add_gateway_response(
            "Elsewhere",
            type=apigateway.ResponseType.MISSING_AUTHENTICATION_TOKEN,
            status_code="404",
            templates={"application/json": '{"message":"Not Found"}'},
        )
        self.api.node.try_remove_child("Endpoint")  # an output that nobody reads
        self.url = self.api.url_for_path(f"/{path}")
        for resource, rule in ((self.api, "APIG2"), (self.api.deployment_stage, "APIG1")):
            accept(resource, rule, ACCEPTED[rule])
        for rule in ("APIG3", "APIG6"):
            accept(self.api.deployment_stage, rule, ACCEPTED[rule])

    @staticmethod
    def _to(queue: sqs.Queue, role: iam.Role, headers: Mapping[str, str]) -> apigateway.AwsIntegration:
        """SQS by its query protocol (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/
        sqs-making-api-requests-xml.html)."""
        form = ["Action=SendMessage", "MessageBody=$util.urlEncode($input.body)"]
        for number, (name, header) in enumerate(headers.items(), 1):
            attribute = f"MessageAttribute.{number}"
            form += [
                f"{attribute}.Name={name}",
                f"{attribute}.Value.DataType=String",
                f"{attribute}.Value.StringValue=$util.urlEncode($input.params('{header}'))",
            ]
        return apigateway.AwsIntegration(
            service="sqs",
            path=f"{Aws.ACCOUNT_ID}/{queue.queue_name}",
            options=apigateway.IntegrationOptions(
                credentials_role=role,
                passthrough_behavior=apigateway.PassthroughBehavior.NEVER,
                request_parameters={"integration.request.header.Content-Type": f"'{FORM}'"},
                request_templates=dict.fromkeys(FORMS, "&".join(form)),
                integration_responses=[
                    apigateway.IntegrationResponse(
                        status_code="200", response_templates={"application/json": NOTHING}
                    ),
                    apigateway.IntegrationResponse(
                        status_code="503",
                        selection_pattern=NO_ROOM,
                        response_templates={"application/json": NOTHING},
                    ),
                ],
            ),
        )


ACCEPTED = {
    "APIG1": "An access log of a REST API needs a role that is set for the whole account; the metrics count requests.",
    "APIG2": "The two headers are required; the body is a form, and its signature is checked over its bytes.",
    "APIG3": "The stage has a throttle, and whoever posts without Slack's signature reaches only a queue.",
    "APIG6": "A log of requests would hold what people say, and needs a role that is set for the whole account.",
}
