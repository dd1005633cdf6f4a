"""Gives the log groups of CDK's own functions our retention, and deletes them with the lab."""

import jsii
from aws_cdk import CfnDeletionPolicy, IAspect
from aws_cdk import aws_logs as logs
from constructs import IConstruct

RETENTION_DAYS = 30


@jsii.implements(IAspect)
class KeepLogsShort:
    """Visits every log group of the app."""

    def visit(self, node: IConstruct) -> None:
        """Called by the CDK for each construct."""
        if isinstance(node, logs.CfnLogGroup):
            node.retention_in_days = RETENTION_DAYS
            node.cfn_options.deletion_policy = CfnDeletionPolicy.DELETE
            node.cfn_options.update_replace_policy = CfnDeletionPolicy.DELETE
