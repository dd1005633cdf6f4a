"""What the functions of the lab's bus log of each event, and how the command line reads it again.

A line of a log is one JSON object. These are its keys beside those that every line has.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from lamplighter.domain.events.lab_event import LabEvent, source
from lamplighter.values.json_value import JsonValue

TOLD, RECEIVED = "event told", "request received"


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event of the bus."""

    message: str
    """TOLD or RECEIVED."""
    source: str
    detail_type: str
    detail: Mapping[str, JsonValue]
    event: str | None = None
    """The id that EventBridge gave a request; what the lab tells is logged without its id."""

    def keys(self) -> dict[str, JsonValue]:
        """The keys of the line."""
        said: dict[str, JsonValue] = {"source": self.source, "detail_type": self.detail_type}
        return {**said, "detail": dict(self.detail), **({"event": self.event} if self.event else {})}


def told(event: LabEvent) -> LoggedEvent:
    """An event that the lab told."""
    return LoggedEvent(TOLD, source(event.lab), event.TYPE, event.detail())


def received(event: Mapping[str, object]) -> LoggedEvent | None:
    """A request in EventBridge's form; None for an event that EventBridge did not make."""
    detail, names = event.get("detail"), [event.get(key) for key in ("source", "detail-type", "id")]
    match names:
        case [str() as sender, str() as detail_type, str() as name] if isinstance(detail, Mapping):
            return LoggedEvent(RECEIVED, sender, detail_type, detail, name)
        case _:
            return None


def read(line: str) -> LoggedEvent | None:
    """The event of a line of a log; None for a line that says anything else."""
    try:
        # Python writes and reads numbers, such as Infinity, that are not JSON.
        said = json.loads(line, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    match said:
        case {
            "message": str() as message,
            "source": str() as sender,
            "detail_type": str() as detail_type,
            "detail": dict() as detail,
        } if message in {TOLD, RECEIVED}:
            event = said.get("event")
            return LoggedEvent(
                message, sender, detail_type, detail, event if isinstance(event, str) else None
            )
        case _:
            return None
