"""A pool of Karpenter with several types and zones: the cheapest comes first, and another where that one is short.

The controller is the real one.
"""

from collections.abc import Iterator
from decimal import Decimal

import pytest

from lamplighter.data import prices
from tests.karpenter_program import controller_or_skip
from tests.scenarios.deployed_lab import deployed_lab
from tests.scenarios.karpenter_day import KarpenterDay

pytestmark = pytest.mark.long

DEAR, CHEAP = "g5.xlarge", "g6.xlarge"
LAB = f"""
name: demo
cluster: {{karpenter: {{version: 1.14.3}}}}
gpu_operator: {{enabled: false}}
device_plugin: {{enabled: true}}
pools:
  gpu: {{kind: karpenter, drain: 1m, instance_types: [{DEAR}, {CHEAP}], zones: [0, 2]}}
"""
#: Karpenter's controller works in real time: a real second is so many of the lab's.
RATE = 4


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KarpenterDay]:
    controller_or_skip()
    with deployed_lab(tmp_path_factory, LAB, rate=RATE) as cloud:
        yield KarpenterDay(cloud)


@pytest.mark.parametrize(("short", "comes"), [([], CHEAP), ([CHEAP, f"{DEAR} in ap-northeast-2a"], DEAR)])
def test_a_node_is_of_the_cheapest_type_that_ec2_has_and_is_paid_as_such(
    day: KarpenterDay, short: list[str], comes: str
) -> None:
    with day.faults() as faults:
        for each in short:
            faults.no_capacity(each)
        lease = day.open(1, "1h", "--wait")

    [instance] = day.described()
    assert instance["InstanceType"] == comes
    if short:
        assert instance["Placement"]["AvailabilityZone"] == "ap-northeast-2c"
    assert lease.hold.amount == prices.on_demand(day.lab.region, DEAR)
    assert day.command("close", "gpu", "--yes").code == 0
    day.until_quiet()
    receipt = day.receipt(lease.id)
    price = prices.on_demand(day.lab.region, comes)
    assert price is not None
    paid = Decimal(receipt["cost"]["amount"]) * 3600 / receipt["node_seconds"]
    assert abs(paid - price) < price / 50
