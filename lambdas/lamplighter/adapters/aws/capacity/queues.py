"""SQS: whether a queue exists."""

from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, error_code, outside
from lamplighter.adapters.border import border

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

NO_QUEUE = {"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"}


@border
def exists(name: str, sqs: "SQSClient | None" = None) -> bool:
    """Whether the account has a queue of this name in the region. Raises OutsideFailed."""
    made: SQSClient = sqs or client("sqs")
    with outside("sqs:GetQueueUrl", name):
        try:
            made.get_queue_url(QueueName=name)
        except made.exceptions.ClientError as error:
            if error_code(error) not in NO_QUEUE:
                raise
            return False
    return True
