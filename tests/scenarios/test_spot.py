"""AWS takes leased Spot nodes: Slack hears it within seconds, the lease goes on, and the receipt is exact."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from lamplighter.domain.leases.lease import Lease, LeaseState
from lamplighter.values import instant
from tests.scenarios.deployed_lab import NOON, deployed_lab
from tests.scenarios.lab_day import LabDay
from tests.scenarios.slack.slack_talk import CHANNEL

pytestmark = pytest.mark.long

LAB = """
name: market
time_zone: UTC
slack: {channel: C0123456789, team: T0123456789}
guard: {idle_after: "off"}
pools:
  class: {instance_type: g5.xlarge, max_nodes: 2, buy: spot}
  lean: {instance_type: g5.xlarge, max_nodes: 2, buy: spot, on_interruption: fewer}
"""
SECONDS = timedelta(seconds=10)


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDay]:
    with deployed_lab(tmp_path_factory, LAB) as cloud:
        yield LabDay(cloud, "class")


def opened(day: LabDay) -> tuple[Lease, tuple[str, ...]]:
    lease = day.open(2, "3h")
    lease = day.until_state(lease.id, LeaseState.OPEN)
    return lease, day.live()


def take(day: LabDay, *instances: str) -> datetime:
    for instance in instances:
        day.cloud.aws.moto_additions.instance_events.interrupt(instance)
    # The ledger has milliseconds.
    return day.now - timedelta(seconds=1)


def heard(day: LabDay, since: datetime, instance: str) -> None:
    """Slack has it within seconds."""
    day.clock.sleep(SECONDS.total_seconds())
    assert any(instance in str(message) for message in day.cloud.slack.messages(CHANNEL)), day.entries(since)
    told = [entry for entry in day.entries(since) if entry.details.get("notice") == "taken"]
    assert told
    assert all(entry.at - since <= SECONDS for entry in told)


def closed(day: LabDay, lease: Lease) -> dict[str, Any]:
    assert day.command("close", day.pool.name, "--yes").code == 0
    day.until_state(lease.id, LeaseState.CLOSED)
    receipt = day.receipt(lease.id)
    assert receipt["proof_of_zero"]["instances"] == []
    return receipt


def exact(day: LabDay, receipt: dict[str, Any]) -> Fraction:
    """What EC2's own history of prices makes of every second that the nodes of a receipt ran."""
    ec2, cost = day.api("ec2"), Fraction()
    for life in receipt["node_lives"]:
        begins, ends = (instant.read(life[key]) for key in ("from", "to"))
        history = ec2.describe_spot_price_history(
            InstanceTypes=["g5.xlarge"],
            AvailabilityZone=life["zone"],
            ProductDescriptions=["Linux/UNIX"],
            StartTime=begins,
            EndTime=ends,
        )["SpotPriceHistory"]
        changes = sorted((each["Timestamp"], Fraction(each["SpotPrice"])) for each in history)
        edges = [*(max(at, begins) for at, _ in changes), ends]
        for (_, price), (start, end) in zip(changes, pairwise(edges), strict=True):
            cost += price * Fraction((end - start) // timedelta(microseconds=1), 3_600_000_000)
    return cost


def paid(receipt: dict[str, Any]) -> Fraction:
    return Fraction(receipt["cost"].get("exact") or receipt["cost"]["amount"])


def test_a_taken_node_is_replaced_and_proven_and_the_receipt_is_exact(market: LabDay) -> None:
    lease, (gone, stays) = opened(market)
    market.clock.sleep(3600)

    # when AWS takes one of two nodes
    noticed = take(market, gone)
    heard(market, noticed, gone)

    # then another one comes, and is proven before it counts
    market.until(
        "the other node is proven",
        lambda _: any(
            entry.at > noticed and entry.kind == "announced" and entry.details.get("notice") == "open"
            for entry in market.entries(noticed)
        ),
        timedelta(minutes=30),
    )
    sample = market.look()
    assert gone not in sample.instances
    assert stays in sample.instances
    assert len(sample.instances) == 2
    (fresh,) = {*sample.instances} - {stays}
    proven = [entry for entry in market.entries(noticed, "verdict") if " passed on " in str(entry.what)]
    assert proven
    assert market.lease(lease.id).taken == (gone,)
    assert [str(entry.why) for entry in market.entries(NOON, "breach")] == []
    market.clock.sleep(1800)

    # and the receipt is EC2's own history
    receipt = closed(market, lease)
    assert {life["instance"] for life in receipt["node_lives"]} == {gone, stays, fresh}
    assert receipt["taken"] == [gone]
    assert receipt["purchase"]["buy"] == "spot"
    assert receipt["purchase"]["on_demand_where_unknown"] is False
    assert paid(receipt) == exact(market, receipt)
    assert paid(receipt) < Fraction(2 * receipt["node_seconds"], 3600), "less than on demand"


def test_all_nodes_at_once_come_again(market: LabDay) -> None:
    lease, nodes = opened(market)
    begun = market.now
    market.clock.sleep(600)

    noticed = take(market, *nodes)
    heard(market, noticed, nodes[0])
    market.until(
        "other nodes run",
        lambda sample: len({*sample.kubernetes_nodes}) == 2 and not {*sample.instances} & {*nodes},
        timedelta(minutes=30),
    )

    assert {*market.lease(lease.id).taken} == {*nodes}
    assert paid(closed(market, lease)) > 0
    assert market.entries(begun, "breach") == []


def test_a_lean_lease_goes_on_with_fewer(market: LabDay) -> None:
    day = LabDay(market.cloud, "lean")
    lease, (gone, stays) = opened(day)
    held = lease.hold
    day.clock.sleep(900)

    noticed = take(day, gone)
    heard(day, noticed, gone)
    day.until("one node is left", lambda sample: sample.instances == (stays,), timedelta(minutes=10))

    day.clock.sleep(1200)
    assert day.live() == (stays,)
    now = day.lease(lease.id)
    assert (now.nodes, now.taken, now.hold < held) == (1, (gone,), True)
    receipt = closed(day, lease)
    assert paid(receipt) == exact(day, receipt)
    assert day.entries(noticed, "breach") == []


def test_a_rebalance_recommendation_takes_no_leased_node(market: LabDay) -> None:
    lease, nodes = opened(market)

    market.cloud.aws.moto_additions.instance_events.recommend_rebalance(nodes[0])
    market.clock.sleep(900)

    assert {*market.live()} == {*nodes}
    assert market.command("close", "class", "--yes").code == 0
    market.until_state(lease.id, LeaseState.CLOSED)


def test_the_doctor_knows_the_quota_and_the_role_of_spot(market: LabDay) -> None:
    visit = market.doctor()

    assert not {name for name in visit["not_known"] if "spot" in name}, visit
