"""The port for the fake's pools: a second implementation of seven operations, without any AWS.

Like every implementation it calls the outside in few calls, each of which can fail, be lost or take long.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from lamplighter.adapters.aws.calls import outside
from lamplighter.domain.capacity import kinds
from lamplighter.domain.capacity.calls import Call, TimedCall, timed
from lamplighter.domain.capacity.evidence import (
    NOW,
    SIZES,
    Activity,
    Bar,
    Controller,
    Instance,
    Make,
    Member,
    Part,
    Seen,
)
from lamplighter.domain.capacity.identity import Identity
from lamplighter.domain.capacity.launch_cause import LaunchCause, refusals
from lamplighter.domain.capacity.port import Awaited, Removal
from lamplighter.domain.capacity.shortage import Shortage, short_of, short_of_refusal
from lamplighter.domain.capacity.zero import ZeroProof
from lamplighter.errors import TryLater
from lamplighter.lab.model import Lab
from lamplighter.reasons.reason import reason
from tests.world.aws.machines import ZONE, Machine
from tests.world.outside import Passage

if TYPE_CHECKING:
    from tests.world.capacity.fake_pools import FakePool, FakePools

FAKE, LABEL, TAG = "node-group", "fake.world/pool", "fake:pool"
SIZE, END_ALL = "arn:aws:scheduler:::fake:setSize", "arn:aws:scheduler:::fake:endAll"
"""What Scheduler can call. The first is refused while the pool is busy, the second never."""
SILENCE = timedelta(minutes=3)
T = TypeVar("T")


class Busy(Exception):
    """Another change of the pool goes on."""


def name_of(lab: Lab, pool: str) -> str:
    return f"{lab.name}-{pool}-machines"


class FakeKind:
    """The pure half: names, and what proves zero."""

    off_switch_needs = SIZES
    remembers = True
    history_needs = frozenset({Part.SIZE})
    shown_by_ec2 = False

    def identity(self, lab: Lab, pool: str) -> Identity:
        name, cluster = name_of(lab, pool), lab.cluster_name
        missing = reason("capacity.no-such-lease", pool=pool)
        return Identity(pool, cluster, name, LABEL, {TAG: name}, missing)

    def zero(
        self, seen: Seen, at: datetime, kubernetes_nodes: tuple[str, ...] | None, justified: int = 0
    ) -> ZeroProof:
        """Nothing is ordered, listed or in EC2."""
        return ZeroProof(
            at=at,
            desired=seen.size,
            instances=tuple(instance.id for instance in seen.existing),
            members=tuple(member.instance for member in seen.members),
            kubernetes_nodes=kubernetes_nodes,
            justified=justified,
        )


@dataclass
class FakeCapacity:
    """The pools of a lab; `cross` is the way of every call."""

    lab: Lab
    pools: "FakePools"
    cross: Passage

    def see(self, pool: str, parts: Collection[Part] = NOW, known: Seen | None = None) -> Seen:
        """The pool first, then its instances, then its history."""
        seen = known or Seen(FAKE)
        if not {Part.SIZE, Part.MEMBERS, Part.MAKE}.isdisjoint(parts):
            seen = self._ask("pool", pool, lambda: self._pool(pool, seen))
        if Part.BAR in parts:
            seen = replace(seen, bar=self._ask("pool", pool, lambda: self._bar(pool)))
        if Part.INSTANCES in parts:
            seen = replace(seen, instances=self._ask("instances", pool, lambda: self._instances(pool)))
        if Part.LATEST in parts or Part.HISTORY in parts:
            seen = replace(seen, activities=self._ask("history", pool, lambda: self._history(pool)))
        return seen

    def bar(self, pool: str, until: datetime) -> None:
        self._ask("bar", pool, lambda: self.pools.bar(pool, until))

    def order(
        self, pool: str, size: int, seen: Seen, *, maximum: int | None = None, insist: bool = False
    ) -> str | None:
        """Sets the size, and where it is given the maximum."""
        if seen.exists and seen.ordered == size and maximum in {None, seen.maximum}:
            return None

        def act() -> str:
            self.pools.set_size(self.pools.pools[pool], size, maximum=maximum, insist=insist)
            return f"order-{pool}"

        try:
            return self._ask("order", pool, act)
        except Busy as busy:
            raise TryLater(reason("aws.throttled", call="fake:order", subject=pool, error="Busy")) from busy

    def remove(self, pool: str, instances: Sequence[str], why: Removal, seen: Seen) -> None:
        """Each by its pool; strays past it."""
        if why is Removal.STRAY:
            self._ask("terminate", pool, lambda: self.pools.terminate(instances))
            return
        act = {
            Removal.FEWER: self.pools.fewer,
            Removal.REPLACED: self.pools.replaced,
            Removal.DRAINED: self.pools.drained,
        }[why]
        for instance in instances:
            self._ask("remove", pool, partial(act, pool, instance))

    def troubles(self, pool: str, awaited: Awaited, seen: Seen) -> Shortage | None:
        """As EC2 refused since then; else, after three minutes, nobody knows."""
        refused = self._ask("refusals", pool, lambda: self._found(pool).refused)
        have, wanted, waited = awaited.have, awaited.wanted, awaited.now - awaited.since
        if have >= wanted:
            return None
        named = refusals([each for each in refused if each.started and each.started >= awaited.since], ())
        if named:
            return short_of_refusal(named[0], have, wanted)
        if waited < SILENCE:
            return None
        silent = reason("pool.short.silent", minutes=waited // timedelta(minutes=1))
        return short_of(LaunchCause.UNKNOWN, have, wanted, silent)

    def off_switch(self, pool: str, first: datetime, seen: Seen) -> tuple[TimedCall, ...]:
        """To zero by the size, and at the third instant past whatever keeps the pool busy."""
        sent = {"Pool": name_of(self.lab, pool), "Size": 0}
        size, end_all = Call(SIZE, sent), Call(END_ALL, sent)
        return timed(first, (size, size, end_all, size))

    def zero(
        self, seen: Seen, at: datetime, kubernetes_nodes: tuple[str, ...] | None, justified: int = 0
    ) -> ZeroProof:
        """The proof of this kind."""
        return kinds.zero(seen, at, kubernetes_nodes, justified)

    def _pool(self, pool: str, seen: Seen) -> Seen:
        found = self.pools.pools.get(pool)
        if found is None:
            return replace(seen, exists=False, controller=None)
        members = tuple(
            Member(name, ZONE, member.leaving, member.waits is not None)
            for name, member in found.members.items()
        )
        return replace(
            seen,
            exists=True,
            ordered=found.size,
            maximum=found.maximum,
            make=Make(("g4dn.xlarge",), "AL2023_x86_64_NVIDIA"),
            controller=Controller(found.name, 0, found.maximum, found.size, members),
        )

    def _bar(self, pool: str) -> Bar | None:
        found = self.pools.pools.get(pool)
        return Bar(found.not_after) if found else None

    def _instances(self, pool: str) -> tuple[Instance, ...]:
        known = [each for each in self.pools.machines.machines.values() if each.pool == pool]
        return tuple(sorted(map(_instance, known), key=lambda each: (each.launched, each.id)))

    def _history(self, pool: str) -> tuple[Activity, ...]:
        found = self.pools.pools.get(pool)
        return tuple(found.history) if found else ()

    def _found(self, pool: str) -> "FakePool":
        return self.pools.pools[pool]

    def _ask(self, operation: str, pool: str, act: Callable[[], T]) -> T:
        with outside(f"fake:{operation}", pool):
            answer: T = self.cross("fake", operation, act)
        return answer


def _instance(machine: Machine) -> Instance:
    ended = machine.ended or machine.shutting_down
    return Instance(
        id=machine.id,
        type=machine.type,
        zone=ZONE,
        state=machine.state,
        launched=machine.launched,
        ended=ended.replace(microsecond=0) if ended else None,
        controller=None if machine.stray else machine.group,
        private_dns=machine.node,
    )
