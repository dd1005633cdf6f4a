"""A Lambda function of the lab: the shared code asset and layer, and a role and a log group of its own.

The stacks know functions by the name of their handler only. Permissions are in permissions.py.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lamplighter.lab.model import Lab
from stacks import layer
from stacks.constructs.accepted import accept
from stacks.constructs.grants import Grants
from stacks.constructs.policy_parts import give
from stacks.function_code import stage
from stacks.names import Names

RUNTIME = lambda_.Runtime.PYTHON_3_13
ARCHITECTURE = lambda_.Architecture.ARM_64
EVENT_RETRIES = 2
TRACING = Grants(
    ["xray:PutTraceSegments", "xray:PutTelemetryRecords"],
    ["*"],
    wide="X-Ray's writing actions take no resource.",
)
LOG_RETENTION = logs.RetentionDays.ONE_MONTH


class FunctionCode(Construct):
    """The code asset and the dependency layer that all functions of a stack share."""

    def __init__(self, scope: Construct, construct_id: str, *, lab: Lab) -> None:
        super().__init__(scope, construct_id)
        self.tracing = lab.observability.tracing
        with tempfile.TemporaryDirectory(prefix="lamplighter-function-") as folder:
            code = Path(folder) / "code.zip"
            digest = stage(lab, code)
            self.code = lambda_.Code.from_asset(str(code), asset_hash=digest)
            # The CDK copies it into the assembly now, while the file exists.
            self.code.bind(self)
        self.layer = lambda_.LayerVersion(
            self,
            "Dependencies",
            code=lambda_.Code.from_asset(
                str(layer.ensure()),
                # The digest of its inputs replaces reading it.
                asset_hash=layer.digest(),
            ),
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[ARCHITECTURE],
            description="lambdas/requirements.txt for Lambda",
        )


class Function(Construct):
    """One function with a role of its own."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        handler: str,
        names: Names,
        code: FunctionCode,
        environment: Mapping[str, str],
        permissions: Sequence[Grants],
        description: str,
        memory_mib: int,
        timeout: Duration,
        dead_letters: sqs.IQueue | None = None,
        events_good_for: Duration | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        log_group = logs.LogGroup(
            self,
            "Logs",
            log_group_name=f"/aws/lambda/{names.function(name)}",
            retention=LOG_RETENTION,
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.role = iam.Role(
            self,
            "Role",
            role_name=names.role(name),
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"What the function {names.function(name)} may do",
        )
        writing = Grants(
            ["logs:CreateLogStream", "logs:PutLogEvents"],
            [log_group.log_group_arn],
            wide="The streams of the function's own log group; Lambda names them.",
        )
        tracing = [TRACING] if code.tracing else []
        policy = give(self, "Permissions", self.role, [*permissions, writing, *tracing])
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=names.function(name),
            description=description,
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            handler=f"handlers.{handler}.handler",
            code=code.code,
            layers=[code.layer],
            role=self.role,
            log_group=log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            memory_size=memory_mib,
            timeout=timeout,
            # An event goes here if the function failed on it three times, or if it is too old.
            dead_letter_queue=dead_letters,
            # By default Lambda retries an event for six hours.
            max_event_age=events_good_for,
            retry_attempts=None if events_good_for is None else EVENT_RETRIES,
            environment={
                "LAB_FILE": "lab.json",
                "CLUSTER_NAME": names.cluster,
                "LEDGER_TABLE": names.ledger,
                "POWERTOOLS_SERVICE_NAME": names.function(name),
                "POWERTOOLS_LOG_LEVEL": "INFO",
                **environment,
            },
        )
        self._plain = cast("lambda_.CfnFunction", self.function.node.default_child)
        if code.tracing:
            # The construct's own property would add another policy to the role.
            self._plain.tracing_config = lambda_.CfnFunction.TracingConfigProperty(mode="Active")
        accept(
            self.function,
            "L1",
            "Python 3.13 is the version that the tests and the embedded cloud run with.",
        )
        # A function that runs before its role has its permissions fails once with a useless message.
        self.function.node.add_dependency(policy)

    def reserve(self, places: int | None) -> None:
        """Lambda keeps places for the function alone: so many run at once, whatever the rest of the account does."""
        self._plain.reserved_concurrent_executions = places
