"""Reasons about the events of a course calendar, as the tests expect them."""

from lamplighter.reasons.reason import Reason, Value, reason


def fault(title: str, code: str, **values: Value) -> Reason:
    """Why an event, by its title, cannot open a pool."""
    return reason("calendar.event.fault", event=f'"{title}"', fault=reason(code, **values))


def replaced(title: str) -> Reason:
    """A later version of the event counts."""
    return reason("calendar.event.replaced", event=f'"{title}"')


def unknown_zone(title: str, zone: str, why: str = "undefined") -> Reason:
    """The event's time zone is not known."""
    return fault(title, "calendar.event.zone", zone=zone, why=reason(f"calendar.zone.{why}"))
