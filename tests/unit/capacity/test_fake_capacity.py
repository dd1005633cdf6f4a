"""The fake of the worlds does what every kind of capacity does. Its launch bar holds: node groups have none."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.capacity.calls import TimedCall
from lamplighter.domain.capacity.launch_cause import LaunchCause
from lamplighter.domain.capacity.port import Removal
from lamplighter.lab.model import Lab
from tests.builders.leases import MINUTE
from tests.unit.capacity.conformance import Conformance, opened, order
from tests.world.aws.event_queue import EventQueue
from tests.world.aws.machines import NO_CAPACITY, Machines
from tests.world.capacity.fake_capacity import Busy
from tests.world.capacity.fake_pools import FakePools
from tests.world.capacity.supply import Site
from tests.world.kubernetes.kubernetes import Kubernetes

START = datetime(2026, 11, 20, 12, tzinfo=UTC)
REFUSALS = {
    LaunchCause.NO_CAPACITY: NO_CAPACITY,
    LaunchCause.VCPU_QUOTA: "You have requested more vCPU capacity than your current vCPU limit of 8 allows.",
    LaunchCause.LAUNCH_DENIED: "You are not authorized to perform this operation.",
}
READS = {"pool", "instances", "history", "refusals"}


class FakeStage:
    """A lab whose pool `gpu` is a fake pool, and whose pool `other` has none. Its bar is lifted for a day."""

    pool, absent = "gpu", "other"

    def __init__(self) -> None:
        self._queue = EventQueue(START)
        chance = random.Random(1)
        self._machines = Machines(self._queue, chance)
        lab = Lab.model_validate({"name": "lab", "pools": {"gpu": {}, "other": {}}})
        kubernetes = Kubernetes(self._queue, chance, self._machines)
        self.pools = FakePools(Site(self._queue, chance, self._machines, lab, self._cross, kubernetes))
        self.pools.create("gpu", 2)
        self.capacity = self.pools.capacity(lab)
        self._changes = 0
        self.capacity.bar("gpu", START + timedelta(days=1))

    def _cross(
        self, service: str, operation: str, act: Callable[[], Any], _given: Callable[[], str] = str
    ) -> Any:
        assert service == "fake"
        before = self.pools.bars_moved
        answer = act()
        # A bar that stands already is no change; every other call is one that tried to.
        self._changes += operation not in READS and (operation != "bar" or self.pools.bars_moved > before)
        return answer

    def changes(self) -> int:
        return self._changes

    def now(self) -> datetime:
        return self._queue.now

    def settle(self) -> None:
        self._queue.run_until(self._queue.now + 20 * MINUTE)

    def stray(self) -> str:
        return self.pools.stray("gpu").id

    def refuse(self, cause: LaunchCause) -> None:
        self._machines.troubles.capacity, self._machines.troubles.refusal = 0, REFUSALS[cause]

    def call(self, call: TimedCall) -> None:
        with suppress(Busy):
            self.pools.targets[call.target](json.loads(call.input))


class TestFakeCapacity(Conformance):
    @pytest.fixture
    def stage(self) -> Iterator[FakeStage]:
        stage = FakeStage()
        with stage.pools.install():
            yield stage

    # --- the launch bar --------------------------------------------------------------------------

    def test_nothing_starts_from_the_bar_on_whatever_the_size(self, stage: FakeStage) -> None:
        stage.capacity.bar(stage.pool, stage.now())

        order(stage, 2)
        stage.settle()

        seen = stage.capacity.see(stage.pool)
        assert (seen.size, seen.instances) == (2, ())

    def test_what_waits_for_the_bar_starts_when_it_is_lifted(self, stage: FakeStage) -> None:
        stage.capacity.bar(stage.pool, stage.now())
        order(stage, 2)
        stage.settle()

        stage.capacity.bar(stage.pool, stage.now() + 60 * MINUTE)
        stage.settle()

        assert len(stage.capacity.see(stage.pool).alive) == 2

    def test_a_bar_takes_nothing_and_nothing_comes_in_the_place_of_what_goes(self, stage: FakeStage) -> None:
        goes, stays = (instance.id for instance in opened(stage).alive)
        stage.capacity.bar(stage.pool, stage.now() + MINUTE)
        stage.settle()
        seen = stage.capacity.see(stage.pool)
        assert {instance.id for instance in seen.alive} == {goes, stays}

        stage.capacity.remove(stage.pool, (goes,), Removal.REPLACED, seen)
        stage.settle()

        assert [instance.id for instance in stage.capacity.see(stage.pool).alive] == [stays]
