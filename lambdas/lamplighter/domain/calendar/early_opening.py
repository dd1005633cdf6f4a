"""How early a window with `ready: by` opens: as early as other leases of its pool leave it room.

Owns that instant and its note. warm_up.py knows how long the pool takes; placement.py and grant.py decide whether the
window gets nodes and money at all.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from lamplighter.domain.leases.curfew import KEPT_FREE, Curfew
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.reasons.reason import Reason, Said, Value, reason
from lamplighter.values import zones

if TYPE_CHECKING:
    from lamplighter.domain.calendar.planned_window import PlannedWindow
    from lamplighter.domain.leases.lease import Lease
    from lamplighter.lab.model import Lab

WHOLE_POOL = 1_000_000
"""More nodes than any pool has."""


class NodeInterval(NamedTuple):
    """Nodes of a pool that somebody has over [opening, closing), in seconds since 1970."""

    opening: int
    closing: int
    nodes: int
    whose: Said


def planned(window: "PlannedWindow", lead: int) -> "PlannedWindow":
    """The window as it opens where it has room: `lead` seconds early."""
    begins = window.opening
    early = note(begins - lead, begins)
    return window._replace(opening=begins - lead, ready_by=begins, notes=(*window.notes, early))


def note(opening: int, begins: int) -> Reason:
    """How early a window opens, and by when its GPUs are to be ready."""
    ready_by = zones.instant(begins)
    if opening >= begins:
        return reason("calendar.early.not", ready_by=ready_by)
    return reason("calendar.early", early=timedelta(seconds=begins - opening), ready_by=ready_by)


def fitted(window: "PlannedWindow", lab: "Lab", most: int, stays: Iterable[NodeInterval]) -> "PlannedWindow":
    """The same window as it opens beside others of its pool: later, with a note, where others have the nodes.

    `most` are the nodes that the pool may have. Windows that open at their start are returned unchanged.
    """
    begins, wished = window.ready_by, window.opening
    if begins is None:
        return window
    curfew = _curfew(lab, window.pool, wished, begins)
    near = [stay for stay in (*stays, *curfew) if stay.opening < begins and stay.closing > wished]
    opens = _earliest(wished, begins, most - window.nodes, near)
    if opens == wished:
        return window
    in_the_way = tuple(dict.fromkeys(stay.whose for stay in near if stay.closing == opens))
    later: dict[str, Value] = {
        "wished": timedelta(seconds=begins - wished),
        "whose": in_the_way or reason("calendar.early.others"),
        "until": zones.instant(opens),
    }
    if opens < begins:
        note = reason("calendar.early.later", early=timedelta(seconds=begins - opens), **later)
    else:
        note = reason("calendar.early.at-start", **later)
    return window._replace(opening=opens, notes=(*window.notes[:-1], note))


def all_fitted(
    windows: Sequence["PlannedWindow"],
    lab: "Lab",
    most: Mapping[str, int],
    known: Mapping[str, Sequence["Lease"]],
) -> list["PlannedWindow"]:
    """Every window as it opens beside the leases of its pool and the windows that come first."""
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
        # A granted lease stays as it was granted.
        there.setdefault(
            window.lease, NodeInterval(opening.opening, opening.closing, opening.nodes, opening.window)
        )
        found.append(opening)
    return found


def stay_of(lease: "Lease") -> NodeInterval:
    """The nodes that a lease takes from other windows of its pool."""
    opening, closing = (int(at.timestamp()) for at in (lease.opens, lease.closes))
    return NodeInterval(opening, closing, lease.nodes, lease.window or lease.called())


def _has_nodes(lease: "Lease") -> bool:
    """Whether it is granted, or promised to a person; planned leases of windows are among the windows."""
    return lease.granted or (lease.window is None and lease.state is LeaseState.PLANNED)


def _earliest(wished: int, begins: int, free: int, near: Iterable[NodeInterval]) -> int:
    """The first instant of [wished, begins] from which so many nodes stay free until `begins`."""
    near = list(near)
    opens = wished
    for edge in sorted({wished, *(stay.opening for stay in near), *(stay.closing for stay in near)}):
        if wished <= edge < begins and _taken(near, edge) > free:
            # The pool is full from here until the next lease closes; the loop then looks at that edge.
            opens = min((stay.closing for stay in near if stay.closing > edge), default=begins)
    return min(opens, begins)


def _taken(stays: Iterable[NodeInterval], at: int) -> int:
    return sum(stay.nodes for stay in stays if stay.opening <= at < stay.closing)


def _curfew(lab: "Lab", pool: str, wished: int, begins: int) -> Iterable[NodeInterval]:
    """The minutes that a curfew keeps free, as if somebody had the whole pool then."""
    minute = lab.curfew(pool)
    if minute is None:
        return ()
    curfew = Curfew(minute, zones.zone(lab.time_zone))
    first = curfew.first(zones.instant(wished), zones.instant(begins))
    if first is None:
        return ()
    opening = (first - zones.EPOCH) // timedelta(seconds=1)
    return (
        NodeInterval(
            opening, opening + int(KEPT_FREE.total_seconds()), WHOLE_POOL, reason("calendar.curfew")
        ),
    )
