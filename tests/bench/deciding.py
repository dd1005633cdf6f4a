"""How long it takes to decide what every pool of a lab should have at an instant; growth.py says how that grows.

Windows and leases are there, as in a guard's or a `status`'s hands; what is measured is the whole answer
for all pools, reasons included as far as they are values: words are made when somebody reads them.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lamplighter.domain.calendar.changes import Skip
from lamplighter.domain.calendar.occurrences import expand
from lamplighter.domain.calendar.timetable import Timetable
from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.planner.planner import planned_lease
from lamplighter.domain.pool.explanation import PoolExplanation, standings
from lamplighter.lab.model import Lab
from lamplighter.lab.types import MINUTES_A_DAY
from tests.bench.figure import Measurement, best_of

SIZES = (1_000, 10_000)
WINDOWS_A_POOL = 3
ZONES = ("Asia/Seoul", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
DAYS = ("weekdays", "daily", "tue")
AT = datetime(2026, 11, 24, 11, 30, tzinfo=UTC)
#: Half an hour before clocks go back in Berlin, on the day they do.
CLOCK_CHANGE = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
AHEAD = timedelta(hours=36)


def lab_of(pools: int, *, alike: bool = True) -> Lab:
    """A lab with so many pools and three windows on each, in four zones, some of them overnight.

    As in a school they open on the hour and many have the same hours, or else no two are `alike`.
    """
    windows = [
        {
            "name": f"w{pool}-{number}",
            "pool": f"p{pool}",
            "nodes": 1,
            "days": DAYS[number],
            "time_zone": ZONES[pool % len(ZONES)],
            **(hours_of(pool + 3 * number) if alike else odd_hours_of(WINDOWS_A_POOL * pool + number)),
        }
        for pool in range(pools)
        for number in range(WINDOWS_A_POOL)
    ]
    gpu = {"max_nodes": 2, "price_per_hour": "1.237"}
    return Lab.model_validate(
        {"name": "many", "pools": {f"p{pool}": gpu for pool in range(pools)}, "windows": windows}
    )


def hours_of(hour: int) -> dict[str, str]:
    """Four and a half hours, from the hour on."""
    return {"start": f"{hour % 24:02}:00", "end": f"{(hour + 4) % 24:02}:30"}


def odd_hours_of(window: int) -> dict[str, str]:
    """Four hours or more from any minute of the day; they come again after more than a million windows."""
    start = 7 * window % MINUTES_A_DAY
    end = (start + 240 + window // MINUTES_A_DAY) % MINUTES_A_DAY
    return {"start": f"{start // 60:02}:{start % 60:02}", "end": f"{end // 60:02}:{end % 60:02}"}


def leases_of(lab: Lab, at: datetime, running: LeaseState) -> dict[str, list[Lease]]:
    """What the ledger has after the planner: a lease for each window of the next 36 hours."""
    found: dict[str, list[Lease]] = {pool: [] for pool in lab.pools}
    for window in expand(lab, at, at + AHEAD).windows:
        lease = planned_lease(window, window.closes, Money.of(1, "USD"))
        found[window.pool].append(replace(lease, state=running) if window.opens <= at else lease)
    return found


class Labs:
    """One lab's windows and leases, ready to be decided about."""

    def __init__(
        self, pools: int, at: datetime, *, alike: bool = True, refused: bool = False, skipped: bool = False
    ) -> None:
        self._at = at
        self._lab = lab_of(pools, alike=alike)
        self._leases = leases_of(self._lab, at, LeaseState.REFUSED if refused else LeaseState.OPEN)
        self._most = {name: pool.max_nodes for name, pool in self._lab.pools.items()}
        self._timetable = self.timetable()
        self._skips = [
            Skip(window.window, window.date.isoformat(), "alice", at)
            for windows in self._timetable.open_at(at).values()
            for window in windows
            if skipped
        ]

    def timetable(self) -> Timetable:
        """The windows, worked out once for a lab."""
        return Timetable(self._lab)

    def decide(self) -> dict[str, PoolExplanation]:
        return standings(self._timetable, self._leases, self._most, self._at, self._skips)


def _take() -> Mapping[str, float]:
    found: dict[str, float] = {}
    for pools in SIZES:
        labs = Labs(pools, AT)
        found[f"decide-{pools}"] = best_of(labs.decide) * 1000
        found[f"timetable-{pools}"] = best_of(labs.timetable) * 1000
    found[f"decide-{SIZES[0]}-clock-change"] = best_of(Labs(SIZES[0], CLOCK_CHANGE).decide) * 1000
    found[f"decide-{SIZES[0]}-unlike"] = best_of(Labs(SIZES[0], AT, alike=False).decide) * 1000
    return found


MEASUREMENTS = (
    Measurement(
        {
            **{f"decide-{pools}": "ms" for pools in SIZES},
            f"decide-{SIZES[0]}-clock-change": "ms",
            f"decide-{SIZES[0]}-unlike": "ms",
            **{f"timetable-{pools}": "ms" for pools in SIZES},
        },
        _take,
    ),
)
