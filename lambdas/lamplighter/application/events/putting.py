"""Puts the lab's events on its bus, and logs each one that the bus took: `lamplighter events tail` reads the log."""

from collections.abc import Sequence

from lamplighter.application.events.services import EventServices
from lamplighter.application.logs import logger
from lamplighter.domain.events import log_line
from lamplighter.domain.events.lab_event import LabEvent
from lamplighter.errors import OutsideFailed
from lamplighter.reasons.reason import reason


def put(events: Sequence[LabEvent], services: EventServices) -> dict[int, str]:
    """Puts the events; those that the bus did not take are returned by their place, with the error."""
    failed = services.bus.put(events)
    for place, event in enumerate(events):
        if place not in failed:
            logger().info(log_line.TOLD, extra=log_line.told(event).keys())
    return failed


def check_taken(errors: Sequence[str], services: EventServices) -> None:
    """Raises OutsideFailed where the bus did not take all events; `errors` are EventBridge's codes."""
    if errors:
        said = reason("command.event.not-told", count=len(errors), error=errors[0])
        raise OutsideFailed(said, "events:PutEvents", services.lab.name)
