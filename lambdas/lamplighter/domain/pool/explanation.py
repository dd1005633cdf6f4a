"""How the pools of a lab stand at an instant: what their leases justify, and what the calendar asks for beside it.

Only leases justify nodes. A window that is open by the calendar and has no lease in force is named with the reason;
nothing follows from it here.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from lamplighter.data.texts import ENGLISH
from lamplighter.domain.calendar.changes import Skip
from lamplighter.domain.calendar.planned_window import PlannedWindow
from lamplighter.domain.calendar.timetable import Timetable
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.pool.target import NOTHING, Target, target_at
from lamplighter.reasons.reason import Reason, draw, reason
from lamplighter.values import instant
from lamplighter.values.clock_time import clock_time


class UnmetWindow(NamedTuple):
    """A window that is open by the calendar without a lease in force."""

    window: PlannedWindow
    lease: Lease | None
    """What the ledger has of it."""
    at: datetime
    skip: Skip | None = None
    """Who took it out of the calendar."""

    @property
    def reason(self) -> Reason:
        """Why it has no nodes."""
        window = self.window
        return reason(
            "pool.unmet",
            window=window.window,
            nodes=window.nodes,
            until=window.closes,
            state=self._state(),
        )

    def reason_by(self, clock: Callable[[datetime], str]) -> str:
        """Why it has no nodes, in English, with instants as this clock writes them."""
        return draw(self.reason, ENGLISH, clock)

    def to_json(self, clock: Callable[[datetime], str] = clock_time) -> dict[str, object]:
        """A row of `without_lease` in `status --json` and `why --json`; its reason is by this clock."""
        window = self.window
        return {
            "window": window.window,
            "date": window.date.isoformat(),
            "nodes": window.nodes,
            "opens": instant.written(window.opens),
            "closes": instant.written(window.closes),
            "reason": self.reason_by(clock),
        }

    def _state(self) -> Reason:  # noqa: PLR0911 -- a line for each state
        lease = self.lease
        if self.skip is not None:
            if self.skip.because:
                return reason("pool.unmet.skipped.because", by=self.skip.by, because=self.skip.because)
            return reason("pool.unmet.skipped", by=self.skip.by)
        if lease is None:
            return reason("pool.unmet.no-lease")
        if lease.state is LeaseState.REFUSED:
            if lease.because:
                return reason("pool.unmet.refused.because", reason=lease.because)
            return reason("pool.unmet.refused")
        if lease.state is LeaseState.PLANNED:
            return reason("pool.unmet.planned")
        if lease.granted and self.at < lease.opens:
            return reason("pool.unmet.opens", at=lease.opens)
        if lease.because:
            return reason("pool.unmet.closed.because", reason=lease.because)
        return reason("pool.unmet.closed")


class PoolExplanation(NamedTuple):
    """One pool at an instant."""

    target: Target
    unmet: tuple[UnmetWindow, ...]
    """The windows that are open by the calendar and have no lease in force."""


_IDLE = PoolExplanation(NOTHING, ())


def standing(
    windows: Sequence[PlannedWindow],
    leases: Sequence[Lease],
    at: datetime,
    max_nodes: int,
    skips: Sequence[Skip] = (),
) -> PoolExplanation:
    """How one pool stands; `windows` are those that the calendar has open there, whoever skipped them."""
    return _standing(windows, leases, at, max_nodes, _by_opening(skips))


def standings(
    timetable: Timetable,
    leases: Mapping[str, Sequence[Lease]],
    most: Mapping[str, int],
    at: datetime,
    skips: Sequence[Skip] = (),
) -> dict[str, PoolExplanation]:
    """How every pool of `most`, which has their maxima, stands at an instant."""
    open_now, skipped = timetable.open_at(at), _by_opening(skips)
    return {
        pool: _standing(open_now.of(pool), leases.get(pool, ()), at, max_nodes, skipped)
        for pool, max_nodes in most.items()
    }


def _standing(
    windows: Sequence[PlannedWindow],
    leases: Sequence[Lease],
    at: datetime,
    max_nodes: int,
    skipped: "_Skipped",
) -> PoolExplanation:
    target = target_at(leases, at, max_nodes)
    if not windows:
        return _IDLE if target is NOTHING else PoolExplanation(target, ())
    met = [lease.id for lease in target.in_force]
    unmet = [window for window in windows if window.lease not in met]
    return PoolExplanation(target, tuple([_found(window, leases, at, skipped) for window in unmet]))


_Skipped = Mapping[tuple[str, str], Skip]


def _by_opening(skips: Sequence[Skip]) -> _Skipped:
    """Who took which date of which window out of the calendar: the first of them, where there are several."""
    return {(skip.window, skip.date): skip for skip in reversed(skips)}


def _found(window: PlannedWindow, leases: Sequence[Lease], at: datetime, skipped: _Skipped) -> UnmetWindow:
    lease = next((lease for lease in leases if lease.id == window.lease), None)
    return UnmetWindow(window, lease, at, skipped.get((window.window, window.date.isoformat())))
