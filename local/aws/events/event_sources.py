"""Event source mappings: records of a DynamoDB stream, filtered and in batches, to Lambda functions.

As Lambda does (https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-eventsourcemapping.html), it sends one
batch at a time, in order. It sends a failed batch again as a whole, until its retries or the age of its records are
used up; then it informs the on-failure destination. moto keeps the mappings.
"""

import json
import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import moto.awslambda.models as moto_lambda

from local.aws.api.own_services import Document
from local.aws.events.event_pattern import matches
from local.aws.functions.runtime import Throttled
from local.aws.functions.service import LambdaService
from local.aws.functions.worker import Outcome
from local.clock import VirtualClock

LOG = logging.getLogger(__name__)
#: Seconds before the first retry; each further one waits twice as long, at most the second number [est].
FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 1.0, 60.0
#: The log text for a batch that never reached its function.
THROTTLED = Outcome(b"Rate Exceeded.", failed=True)

#: Sends a text to a queue or topic by ARN, in the name of a role.
Deliver = Callable[[str, str, dict[str, str], str], None]


class EventSources:
    """All mappings of one embedded cloud."""

    def __init__(self, clock: VirtualClock, functions: LambdaService, deliver: Deliver) -> None:
        self._clock = clock
        self._functions = functions
        self._deliver = deliver
        self._lock = threading.Lock()
        self._pollers: dict[str, _Poller] = {}

    def happened(self, stream: str, record: Document) -> None:
        """Called after a write to a table: the listeners get the record soon."""
        _, _, _, region, account, *_ = stream.split(":")
        for mapping in list(moto_lambda.lambda_backends[account][region]._event_source_mappings.values()):  # noqa: SLF001 (moto lists copies only)
            if mapping.event_source_arn == stream and mapping.enabled and _wanted(mapping, record):
                with self._lock:
                    poller = self._pollers.setdefault(
                        mapping.uuid, _Poller(mapping, self._clock, self._functions, self._deliver)
                    )
                poller.take(record)


class _Poller:
    """The waiting records of one mapping, and the thread that sends them while there are any."""

    def __init__(self, mapping: Any, clock: VirtualClock, functions: LambdaService, deliver: Deliver) -> None:
        self._mapping = mapping
        self._clock = clock
        self._functions = functions
        self._deliver = deliver
        self._lock = threading.Lock()
        self._waiting: list[Document] = []
        self._running = False

    def take(self, record: Document) -> None:
        with self._lock:
            self._waiting.append(record)
            if not self._running:
                self._running = True
                self._clock.spawn(f"stream-to-{self._mapping.function_arn}", self._run)

    def _run(self) -> None:
        while True:
            self._clock.sleep(float(self._mapping.max_batch_window or 0))
            with self._lock:
                batch = self._waiting[: self._mapping.batch_size]
                del self._waiting[: len(batch)]
            try:
                self._bring(batch)
            except Exception:
                LOG.exception("records for %s could not be brought", self._mapping.function_arn)
            with self._lock:
                if not self._waiting:
                    self._running = False
                    return

    def _bring(self, batch: list[Document]) -> None:
        first = float(batch[0]["dynamodb"]["ApproximateCreationDateTime"])
        tries, delay = 0, FIRST_RETRY_SECONDS
        most, oldest = self._mapping.max_retry_attempts, self._mapping.max_record_age
        while self._stands():
            outcome = self._once(json.dumps({"Records": batch}).encode())
            if outcome is not None and not outcome.failed:
                batch = self._left(batch, outcome)
                if not batch:
                    return
            tries += outcome is not None
            if most is not None and 0 <= most < tries and outcome is not None:
                self._bury(batch, outcome, tries, "RetryAttemptsExhausted")
                return
            self._clock.sleep(delay)
            delay = min(2 * delay, LONGEST_RETRY_SECONDS)
            if oldest is not None and 0 <= oldest < self._clock.time() - first:
                self._bury(batch, outcome or THROTTLED, tries, "RecordAgeExceeded")
                return

    def _once(self, payload: bytes) -> Outcome | None:
        """One try; None if it was throttled, because that does not count as a try."""
        try:
            return self._functions.run(self._mapping.function_arn, payload)
        except Throttled:
            return None

    def _left(self, batch: list[Document], outcome: Outcome) -> list[Document]:
        """The records to send again: from the first one that the function names; all, if it names none of them.

        https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
        """
        if "ReportBatchItemFailures" not in (self._mapping.function_response_types or []):
            return []
        answer = json.loads(outcome.payload or b"null")
        named = (answer or {}).get("batchItemFailures") if isinstance(answer, dict | None) else None
        if not named:
            return []
        numbers = [record["dynamodb"]["SequenceNumber"] for record in batch]
        try:
            return batch[min(numbers.index(each["itemIdentifier"]) for each in named) :]
        except (KeyError, TypeError, ValueError):
            return batch

    def _stands(self) -> bool:
        _, _, _, region, account, *_ = self._mapping.arn.split(":")
        found = moto_lambda.lambda_backends[account][region]._event_source_mappings  # noqa: SLF001
        return self._mapping.uuid in found

    def _bury(self, batch: list[Document], outcome: Outcome, tries: int, condition: str) -> None:
        """Tells the on-failure destination where the records were, but not their content."""
        target = ((self._mapping.destination_config or {}).get("OnFailure") or {}).get("Destination")
        if not target:
            return
        moment = self._clock.now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        first, last = batch[0]["dynamodb"], batch[-1]["dynamodb"]
        letter = {
            "requestContext": {
                "requestId": str(uuid.uuid4()),
                "functionArn": self._mapping.function_arn,
                "condition": condition,
                "approximateInvokeCount": tries,
            },
            "responseContext": {
                "statusCode": 200,
                "executedVersion": "$LATEST",
                "functionError": "Unhandled",
            },
            "version": "1.0",
            "timestamp": moment,
            "DDBStreamBatchInfo": {
                "shardId": "shardId-00000001541626099285-f35f62ef",
                "startSequenceNumber": first["SequenceNumber"],
                "endSequenceNumber": last["SequenceNumber"],
                "batchSize": len(batch),
                "streamArn": self._mapping.event_source_arn,
            },
        }
        LOG.warning("%s failed on %d records: %s", self._mapping.function_arn, len(batch), outcome.payload)
        role = self._functions.role(self._mapping.function_arn)
        self._deliver(target, json.dumps(letter), {}, role)


def _wanted(mapping: Any, record: Mapping[str, Any]) -> bool:
    filters = (mapping.filter_criteria or {}).get("Filters") or []
    return not filters or any(matches(json.loads(each["Pattern"]), record) for each in filters)
