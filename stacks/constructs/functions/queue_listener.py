"""An event source mapping from a queue to a function.

The permission to take from the queue is Permissions.receiving.
"""

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.constructs.functions.functions import Function


def listen(
    scope: Construct,
    construct_id: str,
    *,
    queue: sqs.IQueue,
    function: Function,
    batch: int,
    at_once: int,
    window: Duration | None = None,
    each_fails_alone: bool = True,
) -> None:
    """At most `at_once` batches are at work, so that a flood takes no other function's place. A batch gathers for a
    `window`. With `each_fails_alone` the function answers which messages failed; else a failure is all of a batch's.
    """
    mapping = lambda_.CfnEventSourceMapping(
        scope,
        construct_id,
        event_source_arn=queue.queue_arn,
        function_name=function.function.function_name,
        batch_size=batch,
        maximum_batching_window_in_seconds=None if window is None else int(window.to_seconds()),
        function_response_types=["ReportBatchItemFailures"] if each_fails_alone else None,
        scaling_config=lambda_.CfnEventSourceMapping.ScalingConfigProperty(maximum_concurrency=at_once),
    )
    mapping.node.add_dependency(function)
