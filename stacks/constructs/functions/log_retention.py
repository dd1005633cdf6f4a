"""Log groups that CDK makes for its own functions get our retention, and go when the lab goes."""

import jsii
from aws_cdk import CfnDeletionPolicy, IAspect
from aws_cdk import aws_logs as logs
from constructs import IConstruct

RETENTION_DAYS = 30


@jsii.implements(IAspect)
class KeepLogsShort:
    """Applied to every log group, whoever made it."""

    def visit(self, node: IConstruct) -> None:
        """Called by the CDK for each construct."""
        if isinstance(node, logs.CfnLogGroup):
            node.retention_in_days = RETENTION_DAYS
            node.cfn_options.deletion_policy = CfnDeletionPolicy.DELETE
            node.cfn_options.update_replace_policy = CfnDeletionPolicy.DELETE
