"""Puts events on the lab's EventBridge bus."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lamplighter.adapters.aws.calls import client, outside
from lamplighter.adapters.border import border
from lamplighter.domain.events.lab_event import LabEvent, source

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

AT_ONCE = 10
"""Entries of a call (https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html)."""
MOST_BYTES = 200_000
"""Of the details of a call: far less than EventBridge takes, whose limit was 256 KB before it was 1 MB."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What EventBridge answered to a request that somebody put."""

    event: str | None
    """The id of the event; None where EventBridge did not take it."""
    error: str | None
    """The error code then, such as NotAuthorizedForSourceException."""


@border
class EventBus:
    """One bus, by name."""

    def __init__(self, name: str, events: "EventBridgeClient | None" = None) -> None:
        self._name = name
        self._events: EventBridgeClient = events or client("events")

    def put(self, told: Sequence[LabEvent]) -> dict[int, str]:
        """Puts events; returns those that EventBridge did not take, by their place, with its error code.

        Raises OutsideFailed or TryLater where a whole call fails: earlier calls may have put their events.
        """
        failed: dict[int, str] = {}
        entries = [self._entry(event) for event in told]
        for first, part in _parts(entries):
            with outside("events:PutEvents", self._name):
                reply = self._events.put_events(Entries=part)
            # An answer with more or fewer entries does not tell which of them were taken: strict raises.
            for place, answer in zip(range(len(part)), reply["Entries"], strict=True):
                if answer.get("ErrorCode"):
                    failed[first + place] = answer["ErrorCode"]
        return failed

    def ask(self, sender: str, detail_type: str, detail: Mapping[str, object]) -> Asked:
        """Puts a request as its sender, with the caller's own rights. Raises OutsideFailed or TryLater."""
        entry: PutEventsRequestEntryTypeDef = {
            "EventBusName": self._name,
            "Source": sender,
            "DetailType": detail_type,
            "Detail": json.dumps(detail, ensure_ascii=False),
        }
        with outside("events:PutEvents", self._name):
            (answer,) = self._events.put_events(Entries=[entry])["Entries"]
        return Asked(answer.get("EventId"), answer.get("ErrorCode"))

    def _entry(self, event: LabEvent) -> "PutEventsRequestEntryTypeDef":
        return {
            "EventBusName": self._name,
            "Source": source(event.lab),
            "DetailType": event.TYPE,
            "Time": event.at,
            "Detail": json.dumps(event.detail(), ensure_ascii=False),
        }


def _parts(
    entries: Sequence["PutEventsRequestEntryTypeDef"],
) -> Iterator[tuple[int, list["PutEventsRequestEntryTypeDef"]]]:
    """What goes in one call, each with the place of its first entry."""
    part: list[PutEventsRequestEntryTypeDef] = []
    first, size = 0, 0
    for place, entry in enumerate(entries):
        length = len(entry["Detail"].encode())
        if part and (len(part) == AT_ONCE or size + length > MOST_BYTES):
            yield first, part
            first, part, size = place, [], 0
        part.append(entry)
        size += length
    if part:
        yield first, part
