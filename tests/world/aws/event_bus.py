"""EventBridge and SQS around the lab's bus: requests wait in a queue, and what the lab tells is kept and looked at.

A message is delivered at least once, sometimes twice, late, and in no order. What fails comes again after a while,
and after its fifth time goes to the dead letters.
"""

import json
import random
from datetime import datetime
from typing import Any

from tests import lab_events
from tests.world.aws.dynamodb import Stored
from tests.world.aws.event_queue import EventQueue
from tests.world.aws.functions import Functions

Json = dict[str, Any]
MOST_ENTRIES, MOST_BYTES = 10, 256 * 1024
VISIBLE_AFTER, TRIES, KEPT = 180.0, 5, 86400.0
"""As stacks/constructs/event_bus.py makes the queue."""
TWICE, LATE, REFUSED = 0.1, 0.15, 0.1
"""How often a message comes twice or late, and how often the bus does not take an event."""
STREAM = 1.0
TOLD = ("AUDIT#", "COMMAND#")


class EventBus:
    """The bus of one lab. Its chances are its own, so that what it does changes nothing else in a history."""

    def __init__(self, lab: str, event_queue: EventQueue, functions: Functions, seed: int) -> None:
        self._lab, self._event_queue, self._functions = lab, event_queue, functions
        self.chance = random.Random(f"bus {seed}")
        self.told: list[tuple[datetime, str, Json]] = []
        """When what was told: detail-type and detail."""
        self.wrong: list[str] = []
        """What is wrong with events that were told."""
        self.dead: list[Json] = []
        """Events of messages that failed five times, or that nobody received for a day."""
        self.began: dict[str, datetime] = {}
        """By pool: when the lab began to tell of it."""
        self._moved: set[tuple[str, str]] = set()
        self._messages = 0

    def put_events(self, *, Entries: list[Json]) -> Json:
        """What functions of ours put."""
        assert 1 <= len(Entries) <= MOST_ENTRIES
        assert sum(len(entry["Detail"].encode()) for entry in Entries) < MOST_BYTES
        answers: list[Json] = []
        for entry in Entries:
            self.wrong += lab_events.faults(entry, self._lab)
            if self.chance.random() < REFUSED:
                answers.append({"ErrorCode": "InternalFailure", "ErrorMessage": "an internal failure"})
                continue
            self.told.append((self._event_queue.now, entry["DetailType"], json.loads(entry["Detail"])))
            answers.append({"EventId": f"told-{len(self.told)}"})
        return {"FailedEntryCount": sum("ErrorCode" in each for each in answers), "Entries": answers}

    def deliver(self, event: Json) -> None:
        """The rule puts an event into the queue."""
        for _ in range(2 if self.chance.random() < TWICE else 1):
            late = self.chance.random() < LATE
            self._after(self.chance.uniform(30.0, 600.0) if late else self.chance.uniform(0.2, 5.0), event)

    def _after(self, seconds: float, event: Json, tries: int = 0, since: datetime | None = None) -> None:
        self._event_queue.after(seconds, lambda: self._receive(event, tries, since or self._event_queue.now))

    def _receive(self, event: Json, tries: int, since: datetime) -> None:
        if "events" in self._functions.deleted:
            # Nobody receives: it stays in the queue.
            waited = (self._event_queue.now - since).total_seconds()
            if waited < KEPT:
                self._after(VISIBLE_AFTER, event, tries, since)
            else:
                self.dead.append(event)
            return
        self._messages += 1
        message = f"m-{self._messages}"

        def done(answer: Json | None, error: object) -> None:
            failed = error is not None or answer is None or answer["batchItemFailures"]
            if failed and tries + 1 < TRIES:
                self._after(VISIBLE_AFTER, event, tries + 1, since)
            elif failed:
                self.dead.append(event)

        record = {"messageId": message, "body": json.dumps(event), "eventSource": "aws:sqs"}
        self._functions.invoke(self._arn("events"), {"Records": [record]}, done)

    # --- the function that tells ---------------------------------------------------------------------

    def written(self, before: Stored | None, item: Stored | None) -> None:
        """The ledger's stream: what moved within a second wakes who tells, by itself or by Slack's board."""
        key, sort = (item or before or {})["pk"]["S"], (item or before or {})["sk"]["S"]
        if key.startswith("EVENT#") and sort == "CURSOR":
            self.began.setdefault(key.removeprefix("EVENT#"), self._event_queue.now)
        if item is None or not key.startswith("POOL#") or not sort.startswith(TOLD):
            return
        if not self._moved:
            self._event_queue.after(STREAM, self._wake)
        self._moved.add((key, sort))

    def _wake(self) -> None:
        moved, self._moved = sorted(self._moved), set()
        if self.chance.random() < 0.5:
            self.tell({"pools": sorted({key.removeprefix("POOL#") for key, _ in moved})})
            return
        keys = ({"pk": {"S": key}, "sk": {"S": sort}} for key, sort in moved)
        self.tell({"Records": [{"dynamodb": {"Keys": each, "SequenceNumber": "1"}} for each in keys]})

    def tell(self, event: Json) -> None:
        """The function `lifecycle` is woken; what it fails on is covered by the rule's next run."""
        self._functions.invoke_async(self._arn("lifecycle"), event, tries=2)

    def _arn(self, function: str) -> str:
        return f"arn:aws:lambda:ap-northeast-2:123456789012:function:{self._lab}-{function}"
