"""Kubernetes events as values, without those from before the expectation.

Anybody who may create events in a namespace can write one about any of its objects, in the name of any component;
events about nodes and NodeClaims are in `default`. So each line of an event says who reported it, by its own account.
Rules believe status and conditions first: controllers alone write these.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from lamplighter.domain.diagnosis.document import Doc, doc, instant, text

_TIMES = (
    ("series", "lastObservedTime"),
    ("lastTimestamp",),
    ("deprecatedLastTimestamp",),
    ("eventTime",),
    ("firstTimestamp",),
    ("deprecatedFirstTimestamp",),
    ("metadata", "creationTimestamp"),
)
_REPORTERS = (
    ("reportingController",),
    ("reportingComponent",),
    ("source", "component"),
    ("deprecatedSource", "component"),
)
_LONGEST_NAME = 63
"""Components are called like kubelet or node-controller. Longer is a name that somebody made up."""


class Event(NamedTuple):
    """One event, of core/v1 or events.k8s.io/v1."""

    kind: str
    namespace: str
    name: str
    reason: str
    message: str
    last: datetime | None

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


def event(item: Doc) -> Event:
    """An event's document as a value."""
    about = doc(item, "involvedObject") or doc(item, "regarding")
    return Event(
        kind=text(about, "kind"),
        namespace=text(about, "namespace"),
        name=text(about, "name"),
        reason=text(item, "reason"),
        message=_reported(text(item, "message") or text(item, "note"), item),
        last=_last(item),
    )


def _reported(message: str, item: Doc) -> str:
    """The message with its reporter before each line: a rule may quote one line, and the end of a long line is cut."""
    reporter = next(filter(None, (text(item, *path) for path in _REPORTERS)), "?")
    by = f"(reported by {' '.join(reporter.split())[:_LONGEST_NAME]})"
    return "\n".join(f"{by} {line}" for line in message.splitlines())


def reported_by(event: Event, *reporters: str) -> bool:
    """Whether it says of itself that one of these wrote it; names of reporters may go on after a slash."""
    return event.message.startswith(tuple(f"(reported by {name}" for name in reporters))


def _last(item: Doc) -> datetime | None:
    for path in _TIMES:
        time = instant(item, *path)
        if time is not None:
            return time
    return None


def events_by_object(items: Iterable[Doc], since: datetime) -> dict[tuple[str, str, str], list[Event]]:
    """Events since then, oldest first. An event without a time counts, because it may be new."""
    by_object: dict[tuple[str, str, str], list[Event]] = {}
    for item in items:
        read = event(item)
        if read.last is None or read.last >= since:
            by_object.setdefault((read.kind, read.namespace, read.name), []).append(read)
    for events in by_object.values():
        events.sort(key=lambda event: event.last or since)
    return by_object
