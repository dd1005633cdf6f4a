"""The fake's own cloud: pools of plain objects over the world's machines. It knows no service of AWS.

A pool has a size, and starts and ends machines to have as many. Nothing starts at or after the instant of its launch
bar, whatever its size is, and nothing at all until somebody has set one. A pool has no minimum.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar
from unittest.mock import patch

from lamplighter.adapters.capacity import kinds as implementations
from lamplighter.adapters.diagnosis.collect import AWS
from lamplighter.domain.capacity import kinds
from lamplighter.domain.capacity.evidence import Activity
from lamplighter.domain.capacity.launch_cause import LaunchAttempt
from lamplighter.lab.model import Lab
from tests.world.aws.cluster import Cluster
from tests.world.aws.machines import NOTICED, Machine
from tests.world.aws.security_groups import SecurityGroups
from tests.world.capacity.fake_capacity import (
    END_ALL,
    FAKE,
    LABEL,
    SIZE,
    Busy,
    FakeCapacity,
    FakeKind,
    name_of,
)
from tests.world.capacity.supply import Heard, Json, Rail, Site, Task
from tests.world.outside import refused

#: Seconds, shortest and longest.
BEGINS = (1.0, 8.0)
EMPTY_DRAIN = (5.0, 40.0)
DRAINS = 900.0
TRY_AGAIN = (60.0, 300.0)


@dataclass
class Member:
    """A machine as its pool lists it. `waits` is the number of its present wait for a drain."""

    machine: Machine
    leaving: bool = False
    waits: int | None = None


@dataclass
class FakePool:
    """One pool. `not_after` is its launch bar: None lets nothing start."""

    name: str
    pool: str
    maximum: int
    size: int = 0
    not_after: datetime | None = None
    busy_until: datetime | None = None
    members: dict[str, Member] = field(default_factory=dict)
    history: list[Activity] = field(default_factory=list)
    """Starts and ends, newest first."""
    refused: list[LaunchAttempt] = field(default_factory=list)
    """Starts that EC2 refused, newest first."""
    failures: int = 0

    def staying(self) -> list[Member]:
        return [member for member in self.members.values() if not member.leaving]


class FakePools:
    """All pools of a world: the controller of its machines."""

    workflows: ClassVar[Mapping[str, Json]] = {}
    tasks: ClassVar[Mapping[str, Task]] = {}

    def __init__(self, site: Site) -> None:
        self._site, self._queue, self._chance = site, site.event_queue, site.chance
        self.machines = site.machines
        site.machines.controller = self
        self.heard = Heard()
        self.pools: dict[str, FakePool] = {}
        self._waits = 0
        self.bars_moved = 0
        """How often a launch bar was moved."""
        vpc = site.lab.cluster.vpc
        self.security_groups = SecurityGroups(site.lab.name, vpc.cidr, lambda: self._queue.now)
        # The cluster, and the groups that experiments change: no call that has to do with a pool.
        self.services = {"eks": Cluster(site.lab.cluster_name), "ec2": self.security_groups}
        self.targets: dict[str, Callable[[Json], object]] = {
            SIZE: lambda sent: self.set_size(self._named(sent["Pool"]), sent["Size"]),
            END_ALL: lambda sent: self.set_size(self._named(sent["Pool"]), sent["Size"], insist=True),
        }

    # --- what the port's fake calls --------------------------------------------------------------------

    def bar(self, pool: str, until: datetime) -> None:
        """Moves the launch bar. What the size asks for starts now, if it may."""
        found = self.pools[pool]
        if found.not_after != until:
            found.not_after = until
            self.bars_moved += 1
            self._soon(found)

    def set_size(
        self, found: FakePool, size: int, *, maximum: int | None = None, insist: bool = False
    ) -> None:
        """Sets the size; Busy while another change goes on, unless somebody insists on a smaller one."""
        busy = found.busy_until is not None and self._queue.now < found.busy_until
        if busy and not (insist and size <= found.size):
            raise Busy
        before, found.maximum = found.size, found.maximum if maximum is None else maximum
        if not 0 <= size <= found.maximum:
            raise refused("OutOfBounds", f"{size} is more than {found.maximum}", "SetSize")
        found.size, found.failures = size, 0
        self.heard.ordered(found.pool, before, size)
        self._soon(found)

    def fewer(self, pool: str, instance: str) -> None:
        """Takes a very member out, and the size down with it."""
        found = self.pools[pool]
        member = found.members.get(instance)
        if member is None or member.leaving or found.size == 0:
            return
        before, found.size = found.size, found.size - 1
        self.heard.ordered(pool, before, found.size)
        self._retire(found, member)

    def replaced(self, pool: str, instance: str) -> None:
        """Takes a very member out; another one comes."""
        found = self.pools[pool]
        member = found.members.get(instance)
        if member is not None and not member.leaving:
            self._retire(found, member)
            self._soon(found)

    def drained(self, pool: str, instance: str) -> None:
        """Ends the wait of a leaving member."""
        member = self.pools[pool].members.get(instance)
        if member is not None and member.waits is not None:
            self._proceed(self.pools[pool], member, member.waits)

    def terminate(self, instances: Sequence[str]) -> None:
        """Ends instances past their pool."""
        there = [self.machines.machines[name] for name in instances if name in self.machines.machines]

        def end() -> None:
            for machine in there:
                self.machines.shut_down(machine)

        self.heard.terminated(instances, end)

    # --- what EC2 tells its controller -----------------------------------------------------------------

    def runs(self, machine: Machine) -> None:
        found = self.pools[machine.pool]
        if machine.id in found.members:
            found.failures = 0
            self._record(found, machine, launches=True, ended=self._queue.now)
        if not machine.stray:
            self.heard.event()

    def shuts_down(self, machine: Machine) -> None:
        """A member that was ended past its pool is noticed after a while."""
        found = self.pools[machine.pool]
        member = found.members.get(machine.id)
        if member is not None and not member.leaving:
            self._queue.after(NOTICED, lambda: self._lost(found, member))

    def ended(self, machine: Machine) -> None:
        found = self.pools[machine.pool]
        member = found.members.get(machine.id)
        if member is not None and member.leaving:
            self._gone(found, member)

    # --- the world's side, as supply.py says ----------------------------------------------------------

    def install(self) -> AbstractContextManager[object]:
        """Its two halves in the port's own registry, in the place of the kind that a lab's pools have by default."""
        stack = ExitStack()
        stack.enter_context(patch.dict(kinds.KINDS, {FAKE: FakeKind()}))
        stack.enter_context(patch.dict(implementations.IMPLEMENTATIONS, {FAKE: self.capacity}))
        # A diagnosis reads AWS without the port, and finds nothing there of these pools.
        stack.enter_context(patch.dict(AWS, {FAKE: lambda _reading, _subject: {}}, clear=True))
        return stack

    def capacity(self, lab: Lab) -> FakeCapacity:
        """The port for these pools."""
        return FakeCapacity(lab, self, self._site.cross)

    def barred(self, pool: str) -> bool:
        return True

    def size_step(self, pool: str) -> None:
        """A deploy writes no size."""

    def locked(self, pool: str) -> bool:
        """Its failsafe denies nothing."""
        return False

    def anew(self, pool: str) -> bool:
        return False

    def create(self, pool: str, maximum: int) -> None:
        if pool not in self.pools:
            self.pools[pool] = FakePool(name_of(self._site.lab, pool), pool, maximum)

    def size(self, pool: str) -> int:
        return self.pools[pool].size

    def staying(self, pool: str) -> list[Machine]:
        return [member.machine for member in self.pools[pool].staying()]

    def listed(self, pool: str) -> list[Machine]:
        return [member.machine for member in self.pools[pool].members.values()]

    def node_labels(self, machine: Machine) -> dict[str, str]:
        return {LABEL: self.pools[machine.pool].name}

    def rails(self, pool: str) -> tuple[Rail, Rail, Rail, Rail]:
        size, end_all = self.curfew(pool)
        return size, size, end_all, size

    def curfew(self, pool: str) -> Sequence[Rail]:
        sent = {"Pool": self.pools[pool].name, "Size": 0}
        return Rail("eks", SIZE, sent), Rail("group", END_ALL, sent)

    def resize(self, pool: str, size: int, *, otherwise: bool = False) -> None:
        found = self.pools[pool]
        self.set_size(found, min(size, found.maximum))

    def stray(self, pool: str) -> Machine:
        return self.machines.stray(pool, self.pools[pool].name)

    def keep_busy(self, pool: str, seconds: float) -> None:
        self.pools[pool].busy_until = self._queue.now + timedelta(seconds=seconds)

    def rewrite(self, pool: str, size: int, maximum: int) -> None:
        raise NotImplementedError("a deploy does not write the size of a fake pool")

    # --- how a pool follows its size -------------------------------------------------------------------

    def _soon(self, found: FakePool) -> None:
        self._queue.after(self._chance.uniform(*BEGINS), lambda: self._reconcile(found))

    def _reconcile(self, found: FakePool) -> None:
        """Like a careless controller it takes the oldest first, unless somebody has chosen."""
        staying = found.staying()
        surplus = len(staying) - found.size
        for member in sorted(staying, key=lambda each: each.machine.launched)[: max(0, surplus)]:
            self._retire(found, member)
        for _ in range(-surplus):
            if not self._start(found):
                break

    def _start(self, found: FakePool) -> bool:
        now = self._queue.now
        if found.not_after is None or now >= found.not_after:
            self.heard.kept_back(found.pool)
            return False
        if not self.machines.available(found.pool):
            found.refused.insert(0, LaunchAttempt(now, "Failed", self.machines.troubles.refusal))
            found.failures += 1
            first, most = TRY_AGAIN
            wait = min(first * 2 ** (found.failures - 1), most)
            self._queue.after(wait, lambda: self._reconcile(found))
            self.heard.event()
            return False
        machine = self.machines.start(found.pool, found.name)
        found.members[machine.id] = Member(machine)
        self._record(found, machine, launches=True, ended=None)
        self.heard.started(found.pool, machine.id)
        return True

    def _retire(self, found: FakePool, member: Member) -> None:
        self.heard.retired(found.pool, member.machine)
        self._waits += 1
        member.leaving, member.waits = True, self._waits
        waits = self._waits
        drains = DRAINS if member.machine.working else self._chance.uniform(*EMPTY_DRAIN)
        self._queue.after(drains, lambda: self._proceed(found, member, waits))
        self.heard.event()

    def _proceed(self, found: FakePool, member: Member, waits: int) -> None:
        if member.waits != waits:
            return
        member.waits = None
        self.machines.shut_down(member.machine)
        if member.machine.ended is not None:
            # EC2 had taken it back before the pool could end it.
            self._gone(found, member)

    def _lost(self, found: FakePool, member: Member) -> None:
        if not member.leaving:
            member.leaving = True
            if member.machine.ended is not None:
                self._gone(found, member)
            self._reconcile(found)

    def _gone(self, found: FakePool, member: Member) -> None:
        if found.members.pop(member.machine.id, None) is not None:
            self._record(found, member.machine, launches=False, ended=self._queue.now)
            self.heard.event()

    def _record(self, found: FakePool, machine: Machine, *, launches: bool, ended: datetime | None) -> None:
        """One record for each start, which its end completes, and one for each end."""
        started = [each for each in found.history if each.launches and each.instance == machine.id]
        began = machine.launched if launches else (machine.shutting_down or self._queue.now)
        if launches and started:
            found.history.remove(started[0])
            began = started[0].began
        found.history.insert(0, Activity(machine.id, launches, began, ended))

    def _named(self, name: str) -> FakePool:
        found = next((each for each in self.pools.values() if each.name == name), None)
        if found is None:
            raise refused("NotFound", f"there is no pool {name}", "SetSize", 404)
        return found
