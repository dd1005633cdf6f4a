"""Which running leases will use up their budget, from the nodes that run, and what a sweep counts as spent."""

from collections.abc import Mapping
from dataclasses import replace

import boto3

from lamplighter.adapters.capacity.node_group.autoscaling import AutoScaling
from lamplighter.application.capacity.lives import nodes_lives
from lamplighter.application.guard.money import count
from lamplighter.application.guard.overdrafts import overdrafts
from lamplighter.domain.billing.charge import Charge
from lamplighter.domain.capacity.node_group.evidence import ScalingActivity
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.node_time import NodeTime
from lamplighter.domain.money.overdraft import Overdraft
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.billing.test_charges import budget, cost, started, sweep
from tests.unit.lab_on_moto import LAB, NODEGROUP, LabOnMoto
from tests.unit.leases.steps import of

SECOND = 1 / 60


def left(lab: LabOnMoto, money: Money) -> None:
    """So much of the budget is left, of which more is held."""
    ledger = lab.capacity.ledger
    gone = Charge("gpu", EIGHT, NodeTime(60 * MINUTE, Money.of(120, "USD") - money))
    held = ledger.budget("", "USD").holding(Money.of(100, "USD"), "alice")
    ledger.charge(gone, [], pool=ledger.pool("gpu"), budget=held, why=None)


def found(lab: LabOnMoto, minutes: float) -> Mapping[str, Overdraft]:
    now = lab.at(minutes)
    return overdrafts(lab.guard_services.lease_services, "gpu", lab.capacity.ledger.leases("gpu"), now)


def used_up(lab: LabOnMoto, minutes: float) -> int:
    """In which minute after eight the money ends, as it looks so many minutes after eight."""
    return round((found(lab, minutes)["cli-1"].at - EIGHT) / MINUTE)


def test_what_runs_now_runs_on_until_the_money_is_used_up(lab: LabOnMoto) -> None:
    lab.lease(nodes=2, closes=240)
    left(lab, cost(lab, 60))
    started(lab, 1, 0)

    for minutes in (SECOND, 30):
        assert used_up(lab, minutes) == 60


def test_a_lease_is_reckoned_at_the_price_at_which_it_was_granted(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, closes=240)
    of("cli-1", price_per_hour={"S": "10"})
    left(lab, Money.of(20, "USD"))
    started(lab, 1, 0)

    assert used_up(lab, 60) == 120


def test_a_lease_counts_from_its_opening_and_while_it_is_closed_beside_others_too(lab: LabOnMoto) -> None:
    left(lab, cost(lab, 30))
    lab.lease(nodes=1, closes=240)
    lab.lease(nodes=1, opens=-60, closes=0, name="closing")
    of("closing", state={"S": LeaseState.CLOSING.value})
    lab.lease(nodes=1, opens=-30, closes=100, name="planned")
    of("planned", state={"S": LeaseState.PLANNED.value})
    started(lab, 1, -60)

    assert found(lab, 0) == {}
    # An hour of the lease that is being closed is more than what is left.
    assert found(lab, SECOND)["cli-1"].at == lab.capacity.now()


def test_a_pool_without_a_lease_in_force_or_without_a_price_has_nothing_to_reckon(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, closes=60)
    left(lab, cost(lab, 1))
    started(lab, 1, 0)
    assert list(found(lab, 59)) == ["cli-1"]

    assert found(lab, 60) == {}
    boto3.client("eks").delete_nodegroup(clusterName=LAB, nodegroupName=NODEGROUP)
    assert list(found(lab, 59)) == ["cli-1"]


def test_counting_begins_at_a_whole_second(lab: LabOnMoto) -> None:
    sweep(lab, SECOND / 2)
    assert lab.capacity.ledger.pool("gpu").metered_until == EIGHT


def test_what_runs_past_a_lease_is_counted_though_nothing_runs_without_one(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, opens=-60, closes=0)
    started(lab, 1, -60)

    for minutes, overrun in ((15, None), (15 + SECOND, cost(lab, 15 + SECOND))):
        sweep(lab, minutes)
        assert budget(lab).overrun == overrun


def test_what_ec2_has_forgotten_is_not_looked_for(lab: LabOnMoto) -> None:
    lab.capacity.ledger.begin_counting("gpu", EIGHT)
    started(lab, 1, 0)
    now = lab.at(200)
    seen = lab.capacity.see("gpu")
    gone = replace(
        seen,
        instances=tuple(
            replace(each, state="terminated", ended=EIGHT + 140 * MINUTE) for each in seen.instances
        ),
    )

    count(lab.guard_services.lease_services, "gpu", [], gone, now)
    assert budget(lab).unleased is None
    count(lab.guard_services.lease_services, "gpu", [], gone, now - SECOND * MINUTE)
    assert budget(lab).unleased == cost(lab, 140)


def test_ten_pages_of_activities_tell_the_lives_of_nodes(lab: LabOnMoto) -> None:
    asked: list[int] = []

    class Pages(AutoScaling):
        def activities(self, group: str, pages: int = 1) -> tuple[ScalingActivity, ...]:
            asked.append(pages)
            return super().activities(group, pages)

    lab.port.autoscaling = Pages()
    lab.scale(1)

    assert [
        each.instance for each in nodes_lives(lab.capacity, "gpu", lab.capacity.see("gpu"), EIGHT)
    ] == lab.members
    assert asked == [10]
