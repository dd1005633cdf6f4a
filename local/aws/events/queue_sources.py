"""Event source mappings of SQS queues: messages, in batches, to Lambda functions.

Lambda receives in the name of the function's role, deletes what the function took, and leaves what it named as failed
for the queue's visibility timeout. At most `MaximumConcurrency` batches are at work at a time.
https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
"""

import base64
import json
import logging
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import moto.awslambda.models as moto_lambda
from botocore.exceptions import ClientError
from moto.sqs.models import Message, Queue

from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext
from local.aws.functions.runtime import Throttled
from local.aws.functions.service import LambdaService
from local.aws.iam import LAMBDA
from local.clock import VirtualClock

LOG = logging.getLogger(__name__)
#: Batches at work at a time where a mapping names no maximum: with how many pollers Lambda begins.
POLLERS = 5
#: Messages that one call of SQS gives.
MOST_RECEIVED = 10
#: Seconds until an empty queue is looked at again for messages that become visible: SQS's clock has whole seconds.
A_LITTLE_LATER = 1.0

_add_message = Queue.add_message


class QueueSources:
    """All mappings from queues of one embedded cloud."""

    def __init__(
        self, service_context: ServiceContext, clock: VirtualClock, functions: LambdaService
    ) -> None:
        self._service_context = service_context
        self._clock = clock
        self._functions = functions
        self._lock = threading.Lock()
        self._at_work: dict[str, int] = {}

    def install(self) -> None:
        """Take moto's seam: it would run the function on the sender's thread."""
        sources = self

        def add_message(queue: Queue, message: Message) -> None:
            waiting, queue.lambda_event_source_mappings = queue.lambda_event_source_mappings, {}
            try:
                _add_message(queue, message)
            finally:
                queue.lambda_event_source_mappings = waiting
            sources._look(queue.queue_arn, message.delayed_until / 1000 - sources._clock.time())

        Queue.add_message = add_message  # type: ignore[method-assign, assignment]

    def _look(self, queue: str, delay: float = 0.0) -> None:
        for mapping in self._mappings(queue):
            self._clock.spawn(f"queue-to-{mapping.function_arn}", partial(self._poll, mapping, delay))

    def _mappings(self, queue: str) -> list[Any]:
        _, _, _, region, account, _ = queue.split(":")
        found = moto_lambda.lambda_backends[account][region]._event_source_mappings.values()  # noqa: SLF001 (moto lists copies only)
        return [mapping for mapping in found if mapping.event_source_arn == queue and mapping.enabled]

    def _poll(self, mapping: Any, delay: float) -> None:
        self._clock.sleep(max(0.0, delay) + float(mapping.max_batch_window or 0))
        most = int((mapping.scaling_config or {}).get("MaximumConcurrency") or POLLERS)
        with self._lock:
            if self._at_work.get(mapping.uuid, 0) >= most:
                return
            self._at_work[mapping.uuid] = self._at_work.get(mapping.uuid, 0) + 1
        try:
            while mapping in self._mappings(mapping.event_source_arn) and self._batch(mapping):
                pass
        except ClientError as error:
            LOG.warning("%s receives nothing: %s", mapping.function_arn, error)
        finally:
            with self._lock:
                self._at_work[mapping.uuid] -= 1

    def _batch(self, mapping: Any) -> bool:
        """One batch; False where no message is visible."""
        role = self._functions.role(mapping.function_arn)
        queue = mapping.event_source_arn.rpartition(":")[2]
        url = self._service_context.call("sqs", "get_queue_url", {"QueueName": queue})["QueueUrl"]
        found = self._service_context.call(
            "sqs",
            "receive_message",
            {
                "QueueUrl": url,
                "MaxNumberOfMessages": min(MOST_RECEIVED, mapping.batch_size),
                "MessageSystemAttributeNames": ["All"],
                "MessageAttributeNames": ["All"],
            },
            role=role,
            by=LAMBDA,
        ).get("Messages", [])
        if not found:
            return False
        failed = self._bring(mapping, found)
        done = [each for each in found if each["MessageId"] not in failed]
        if done:
            entries = [
                {"Id": str(number), "ReceiptHandle": each["ReceiptHandle"]}
                for number, each in enumerate(done)
            ]
            deleted = {"QueueUrl": url, "Entries": entries}
            self._service_context.call("sqs", "delete_message_batch", deleted, role=role, by=LAMBDA)
        if failed:
            named = {"QueueUrl": url, "AttributeNames": ["VisibilityTimeout"]}
            said = self._service_context.call("sqs", "get_queue_attributes", named)["Attributes"]
            self._look(mapping.event_source_arn, float(said["VisibilityTimeout"]) + A_LITTLE_LATER)
        return True

    def _bring(self, mapping: Any, messages: Sequence[Document]) -> set[str]:
        """Runs the function with a batch; the ids of the messages that it did not take."""
        everything = {each["MessageId"] for each in messages}
        records = [_record(each, mapping.event_source_arn) for each in messages]
        try:
            outcome = self._functions.run(mapping.function_arn, json.dumps({"Records": records}).encode())
        except Throttled:
            return everything
        if outcome.failed:
            return everything
        if "ReportBatchItemFailures" not in (mapping.function_response_types or []):
            return set()
        answer = json.loads(outcome.payload or b"null") or {}
        named = {each.get("itemIdentifier") for each in answer.get("batchItemFailures") or []}
        return named if named.issubset(everything) else everything


def _record(message: Document, queue: str) -> Document:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message.get("Attributes", {}),
        "messageAttributes": {
            name: _attribute(value) for name, value in message.get("MessageAttributes", {}).items()
        },
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue,
        "awsRegion": queue.split(":")[3],
    }


def _attribute(value: Document) -> Document:
    """SQS keeps the two lists for later, and Lambda passes them on empty."""
    text = {"stringValue": value["StringValue"]} if "StringValue" in value else {}
    blob = {"binaryValue": base64.b64encode(value["BinaryValue"]).decode()} if "BinaryValue" in value else {}
    return {**text, **blob, "stringListValues": [], "binaryListValues": [], "dataType": value["DataType"]}
