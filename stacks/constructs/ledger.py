"""The ledger: the one table, and the one thing that a destroy leaves behind.

Its name is fixed and it is retained, so that the history of a lab outlives it. A later deploy takes it
up again when CloudFormation is told to import what exists (docs/how-to/set-up/deploy.md).
"""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct


class Ledger(Construct):
    """A table of pk and sk, paid by request, with 35 days of point-in-time recovery."""

    def __init__(self, scope: Construct, construct_id: str, *, table_name: str) -> None:
        super().__init__(scope, construct_id)
        self.table = dynamodb.Table(
            self,
            "Table",
            table_name=table_name,
            partition_key=dynamodb.Attribute(name="pk", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="sk", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            # Who shows what stands in it (Slack, the pages) is told which item moved, and reads it then.
            stream=dynamodb.StreamViewType.KEYS_ONLY,
            # What is long over is dropped by DynamoDB itself; receipts have no such date.
            time_to_live_attribute="ttl",
            removal_policy=RemovalPolicy.RETAIN,
        )
        stream = self.table.table_stream_arn
        assert stream is not None  # noqa: S101 -- asked for above
        self.stream_arn: str = stream
