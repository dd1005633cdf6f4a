"""How early a window may open that must be ready by its start: never before others of its pool allow.

Owns that one instant and the words for it; how long the pool takes is warm_up.py's, and whether there is
room and money for the window at all is for admission.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from lamplighter.domain.calendar.curfew import KEPT_FREE, Curfew
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.values import zones

if TYPE_CHECKING:
    from lamplighter.domain.calendar.planned_window import PlannedWindow
    from lamplighter.domain.leases.lease import Lease
    from lamplighter.lab.model import Lab

WHOLE_POOL = 1_000_000
"""More nodes than any pool has."""


class NodeInterval(NamedTuple):
    """Nodes of a pool over [opening, closing), in seconds since 1970, and whose they are."""

    opening: int
    closing: int
    nodes: int
    whose: str


def planned(window: "PlannedWindow", lead: int, zone: str) -> "PlannedWindow":
    """The window as it opens where nothing is in the way: `lead` seconds early."""
    begins = window.opening
    said = note(begins - lead, begins, zone)
    return window._replace(opening=begins - lead, ready_by=begins, notes=(*window.notes, said))


def note(opening: int, begins: int, zone: str) -> str:
    """What a window says of its early opening."""
    if opening >= begins:
        return f"should have GPUs ready by {_clock(begins, zone)}, and could not open before"
    return f"opens {(begins - opening) // 60} min early, so that GPUs are ready by {_clock(begins, zone)}"


def fitted(window: "PlannedWindow", lab: "Lab", most: int, stays: Iterable[NodeInterval]) -> "PlannedWindow":
    """The same window as it opens beside others of its pool: later, aloud, where they or the curfew are in the way.

    `most` is what the pool may have. Windows that open at their start are given back as they are.
    """
    begins, wished = window.ready_by, window.opening
    if begins is None:
        return window
    curfew = _curfew(lab, window.pool, wished, begins)
    near = [stay for stay in (*stays, *curfew) if stay.opening < begins and stay.closing > wished]
    opens = _earliest(wished, begins, most - window.nodes, near)
    if opens == wished:
        return window
    zone = next(lab.zone_of(each) for each in lab.windows if each.name == window.window)
    whose = " and ".join(dict.fromkeys(stay.whose for stay in near if stay.closing == opens)) or "others"
    early = f"{(begins - opens) // 60}" if opens < begins else f"at {_clock(opens, zone)}"
    wanted = f"{(begins - wished) // 60} min early"
    note = f"opens {early} and not {wanted}: {whose} comes first until {_clock(opens, zone)}"
    return window._replace(opening=opens, notes=(*window.notes[:-1], note))


def all_fitted(
    windows: Sequence["PlannedWindow"],
    lab: "Lab",
    most: Mapping[str, int],
    known: Mapping[str, Sequence["Lease"]],
) -> list["PlannedWindow"]:
    """Every window as it opens beside the leases there are and the windows whose turn comes first."""
    if all(window.ready_by is None for window in windows):
        return list(windows)
    stays = {
        pool: {lease.id: stay_of(lease) for lease in leases if _has_nodes(lease)}
        for pool, leases in known.items()
    }
    found = []
    for window in sorted(windows, key=attrgetter("begins", "order")):
        there = stays.setdefault(window.pool, {})
        others = [stay for lease, stay in there.items() if lease != window.lease]
        opening = fitted(window, lab, most[window.pool], others)
        # What is granted already stays as it was granted.
        there.setdefault(
            window.lease, NodeInterval(opening.opening, opening.closing, opening.nodes, opening.window)
        )
        found.append(opening)
    return found


def stay_of(lease: "Lease") -> NodeInterval:
    """A lease as others of its pool see it."""
    opening, closing = (int(at.timestamp()) for at in (lease.opens, lease.closes))
    return NodeInterval(opening, closing, lease.nodes, lease.window or f"{lease.owner}'s lease")


def _has_nodes(lease: "Lease") -> bool:
    """Granted, or promised to a person; a window's planned one is among the windows."""
    return lease.granted or (lease.window is None and lease.state is LeaseState.PLANNED)


def _earliest(wished: int, begins: int, free: int, near: Iterable[NodeInterval]) -> int:
    """The first instant of [wished, begins] from which others leave so much free until `begins`."""
    near = list(near)
    opens = wished
    for edge in sorted({wished, *(stay.opening for stay in near), *(stay.closing for stay in near)}):
        if wished <= edge < begins and _taken(near, edge) > free:
            # Full from here on, until somebody closes; whether that is enough is seen at that edge.
            opens = min((stay.closing for stay in near if stay.closing > edge), default=begins)
    return min(opens, begins)


def _taken(stays: Iterable[NodeInterval], at: int) -> int:
    return sum(stay.nodes for stay in stays if stay.opening <= at < stay.closing)


def _curfew(lab: "Lab", pool: str, wished: int, begins: int) -> Iterable[NodeInterval]:
    """The stretch that a curfew keeps free, as though somebody had the whole pool then."""
    minute = lab.curfew(pool)
    if minute is None:
        return ()
    curfew = Curfew(minute, zones.zone(lab.time_zone))
    first = curfew.first(zones.instant(wished), zones.instant(begins))
    if first is None:
        return ()
    opening = (first - zones.EPOCH) // timedelta(seconds=1)
    return (NodeInterval(opening, opening + int(KEPT_FREE.total_seconds()), WHOLE_POOL, "the curfew"),)


def _clock(seconds: int, zone: str) -> str:
    return f"{zones.instant(seconds).astimezone(zones.zone(zone)):%H:%M}"
