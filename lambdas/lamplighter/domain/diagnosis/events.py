"""Kubernetes events as values, those of before the expectation left out."""

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
        message=text(item, "message") or text(item, "note"),
        last=_last(item),
    )


def _last(item: Doc) -> datetime | None:
    for path in _TIMES:
        time = instant(item, *path)
        if time is not None:
            return time
    return None


def events_by_object(items: Iterable[Doc], since: datetime) -> dict[tuple[str, str, str], list[Event]]:
    """Events since then, oldest first; one without a time counts, it cannot be told to be old."""
    found: dict[tuple[str, str, str], list[Event]] = {}
    for item in items:
        each = event(item)
        if each.last is None or each.last >= since:
            found.setdefault((each.kind, each.namespace, each.name), []).append(each)
    for listed in found.values():
        listed.sort(key=lambda each: each.last or since)
    return found
