"""Event source mappings of SQS queues: messages, in batches, to Lambda functions.

Lambda receives in the name of the function's role, deletes what the function took, and leaves what it named as failed
for the queue's visibility timeout. At most `MaximumConcurrency` batches are at work at a time. Where a mapping has a
batching window, several pollers gather side by side, and a message goes to one that has none yet: AWS does not say
which of them receives it. https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
"""

import base64
import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import moto.awslambda.models as moto_lambda
from botocore.exceptions import ClientError

from local.aws.api.own_services import Document
from local.aws.api.service_context import ServiceContext
from local.aws.events.delivery_faults import DeliveryFaults, QueueDelivery
from local.aws.events.queue_messages import play_queues
from local.aws.functions.runtime import Throttled
from local.aws.functions.service import LambdaService
from local.aws.functions.worker import Outcome
from local.aws.iam import LAMBDA
from local.clock import VirtualClock

LOG = logging.getLogger(__name__)
#: Batches at work at a time where a mapping names no maximum: with how many pollers Lambda begins.
POLLERS = 5
#: Messages that one call of SQS receives or deletes.
MOST_AT_ONCE = 10
#: Seconds before a throttled batch is tried again; each further try waits twice as long, at most the second number
#: [est].
FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 1.0, 60.0
#: Seconds until an empty queue is looked at again for messages that become visible: SQS's clock has whole seconds.
A_LITTLE_LATER = 1.0
_CHANGES = ("create_event_source_mapping", "update_event_source_mapping")
_changes = {name: getattr(moto_lambda.LambdaBackend, name) for name in _CHANGES}
#: With a batching window, however short, Lambda may wait so long for the messages of a quiet queue ("Polling and
#: batching behavior" there).
QUIET_SECONDS = 20.0


class QueueSources:
    """All mappings from queues of one embedded cloud."""

    def __init__(
        self, service_context: ServiceContext, clock: VirtualClock, functions: LambdaService
    ) -> None:
        self._service_context = service_context
        self._clock = clock
        self._functions = functions
        self._lock = threading.Lock()
        #: By mapping: pollers that gather a batch or have one at work, and batches at work.
        self._polling: Counter[str] = Counter()
        self._at_work: Counter[str] = Counter()
        #: Changes the deliveries of queues by a script.
        self.faults = DeliveryFaults[QueueDelivery]()

    def install(self) -> None:
        """Take moto's seam: it would run the function on the sender's thread."""
        play_queues(self.faults, self._look)
        for name, change in _changes.items():
            setattr(moto_lambda.LambdaBackend, name, self._followed(change))

    def _followed(self, change: Callable[..., Any]) -> Callable[..., Any]:
        """The change of a mapping, after which it takes what waits already."""

        def changed(*given: Any) -> Any:
            mapping = change(*given)
            if mapping is not None and ":sqs:" in mapping.event_source_arn:
                for _ in range(POLLERS):
                    self._look(mapping.event_source_arn, 0.0)
            return mapping

        return changed

    def _look(self, queue: str, delay: float) -> None:
        for mapping in self._mappings(queue):
            self._clock.spawn(f"queue-to-{mapping.function_arn}", partial(self._poll, mapping, delay))

    def _mappings(self, queue: str) -> list[Any]:
        _, _, _, region, account, _ = queue.split(":")
        found = moto_lambda.lambda_backends[account][region]._event_source_mappings.values()  # noqa: SLF001 (moto lists copies only)
        return [mapping for mapping in found if mapping.event_source_arn == queue and mapping.enabled]

    def _poll(self, mapping: Any, delay: float) -> None:
        self._clock.sleep(delay)
        if not self._counted(self._polling, mapping, POLLERS if mapping.max_batch_window else _most(mapping)):
            return
        try:
            while mapping in self._mappings(mapping.event_source_arn) and self._batch(mapping):
                pass
        except ClientError as error:
            LOG.warning("%s receives nothing: %s", mapping.function_arn, error)
        finally:
            self._polling[mapping.uuid] -= 1

    def _counted(self, counter: Counter[str], mapping: Any, most: int) -> bool:
        """Counts one more of the mapping's, unless there are so many."""
        with self._lock:
            free = counter[mapping.uuid] < most
            counter[mapping.uuid] += free
        return free

    def _batch(self, mapping: Any) -> bool:
        """One batch; False where no message is visible."""
        name = mapping.event_source_arn.rpartition(":")[2]
        queue = {
            "QueueUrl": self._service_context.call("sqs", "get_queue_url", {"QueueName": name})["QueueUrl"]
        }
        received_at, found = self._clock.time(), self._received(mapping, queue, mapping.batch_size)
        if not found:
            return False
        if mapping.max_batch_window:
            self._clock.sleep(max(QUIET_SECONDS, float(mapping.max_batch_window)))
            found += self._received(mapping, queue, mapping.batch_size - len(found))
        named = self._call(mapping, "get_queue_attributes", **queue, AttributeNames=["VisibilityTimeout"])
        visible_at = received_at + float(named["Attributes"]["VisibilityTimeout"])
        failed = self._bring_in_turn(mapping, found, visible_at)
        done = [each for each in found if each["MessageId"] not in failed]
        for start in range(0, len(done), MOST_AT_ONCE):
            entries = [
                {"Id": str(number), "ReceiptHandle": each["ReceiptHandle"]}
                for number, each in enumerate(done[start : start + MOST_AT_ONCE])
            ]
            self._call(mapping, "delete_message_batch", **queue, Entries=entries)
        if failed:
            again = max(0.0, visible_at - self._clock.time()) + A_LITTLE_LATER
            self._look(mapping.event_source_arn, again)
        return True

    def _received(self, mapping: Any, queue: Document, wanted: int) -> list[Document]:
        """So many messages, or as many as are visible."""
        found: list[Document] = []
        while len(found) < wanted:
            most = min(MOST_AT_ONCE, wanted - len(found))
            names = {"MessageSystemAttributeNames": ["All"], "MessageAttributeNames": ["All"]}
            answer = self._call(mapping, "receive_message", **queue, **names, MaxNumberOfMessages=most)
            more = answer.get("Messages", [])
            found += more
            if len(more) < most:
                break
        return found

    def _call(self, mapping: Any, operation: str, **request: object) -> Document:
        """A call of SQS in the name of the function's role."""
        role = self._functions.role(mapping.function_arn)
        return self._service_context.call("sqs", operation, request, role=role, by=LAMBDA)

    def _bring_in_turn(self, mapping: Any, messages: Sequence[Document], visible_at: float) -> set[str]:
        """Waits until fewer batches than `MaximumConcurrency` are at work."""
        while not self._counted(self._at_work, mapping, _most(mapping)):
            if self._clock.time() + A_LITTLE_LATER >= visible_at:
                return {each["MessageId"] for each in messages}
            self._clock.sleep(A_LITTLE_LATER)
        try:
            return self._bring(mapping, messages, visible_at)
        finally:
            self._at_work[mapping.uuid] -= 1

    def _bring(self, mapping: Any, messages: Sequence[Document], visible_at: float) -> set[str]:
        """Runs the function with a batch; the ids of the messages that it did not take."""
        everything = {each["MessageId"] for each in messages}
        records = [_record(each, mapping.event_source_arn) for each in messages]
        outcome = self._run(mapping.function_arn, json.dumps({"Records": records}).encode(), visible_at)
        if outcome is None or outcome.failed:
            return everything
        if "ReportBatchItemFailures" not in (mapping.function_response_types or []):
            return set()
        return _failed(outcome.payload, everything)

    def _run(self, function: str, payload: bytes, visible_at: float) -> Outcome | None:
        """Tries a throttled batch again until its messages are visible again; None if it never ran
        (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html)."""
        delay = FIRST_RETRY_SECONDS
        while True:
            try:
                return self._functions.run(function, payload)
            except Throttled:
                if self._clock.time() + delay >= visible_at:
                    return None
            self._clock.sleep(delay)
            delay = min(2 * delay, LONGEST_RETRY_SECONDS)


def _most(mapping: Any) -> int:
    """How many batches of the mapping may be at work at a time."""
    return int((mapping.scaling_config or {}).get("MaximumConcurrency") or POLLERS)


def _failed(answer: bytes, everything: set[str]) -> set[str]:
    """The messages that a function names as failed; all of them, if its answer has another form
    (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html)."""
    try:
        named = (json.loads(answer or b"null") or {}).get("batchItemFailures") or []
        failed = {each["itemIdentifier"] for each in named}
    except (ValueError, TypeError, KeyError, AttributeError):
        return everything
    return failed if failed.issubset(everything) else everything


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
