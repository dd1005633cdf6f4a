"""How many messages the lab's queue of dead letters has."""

from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.values.whole_number import whole_number

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType

_COUNTS: "tuple[QueueAttributeNameType, ...]" = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
)


@border
class DeadLetters:
    """`queue` is its address."""

    def __init__(self, queue: str, sqs: "SQSClient | None" = None) -> None:
        self._queue = queue
        self._sqs: SQSClient = sqs or client("sqs")

    def count(self) -> int:
        """All of them, also those that somebody is reading. SQS counts a minute late."""
        with outside("sqs:GetQueueAttributes", self._queue):
            answer = self._sqs.get_queue_attributes(QueueUrl=self._queue, AttributeNames=_COUNTS)
        total = 0
        for name in _COUNTS:
            count = whole_number(answer["Attributes"][name])
            if count is None:
                raise ValueError(f"SQS counts {answer['Attributes']}")
            total += count
        return total
