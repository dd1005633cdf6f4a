"""EKS Auto Mode: what it does not do is refused, its fee counts, and when it may be switched off."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from lamplighter.data import instance_types, prices
from lamplighter.domain.planner.simulation import simulate
from tests.unit.lab.read_labs import AUTO, lab, of_auto_mode, of_karpenter, problems


@pytest.mark.parametrize(("more", "problem"), [
    ("gpu: {share: 4}", "gpu.share: shares the GPUs of pool gpu, but EKS Auto Mode announces them whole"),
    ("gpu: {sharing: {strategy: mps, replicas: 2}}",
     "gpu.sharing: shares the GPUs of pool gpu, but EKS Auto Mode announces them whole"),
    ("guard: {longest_lease: 502h}", "its start and its last grace included; write at most 501h50m"),
    ("device_plugin: {enabled: true}", "device_plugin.enabled: is true, but the image of every pool has its own"),
])  # fmt: skip
def test_what_auto_mode_does_not_do_is_refused_by_name(more: str, problem: str) -> None:
    [one] = problems(f"{of_auto_mode()}\n{more}")
    assert problem in one


def test_the_longest_grace_of_a_pool_decides_how_long_a_lease_may_be() -> None:
    pools = "pools: {a: {kind: auto-mode}, b: {kind: auto-mode, drain: 25m}}"
    [problem] = problems(f"{AUTO}{pools}\nguard: {{longest_lease: 501h45m}}")
    assert problem.startswith("guard.longest_lease: is 501h45m")
    assert problem.endswith("write at most 501h35m")


def test_slices_are_refused_on_auto_mode() -> None:
    text = of_auto_mode("instance_type: p4d.24xlarge, price_per_hour: 30")
    assert problems(f"{text}\ngpu: {{mig: 1g.5gb}}") == [
        "gpu.mig: cuts the GPUs of pool gpu, but EKS Auto Mode has no setting for it; leave it out"
    ]


def test_the_operator_has_nothing_to_do_in_a_lab_of_auto_mode() -> None:
    text = "cluster: {auto_mode: {}}\npools: {gpu: {kind: auto-mode}%s}"

    assert problems(text % "") == [
        (
            "gpu_operator.enabled: is true, but every pool is of kind auto-mode, whose nodes bring driver and device"
            " plugin; write gpu_operator: {enabled: false}"
        )
    ]
    assert problems(text % ", groups: {}") == []


def test_a_pool_of_auto_mode_needs_no_toleration_of_the_operator() -> None:
    taints = "taints: [{key: team, value: a}]"

    assert (
        problems(f"cluster: {{auto_mode: {{}}}}\npools: {{gpu: {{kind: auto-mode, {taints}}}, groups: {{}}}}")
        == []
    )
    [problem] = problems(of_karpenter(taints))
    assert "which the operator's pods do not tolerate" in problem


@pytest.mark.parametrize(("cluster", "pools", "problem"), [
    ("auto_mode: {}", "gpu: {kind: auto-mode}, b: {}", "is true, but pool b is of kind node-group: the cluster"),
    ("auto_mode: {}", "gpu: {kind: auto-mode}, b: {kind: auto-mode}",
     "is true, but it would end the leased nodes of every pool, and the lab has 2; leave it out, or write one"),
    ("auto_mode: {}, node_groups: {one: {}}", "gpu: {kind: auto-mode}",
     "is true, but cluster.node_groups are for other work"),
    ("existing: c, auto_mode: {}", "gpu: {kind: auto-mode, existing: gpu}", "in a cluster that is not the lab's own"),
])  # fmt: skip
def test_auto_mode_may_be_switched_off_only_in_a_cluster_that_is_nothing_but_the_lab(
    cluster: str, pools: str, problem: str
) -> None:
    off = cluster.replace("auto_mode: {}", "auto_mode: {switch_off: true}")
    [one] = problems(f"cluster: {{{off}}}\ngpu_operator: {{enabled: false}}\npools: {{{pools}}}")
    assert one.startswith("cluster.auto_mode.switch_off: ")
    assert problem in one


def test_auto_mode_that_is_off_is_no_auto_mode() -> None:
    text = "cluster: {auto_mode: {enabled: false, switch_off: true}}\npools: {gpu: {kind: auto-mode}, b: {}}"

    assert problems(text) == [
        "cluster.auto_mode.switch_off: is true, but EKS Auto Mode is not on; write enabled: true, or leave it out",
        "pools.gpu.kind: is auto-mode, but EKS Auto Mode is not on; write cluster: {auto_mode: {enabled: true}}",
    ]


def test_a_node_of_auto_mode_costs_its_instance_and_the_fee() -> None:
    fee = prices.auto_mode_fee("ap-northeast-2", "g5.xlarge")

    assert fee == Decimal("0.09649")
    assert lab(of_auto_mode()).price("gpu") == Decimal("1.237") + fee
    assert lab(of_karpenter()).price("gpu") == Decimal("1.237")
    assert lab(of_auto_mode("price_per_hour: 2")).price("gpu") == 2
    assert prices.auto_mode_fee("ap-northeast-2", "g5.xlarge", "EUR") is None


@pytest.mark.parametrize(("text", "amount"), [(of_karpenter(), "7.4220"), (of_auto_mode(), "8.0009")])
def test_a_simulation_counts_the_fee(text: str, amount: str) -> None:
    window = "windows: [{name: evening, days: daily, start: 20:00, end: 23:00}]"
    begins = datetime(2026, 3, 1, tzinfo=UTC)
    [cost] = simulate(lab(f"{text}\n{window}"), begins, begins + timedelta(days=1)).costs
    assert format(cost.cost.rounded(), "f") == amount


@pytest.mark.parametrize("region", prices.known_regions())
def test_a_fee_is_a_small_part_of_the_price_of_a_type_that_auto_mode_starts(region: str) -> None:
    fees = {kind: prices.auto_mode_fee(region, kind) for kind in instance_types.gpu_type_names()}

    assert {kind for kind, fee in fees.items() if fee is not None} >= {"g4dn.xlarge", "g5.xlarge"}
    for kind, fee in fees.items():
        if fee is not None:
            price = prices.on_demand(region, kind)
            assert price is not None
            assert Decimal("0.07") < fee / price < Decimal("0.09")
            assert not instance_types.not_in_auto_mode(kind)
