"""The dependencies of the lease steps: the lab, its ledger and its schedules; and the one way to move the failsafe.

Owns the order that keeps the laws: the failsafe is moved and read back first, the ledger written then.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache

from lamplighter.adapters.aws.functions import Functions
from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.aws.schedules import Schedules
from lamplighter.adapters.aws.workflows import Workflows
from lamplighter.application.capacity.prices import known
from lamplighter.application.capacity.services import CapacityServices, deployed
from lamplighter.application.environment import ENVIRONMENT
from lamplighter.domain.capacity.kinds import pools_of
from lamplighter.domain.leases.lease import Lease
from lamplighter.domain.leases.terms import Terms, terms
from lamplighter.domain.pool.pool import PoolState
from lamplighter.domain.schedules.failsafe import (
    FIRES_WITHIN,
    LISTED_WITHIN,
    RETRIED,
    bar_instant,
    failsafe_instant,
    failsafe_schedules,
    schedule_names,
    schedule_under_way,
)
from lamplighter.domain.schedules.schedule import (
    NEAREST,
    Schedule,
    WorkflowArns,
    close_schedule,
    names_of,
    open_schedule,
    warn_schedules,
)
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.reasons.reason import reason

_logger = logging.getLogger(__name__)

LOOKS = 3
EXPERIMENTS_SECONDS = 40
"""Longer than the experiments function takes to start and restore; shorter than the time-out of this function."""


@dataclass
class LeaseServices:
    """The leases of one lab, and their schedules."""

    capacity: CapacityServices
    failsafes: Schedules
    windows: Schedules
    workflow_arns: WorkflowArns
    ask_experiments: Callable[[Mapping[str, object]], Mapping[str, object]] = field(default=lambda _: {})
    """Runs one step of the experiments function, and waits for it."""

    off_switch_runs: Callable[[], Sequence[str]] = field(default=lambda: ())
    """The pools whose off switch runs now, where a run of it takes minutes."""

    @property
    def ledger(self) -> Ledger:
        return self.capacity.ledger

    def now(self) -> datetime:
        """The present instant, in UTC."""
        return self.capacity.now()

    def terms(self, pool: str) -> Terms:
        """The terms of a pool; what an adopted pool leaves out is read from AWS."""
        lab = self.capacity.as_found(pool)
        reservation = self.ledger.reservation(pool, lab.pools[pool].reservation)
        return terms(lab, pool, known(lab, pool, self.ledger), reservation)

    def arm(
        self,
        pool: str,
        also: Lease | None = None,
        read: tuple[PoolState, Sequence[Lease]] | None = None,
    ) -> tuple[datetime | None, tuple[str, ...]]:
        """Sets the failsafe and the bar as the pool's leases need them, `also` included, and reads the failsafe back.

        The caller is the pool's writer; `read` is what it has read already, the pool before its leases. Gives the
        first instant and the names of the schedules. TryLater while a shot of the one that stands is in the air.
        """
        for _ in range(LOOKS):
            state, leases = read or (self.ledger.pool(pool), self.ledger.leases(pool))
            read = None
            now = self.now()
            others = [lease for lease in leases if also is None or lease.id != also.id]
            first = failsafe_instant([*others, *([also] if also else [])], now)
            names = schedule_names(pool)
            if first != state.failsafe_at:
                self.let_it_fire(state, now)
            if first is None:
                self.failsafes.delete(names)
            else:
                self._put_failsafe(pool, first, now, armed=first == state.failsafe_at)
            self.move_bar(pool, bar_instant(first, now))
            # Schedules know no generation: check again that the leases are the same.
            noted = first is not None and first == state.failsafe_at
            after = self.ledger.pool(pool) if noted else self.ledger.set_failsafe(pool, first)
            if (after.generation, after.failsafe_at) == (state.generation, first):
                return first, (() if first is None else names)
        raise TryLater(reason("lease.failsafe-changes", pool=pool))

    def move_bar(self, pool: str, until: datetime) -> None:
        """Nodes start until then, and none from then on.

        A bar that must open and does not is an error. Where it must shut, the close goes on: size zero and the failsafe
        close the pool too, and the guard moves the bar again.
        """
        try:
            self.capacity.of(pool).bar(pool, until)
        except OutsideFailed as error:
            if until > self.now():
                raise
            _logger.warning("the launch bar of pool %s is not shut: %s", pool, error)

    def let_it_fire(self, pool: PoolState, now: datetime) -> None:
        """Raises TryLater while a schedule of a pool's failsafe fires or retries: nothing can stop it.

        Whoever got nodes, or forgot the failsafe, meanwhile would lose nodes to it that a lease justifies.
        """
        shot = schedule_under_way(pool.name, pool.failsafe_at, now)
        if shot is None:
            return
        name, at = shot
        # The run that a schedule started may not be listed yet, and let_it_end would not find it.
        runs = pool.name in self.capacity.lab.pools_with("failsafe machine")
        over = at + FIRES_WITHIN + LISTED_WITHIN if runs else at
        # A schedule that succeeded or gave up deletes itself.
        found = self.failsafes.read(name) if now >= over else None
        if now < over or (found is not None and found.at == at):
            raise TryLater(
                reason("lease.failsafe-fires", pool=pool.name, at=at, until=at + FIRES_WITHIN + RETRIED)
            )

    def let_it_end(self, pool: str) -> None:
        """Raises TryLater while a failsafe that has fired still runs: it ends what it finds, for minutes.

        It is asked after the schedules, which start such runs. The curfew and people start some too. No run is stopped:
        that the failsafe brings a pool to zero does not hang on this code.
        """
        if pool in self.off_switch_runs():
            raise TryLater(reason("lease.failsafe-runs", pool=pool))

    def wanted_failsafe(self, pool: str) -> tuple[Schedule, ...]:
        """The failsafe that the pool's leases need at this moment; empty without leases."""
        first = failsafe_instant(self.ledger.leases(pool), self.now())
        return () if first is None else self._shots(pool, first)

    def schedule_end(self, lease: Lease) -> tuple[str, ...]:
        """Puts the schedules that warn before the end of a lease and close it; returns their names."""
        put = []
        for schedule in (
            close_schedule(lease, self.workflow_arns),
            *warn_schedules(lease, self.workflow_arns),
        ):
            if schedule.at > self.now() + NEAREST:
                # The planner has put the schedules of a window's lease.
                if lease.window is None or self.windows.read(schedule.name) != schedule:
                    self.windows.put(schedule)
                put.append(schedule.name)
        return tuple(put)

    def schedule_opening(self, lease: Lease) -> None:
        """Puts the schedule that opens a lease which was granted ahead of its time."""
        self.windows.put(open_schedule(lease, self.workflow_arns))

    def unschedule(self, lease: Lease) -> None:
        """Deletes the schedules that would open, warn or close a lease."""
        self.windows.delete(names_of(lease.id, self.workflow_arns))

    def _put_failsafe(self, pool: str, first: datetime, now: datetime, *, armed: bool) -> None:
        """Each schedule is read back. A schedule that was `armed` before and is correct is not put again."""
        for shot in self._shots(pool, first):
            # A nearer schedule was armed before and is about to fire; Scheduler takes none in the past.
            ahead = shot.at > now + NEAREST
            if ahead and not (armed and self.failsafes.read(shot.name) == shot):
                self.failsafes.put_and_read_back(shot)

    def _shots(self, pool: str, first: datetime) -> tuple[Schedule, ...]:
        return failsafe_schedules(pool, self.capacity.off_switch(pool, first))


@cache
def lease_services() -> LeaseServices:
    """The dependencies of the leases function."""
    group = ENVIRONMENT.schedule_group
    return LeaseServices(
        capacity=deployed(),
        failsafes=Schedules(group, ENVIRONMENT.failsafe_role, ENVIRONMENT.failsafe_dead_letters),
        windows=Schedules(group, ENVIRONMENT.window_role, ENVIRONMENT.dead_letters),
        workflow_arns=ENVIRONMENT.workflow_arns,
        ask_experiments=_ask_experiments,
        off_switch_runs=_off_switch_runs,
    )


def _off_switch_runs() -> list[str]:
    machine = ENVIRONMENT.failsafe_machine
    if machine is None:
        return []
    return pools_of(Workflows().inputs_of_running(machine))


def _ask_experiments(event: Mapping[str, object]) -> Mapping[str, object]:
    return Functions(patience_seconds=EXPERIMENTS_SECONDS).run(ENVIRONMENT.experiments_function, event)
