"""An event source mapping from a queue to a function, which names the messages of a batch that failed.

The permission to take from the queue is Permissions.receiving.
"""

from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.constructs.functions.functions import Function


def listen(
    scope: Construct, construct_id: str, *, queue: sqs.IQueue, function: Function, batch: int, at_once: int
) -> None:
    """At most `at_once` batches are at work, so that a flood takes no other function's place."""
    mapping = lambda_.CfnEventSourceMapping(
        scope,
        construct_id,
        event_source_arn=queue.queue_arn,
        function_name=function.function.function_name,
        batch_size=batch,
        function_response_types=["ReportBatchItemFailures"],
        scaling_config=lambda_.CfnEventSourceMapping.ScalingConfigProperty(maximum_concurrency=at_once),
    )
    mapping.node.add_dependency(function)
