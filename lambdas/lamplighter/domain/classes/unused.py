"""Which namespaces of classes nobody needs any more: their last window and lease are longer ago than `keep`."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

from lamplighter.domain.calendar.course import Course
from lamplighter.domain.classes.target import classes
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.lab.model import Lab
from lamplighter.lab.windows import Window
from lamplighter.values import zones

AHEAD = timedelta(days=366)
"""So far ahead an event of a calendar counts."""


class UnusedClass(NamedTuple):
    """A namespace, and the lease for which it was used last."""

    namespace: str
    last: Lease


def unused(
    lab: Lab, leases: Iterable[Lease], courses: Mapping[str, Course], at: datetime
) -> Iterator[UnusedClass]:
    """The classes of the lab that are over. A class without any lease has no namespace yet, or an old one."""
    known = list(leases)
    for namespace, terms in classes(lab).items():
        windows = [one for one in lab.windows if one.class_ and one.class_.namespace == namespace]
        names = {window.name for window in windows}
        of_class = [
            lease for lease in known if lease.window in names and lease.state is not LeaseState.REFUSED
        ]
        last = max(of_class, key=attrgetter("closes"), default=None)
        if last is None or last.closes + terms.kept > at:
            continue
        if not any(_goes_on(lab, window, courses, at) for window in windows):
            yield UnusedClass(namespace, last)


def _goes_on(lab: Lab, window: Window, courses: Mapping[str, Course], at: datetime) -> bool:
    zone = lab.zone_of(window)
    today = at.astimezone(zones.zone(zone)).date()
    if window.timed:
        until = window.until is None or window.until >= today
        return until and (window.dates is None or any(day >= today for day in window.dates))
    # A calendar that could not be read may have any event.
    course = courses.get(window.name)
    return course is None or bool(course.events(zone, int(at.timestamp()), int((at + AHEAD).timestamp())))
