"""The messages of SQS: which of them it refuses, how dead letters go back, and copies of a message that a fault
delivers twice or out of order.

A standard queue delivers at least once, and guarantees no order
(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/standard-queues.html). moto checks less, and
delivers each message once. The refusals are those of `SendMessage`, with the texts that LocalStack recorded from AWS
(its test_sqs).
"""

import copy
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from moto.core.responses import ActionResult
from moto.core.utils import unix_time_millis
from moto.sqs.exceptions import InvalidParameterValue, MissingParameter, SQSException
from moto.sqs.models import Message, Queue, SQSBackend
from moto.sqs.responses import SQSResponse

from local.aws.events.delivery_faults import DeliveryFaults, QueueDelivery

#: What is not among the characters that `SendMessage` documents.
_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_add_message = Queue.add_message
_send_message = SQSBackend.send_message

#: Called with a queue's ARN and the seconds after which a message of it is visible.
Sent = Callable[[str, float], None]


class InvalidMessageContents(SQSException):
    """The message has a character that no message may have."""

    def __init__(self) -> None:
        valid = "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"
        super().__init__(
            "InvalidMessageContents", f"Invalid characters found. Valid unicode characters are {valid}"
        )


def play_queues(faults: DeliveryFaults[QueueDelivery], sent: Sent) -> None:
    """From now on moto's queues refuse what SQS refuses, and call `sent` instead of running functions themselves."""

    def send_message(
        backend: SQSBackend,
        queue_name: str,
        message_body: str,
        message_attributes: dict[str, Any] | None = None,
        **more: Any,
    ) -> Message:
        refuse(message_body, message_attributes or {}, backend.get_queue(queue_name))
        return _send_message(backend, queue_name, message_body, message_attributes, **more)

    def add_message(queue: Queue, message: Message) -> None:
        waiting, queue.lambda_event_source_mappings = queue.lambda_event_source_mappings, {}
        try:
            for number, delay in enumerate(faults.delays(QueueDelivery(queue.queue_arn, message.body))):
                each = _later(message, delay) if number or delay else message
                _add_message(queue, each)
                sent(queue.queue_arn, max(0.0, each.delayed_until - unix_time_millis()) / 1000)
        finally:
            queue.lambda_event_source_mappings = waiting

    SQSBackend.send_message = send_message  # type: ignore[method-assign, assignment]
    SQSResponse.start_message_move_task = _start_message_move_task  # type: ignore[attr-defined]
    Queue.add_message = add_message  # type: ignore[method-assign, assignment]


def _start_message_move_task(response: SQSResponse) -> ActionResult:
    """Redrive: a dead-letter queue's visible messages go to the destination, else to the queue that they came from.

    AWS moves them in the background, and starts no task if the caller may not send (authorization/requests.py).
    """
    backend, destination = response.sqs_backend, response._get_param("DestinationArn")  # noqa: SLF001
    name = response._get_param("SourceArn").rpartition(":")[2]  # noqa: SLF001
    sources = backend.list_dead_letter_source_queues(name)
    if not sources:
        raise InvalidParameterValue("Source queue must be configured as a Dead Letter Queue.")
    if destination is None and len(sources) > 1:
        raise NotImplementedError("several queues have these dead letters: moto keeps no message's origin")
    to = destination.rpartition(":")[2] if destination else sources[0].name
    dead = backend.get_queue(name)
    for message in dead.messages:
        dead._messages.remove(message)  # noqa: SLF001
        backend.send_message(to, message.body, message.message_attributes)
    return ActionResult({"TaskHandle": str(uuid.uuid4())})


def _later(message: Message, delay: float) -> Message:
    """A copy with the same id, which is received and deleted by itself."""
    copied = copy.deepcopy(message)
    copied.delayed_until = max(message.delayed_until, unix_time_millis()) + delay * 1000
    return copied


def refuse(body: str, attributes: Mapping[str, Mapping[str, Any]], queue: Queue) -> None:
    """Raises SQS's error for a message that the queue does not take."""
    if not body:
        raise MissingParameter("MessageBody")
    if _INVALID.search(body):
        raise InvalidMessageContents
    for name, value in attributes.items():
        kind = str(value.get("DataType", "")).partition(".")[0]
        if not value.get("BinaryValue" if kind == "Binary" else "StringValue"):
            raise InvalidParameterValue(
                f"Message (user) attribute '{name}' must contain a non-empty value of type '{kind}'."
            )
        if kind != "Binary" and _INVALID.search(value["StringValue"]):
            raise InvalidMessageContents
    most = int(queue.maximum_message_size)  # type: ignore[attr-defined]
    parts = [part for name, value in attributes.items() for part in (name, *value.values())]
    if sum(len(part if isinstance(part, bytes) else part.encode()) for part in (body, *parts)) > most:
        raise InvalidParameterValue(
            f"One or more parameters are invalid. Reason: Message must be shorter than {most} bytes."
        )
