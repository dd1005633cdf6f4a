"""Which pools may buy Spot Instances, and what a lab of today is then."""

import pytest

from lamplighter.lab.model import Lab
from tests.unit.lab.test_rules import refusals

KARPENTER = "cluster: {karpenter: {version: 1.14.3}}\n"


@pytest.mark.parametrize(("text", "problems"), [
    ("pools: {gpu: {buy: spot}}", []),
    ("pools: {gpu: {buy: spot, on_interruption: fewer}}", []),
    ("pools: {gpu: {buy: spot, instance_type: p4d.24xlarge, efa: true}}", []),
    ("pools: {gpu: {buy: sopt}}", [
        'pools.gpu.buy: is "sopt", write one of on-demand, spot, reserved; the nearest is spot']),
    ("pools: {gpu: {on_interruption: fewer}}", [
        "pools.gpu.on_interruption: is fewer, but AWS takes no node back here; leave it out, or write buy: spot"]),
    ("cluster: {existing: c}\npools: {gpu: {existing: g, buy: spot}}", [
        "pools.gpu.buy: is spot, but AWS says how an existing node group buys its nodes; leave it out"]),
    (KARPENTER + "pools: {gpu: {kind: karpenter, buy: spot}}", [
        "pools.gpu.buy: is spot, which is not built for kind karpenter yet; leave it out, or write kind: node-group"]),
    ("pools: {gpu: {buy: spot, price_per_hour: 1500}}\nguard: {budget: {currency: KRW}}", [
        ("pools.gpu.buy: is spot, whose prices EC2 has in USD, but the budget is in KRW; leave it out, or write a"
         " budget in USD")]),
    ("pools: {gpu: {buy: spot, max_nodes: 3}}\nquotas: {g_and_vt_vcpus: 4, g_and_vt_spot_vcpus: 12}", []),
    ("pools: {gpu: {buy: spot, max_nodes: 3}}\nquotas: {g_and_vt_spot_vcpus: 8}", [
        ("pools.gpu.max_nodes: is 3, which needs 12 vCPUs of g5.xlarge, but quotas.g_and_vt_spot_vcpus is 8; write at"
         " most 2")]),
])  # fmt: skip
def test_what_a_pool_of_spot_instances_may_be(text: str, problems: list[str]) -> None:
    assert refusals(text) == problems


def test_a_lab_of_today_has_no_word_of_how_nodes_are_bought() -> None:
    assert "buy" not in Lab(name="x").to_json()
