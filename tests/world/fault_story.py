"""An evening in which some calls of our code answer anything, and what must hold all the same.

Both pools have leases of people and programs and a window; then somebody raises both by hand. A pool that needs such a
call may go without its nodes meanwhile. Its failsafe ends them, no other pool is touched, and when the call answers
again all is settled.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.world.chat import SLACK
from tests.world.faults import DISTORTIONS, Fault
from tests.world.history import Play, Step
from tests.world.judge.needed import (
    INSTANCES,
    LIED_ABOUT,
    NODE_GROUPS,
    NODE_POOLS,
    ONLY_SOURCES,
    ZERO_ON,
    needed_by,
)
from tests.world.labs import FIRST_SWEEP, of_kinds
from tests.world.our_code import forget_workers
from tests.world.programs import EVENTS
from tests.world.world import World

Json = dict[str, Any]
START = datetime(2026, 11, 20, 16, 54, tzinfo=UTC)
POOLS = ("gpu", "big")
QUOTA = {"cpu": "1", "memory": "1Gi"}
LAB: Json = {
    "name": "gpu-lab",
    "time_zone": "Etc/UTC",
    "pools": {
        "gpu": {"instance_type": "g4dn.xlarge", "max_nodes": 2, "price_per_hour": "1.5"},
        "big": {"instance_type": "g4dn.xlarge", "max_nodes": 2, "price_per_hour": "4"},
    },
    "windows": [
        {"name": f"late-{pool}", "pool": pool, "days": "daily", "start": "17:50", "end": "18:10", "seats": 1}
        | {"class": {"namespace": "late", "people": [{"group": "students"}], "quota_per_seat": QUOTA}}
        for pool in POOLS
    ],
    "guard": {"budget": {"amount": "100", "period": "day"}, "longest_lease": "3h30m"},
    "slack": SLACK,
    "events": EVENTS,
}
RESERVED = "reserved"
"""In the place of a kind: a node group that is bought from a Capacity Block."""
BLOCK: Json = {
    "CapacityReservationId": "cr-0123456789abcdef0",
    "ReservationType": "capacity-block",
    "State": "active",
    "InstanceType": "g4dn.xlarge",
    "AvailabilityZone": "ap-northeast-2a",
    "TotalInstanceCount": 2,
    "StartDate": START - timedelta(days=1),
    "EndDateType": "limited",
    "EndDate": START + timedelta(days=1),
}
FAILSAFE_DONE = timedelta(minutes=55)
"""From the end of the last window to a time at which even the last rail of each kind has ended every node."""
BY_HAND = timedelta(minutes=17)
"""A node that somebody started by hand is gone by then."""


class Evening:
    """One evening. `kinds` are those of the pools gpu and big; `faults` begin before the first lease, or `late`."""

    def __init__(self, kinds: tuple[str, str], faults: Sequence[Fault] = (), *, late: bool = False) -> None:
        self.kinds = {pool: _kind(kind) for pool, kind in zip(POOLS, kinds, strict=True)}
        lab = of_kinds(LAB, tuple(self.kinds.values())) if kinds != (NODE_GROUPS, NODE_GROUPS) else LAB
        for pool, kind in zip(POOLS, kinds, strict=True):
            if kind == RESERVED:
                lab["pools"][pool] |= {
                    "buy": "reserved",
                    "reservation": BLOCK["CapacityReservationId"],
                    "reservation_type": "capacity-block",
                }
                del lab["pools"][pool]["price_per_hour"]
        self.world = World(lab, START, 3)
        self.world.supply.services["ec2"].reservations[BLOCK["CapacityReservationId"]] = BLOCK  # type: ignore[attr-defined]
        self.play = Play(self.world, 3)
        self.faults, self.late = tuple(faults), late

    def broken(self) -> list[str]:
        """What did not hold."""
        with self.world as world:
            laws = self.play.laws
            world.event_queue.every(120.0, laws.look, 60.0)
            world.run(FIRST_SWEEP)
            if not self.late:
                self._begin()
            for pool in POOLS:
                self.play.step(Step("open", pool, number=1, minutes=15))
            world.run(timedelta(minutes=8))
            if self.late:
                self._begin()
            self.play.step(Step("ci-opens", "big", number=2, minutes=7))
            self.play.step(Step("teaches", "gpu", number=1, minutes=7))
            world.run(START.replace(hour=18, minute=10) + FAILSAFE_DONE - world.now)
            found = [f"law 2: the failsafe left {left} running" for left in self._running(POOLS)]
            guarded = [pool for pool in POOLS if not self._excused(pool, 1)]
            for pool in guarded:
                self.play.step(Step("by-hand", pool, number=1))
            world.run(BY_HAND)
            found += [f"law 1: the guard left {left} running" for left in self._running(guarded)]
            self._end()
            self.play.settle()
            return [*found, *(each for each in laws.finish() if not self._follows_from_a_lie(each))]

    def _begin(self) -> None:
        forget_workers()
        self.world.functions.faults = self.faults
        for pool in POOLS:
            if self._excused(pool, 0):
                self.play.laws.ill[pool] = [(self.world.now, None)]
            if self._excused(pool, 1):
                self.play.laws.unseen[pool] = [(self.world.now, None)]

    def _end(self) -> None:
        self.world.functions.faults = ()
        for since in (*self.play.laws.ill.values(), *self.play.laws.unseen.values()):
            since[-1] = (since[-1][0], self.world.now)

    def _excused(self, pool: str, place: int) -> bool:
        """Whether a fault is one of a call that the pool needs: for its leases (0), or to be guarded (1)."""
        return any(
            self.kinds[pool] in needed_by(fault.call)[place]
            for fault in self.faults
            if fault.of in {(), names_of(pool)}
        )

    def _follows_from_a_lie(self, broken: str) -> bool:
        """Whether it follows from a false answer that nothing else contradicts."""
        lies = [fault for fault in self.faults if fault.call in ONLY_SOURCES and fault.kind in DISTORTIONS]
        if zero := ZERO_ON.match(broken):
            pool = zero[1]
            listed = [fault for fault in lies if fault.call == INSTANCES and fault.of in {(), names_of(pool)}]
            return bool(listed) and self.kinds[pool] in NODE_POOLS
        return bool(lies) and LIED_ABOUT.match(broken) is not None

    def _running(self, pools: Sequence[str]) -> Iterator[str]:
        for pool in pools:
            yield from (machine.id for machine in self.world.machines.of_pool(pool) if machine.alive)


def names_of(pool: str) -> tuple[str, ...]:
    """By what a call names a pool: its group, its NodePool, its part of the ledger, its failsafe."""
    return f"gpu-lab-ng-{pool}", f"gpu-lab-{pool}", f"POOL#{pool}", f"failsafe-{pool}"


def _kind(kind: str) -> str:
    return NODE_GROUPS if kind == RESERVED else kind
