"""Each way to zero of a NodePool of Karpenter, alone, with the real one.

Its clock is real. So two pools share a lab, and time is quick where nothing is to be seen.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.leases.lease import Lease
from local.cloud import Cloud
from tests.karpenter_program import controller_or_skip
from tests.scenarios.deployed_lab import NOON, deployed_lab
from tests.scenarios.karpenter_day import CLAIMS, KarpenterDay
from tests.scenarios.rails import ways
from tests.scenarios.rails.figures import Record, held

pytestmark = pytest.mark.long

LAB = """
name: demo
time_zone: UTC
cluster: {karpenter: {version: 1.14.3}}
guard: {longest_lease: 1h, curfew: "12:40", budget: {amount: "500"}}
pools:
  gpu: {kind: karpenter, drain: 1m}
  past: {kind: karpenter, drain: 1m}
"""
CURFEW = NOON + timedelta(minutes=40)
#: A real second is so many of the lab's.
RATE = 4
#: After an end: until a rail has ended everything, or has failed.
WITHIN = timedelta(minutes=45)
MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    controller_or_skip()
    with deployed_lab(tmp_path_factory, LAB, rate=RATE) as started:
        yield started


@pytest.fixture(scope="module")
def gpu(cloud: Cloud) -> KarpenterDay:
    return KarpenterDay(cloud)


@pytest.fixture(scope="module")
def past(cloud: Cloud) -> KarpenterDay:
    """The pool that ends by the rails past Kubernetes. Karpenter lives, and would start another node."""
    return KarpenterDay(cloud, "past")


def skip_to(day: KarpenterDay, instant: datetime) -> None:
    """Shortly before that instant."""
    with day.quick():
        day.pass_until(instant - MINUTE)


def settled(leases: Mapping[KarpenterDay, Lease]) -> None:
    """As ways.settled, after Karpenter has let go what it still holds."""
    day = next(iter(leases))
    day.await_("the claims are gone", lambda: day.claims() == [], timedelta(minutes=15))
    with day.quick():
        ways.settled(leases)


def test_the_curfew_alone(gpu: KarpenterDay, past: KarpenterDay, record_property: Record) -> None:
    leases = ways.opened([gpu, past], "1h")
    assert {lease.closes for lease in leases.values()} == {CURFEW}
    with ExitStack() as taken:
        taken.enter_context(ways.functions_dead(gpu))
        taken.enter_context(ways.curfew_by(gpu, "kubernetes"))
        taken.enter_context(ways.curfew_by(past, "ec2"))
        for day in leases:
            ways.keep_failsafe(day)

        skip_to(gpu, CURFEW)
        minutes = ways.ended(leases, WITHIN)

    settled(leases)
    ways.after_curfew(gpu, CURFEW)
    held(record_property, "karpenter", "curfew", minutes["gpu"])
    held(record_property, "karpenter", "curfew-ec2", minutes["past"])


def test_the_close_workflow_alone(gpu: KarpenterDay, record_property: Record) -> None:
    leases = ways.opened([gpu], "15m")
    with ways.functions_live(gpu, but="guard"), ways.schedules_powerless(gpu):
        skip_to(gpu, leases[gpu].closes)
        minutes = ways.ended(leases, WITHIN)

    settled(leases)
    held(record_property, "karpenter", "close", minutes["gpu"])


def test_the_guard_alone(gpu: KarpenterDay, record_property: Record) -> None:
    leases = ways.opened([gpu], "15m")
    with ways.functions_dead(gpu, but={"guard"}), ways.schedules_powerless(gpu):
        skip_to(gpu, leases[gpu].closes)
        minutes = ways.ended(leases, WITHIN)

    settled(leases)
    held(record_property, "karpenter", "guard", minutes["gpu"])


def test_each_rail_of_the_failsafe_alone(
    gpu: KarpenterDay, past: KarpenterDay, record_property: Record
) -> None:
    leases = ways.opened([gpu, past], "15m")
    end = max(lease.closes for lease in leases.values())
    with ways.functions_dead(gpu):
        ways.keep_failsafe(gpu, 10)
        ways.keep_failsafe(past, 30)

        skip_to(gpu, leases[gpu].closes + 10 * MINUTE)
        minutes = ways.ended({gpu: leases[gpu]}, WITHIN)
        assert len(past.instances()) == 1
        skip_to(past, end + 30 * MINUTE)
        minutes |= ways.ended({past: leases[past]}, WITHIN)

        # Nobody has told the NodePool, so Karpenter wants its node back: bar and lock keep it away.
        assert (past.replicas(), past.instances()) == (1, [])
    settled(leases)
    held(record_property, "karpenter", "kubernetes", minutes["gpu"])
    held(record_property, "karpenter", "ec2", minutes["past"])


def test_the_life_of_a_node_alone_and_no_other_node_comes(gpu: KarpenterDay, record_property: Record) -> None:
    leases = ways.opened([gpu], "1h")
    [claim] = gpu.claims()
    born = datetime.fromisoformat(claim["metadata"]["creationTimestamp"])
    with ways.functions_dead(gpu), ways.schedules_powerless(gpu):
        skip_to(gpu, born + gpu.lab.node_life("gpu"))
        assert len(gpu.instances()) == 1
        gpu.clock.sleep(2 * MINUTE.total_seconds())
        look_again(gpu, claim)
        minutes = ways.ended(leases, gpu.lab.node_life("gpu"))

        assert (gpu.replicas(), gpu.instances()) == (1, [])
        gpu.await_("the claim is gone", lambda: gpu.claims() == [], timedelta(minutes=15))
    settled(leases)
    held(record_property, "karpenter", "life", minutes["gpu"])


def look_again(day: KarpenterDay, claim: dict[str, Any]) -> None:
    """Karpenter's timer counts real seconds, and hours of the lab were skipped: a change wakes it."""
    noted = {"metadata": {"annotations": {"test": "the hours have passed"}}}
    day.kubernetes.merge(f"{CLAIMS}/{claim['metadata']['name']}", noted)
