"""The ledger: the one table of a lab, and the only resource that a destroy keeps.

Its name is fixed and it is retained, so the history of a lab survives the lab. A later deploy uses it again if
CloudFormation imports existing resources (docs/how-to/set-up/deploy.md).
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
            # The stream tells Slack and the pages which item changed; they then read it.
            stream=dynamodb.StreamViewType.KEYS_ONLY,
            # DynamoDB itself deletes old items; receipts have no expiry date.
            time_to_live_attribute="ttl",
            # Except where a failed deploy has just created it: it would be in the way of the next deploy. So it has no
            # deletion protection: DynamoDB would refuse that delete, and the rollback would fail. Whoever deletes a
            # table with point-in-time recovery has its backup for 35 days.
            removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )
        stream = self.table.table_stream_arn
        assert stream is not None  # noqa: S101 -- asked for above
        self.stream_arn: str = stream
