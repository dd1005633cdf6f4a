"""Labs whose pools have several instance types or zones, and what `check` says of them."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from cli.plan.check import summary
from lamplighter.data import prices
from lamplighter.domain.leases.terms import terms
from lamplighter.lab.model import Lab
from tests.unit.lab.read_labs import EXISTING, KARPENTER, lab, of_auto_mode, of_karpenter, problems

TYPES = "instance_types: [g6.xlarge, g5.xlarge]"


def of_a_group(keys: str) -> str:
    return f"pools: {{gpu: {{{keys}}}}}"


@pytest.mark.parametrize("of", [of_a_group, of_karpenter, of_auto_mode])
def test_every_kind_takes_several_types_and_zones(of: Callable[[str], str]) -> None:
    found = lab(of(f"{TYPES}, zones: [2, 0]")).pools["gpu"]

    assert found.types == ("g6.xlarge", "g5.xlarge")
    assert (found.instance_type, found.zone_indexes, found.zone_index) == ("g6.xlarge", (2, 0), 2)


def test_the_normalised_lab_says_the_same_and_a_lab_without_the_keys_has_neither() -> None:
    several = lab(of_a_group(f"{TYPES}, zones: [2, 0]"))

    again = Lab.from_json(several.to_json())

    assert again.pools["gpu"].types == several.pools["gpu"].types
    assert again.pools["gpu"].zone_indexes == (2, 0)
    assert again.to_json() == several.to_json()
    assert '"zones":[]' not in lab("").to_json()
    assert "instance_types" not in lab("").to_json()


@pytest.mark.parametrize(("text", "problem"), [
    (of_a_group("instance_type: g5.xlarge, " + TYPES),
     "pools.gpu.instance_types: is written beside instance_type; write one of them"),
    (of_a_group("zone_index: 1, zones: [0, 1]"), "pools.gpu.zones: is written beside zone_index; write one of them"),
    (EXISTING + "pools: {gpu: {existing: ng, instance_type: g5.xlarge, zones: [0]}}",
     "pools.gpu.zones: is only for a pool that the lab creates: an existing node group has its zones; leave it out"),
    (of_a_group("zones: [0, 1, 0]"), "pools.gpu.zones.2: is 0 for a second time, write each once"),
    (of_a_group("zones: [0, 3]"), "pools.gpu.zones.1: is 3, but cluster.zones counts from 0 to 2"),
    (of_a_group("zones: [0, -1]"), "pools.gpu.zones.1:"),
    (of_a_group("instance_types: [g5.xlarge, g5.xlarge]"), "is g5.xlarge for a second time, write each once"),
    (of_a_group("instance_types: [g5.xlarge, g5.12xlarge]"),
     "pools.gpu.instance_types.1: is g5.12xlarge with 4 GPUs, but g5.xlarge has 1; write types with as many GPUs"),
    (of_a_group("instance_types: [g5.xlarge, g5g.xlarge]"),
     "pools.gpu.instance_types.1: is g5g.xlarge, which is arm64, but g5.xlarge is x86_64; write types of one"),
    (of_a_group("instance_types: [g5g.xlarge, g5g.2xlarge]"), "pools.gpu.ami_type: is AL2023_x86_64_NVIDIA for x86_64"),
    (of_a_group("instance_types: [g5.xlarge, t3.medium]"),
     "pools.gpu.instance_types: names t3.medium, which has no NVIDIA GPU; write a type such as g5.xlarge"),
    (of_a_group("instance_types: [g5.xlarge, g9.xlarge]"), "no price of g5.xlarge and g9.xlarge"),
    (of_a_group(f'price_per_hour: "1", instance_types: [{", ".join(f"g9.{n}xlarge" for n in range(2, 23))}]'),
     "pools.gpu.instance_types: names 21 types, EKS takes at most 20; leave some out"),
    (of_a_group("instance_types: [g5.8xlarge, g6.8xlarge], efa: true"),
     "pools.gpu.efa: is true, but instance_types names 2: the nodes of a pool with EFA are of one type and in one"),
    (of_karpenter("instance_type: g5.8xlarge, efa: true, zones: [0, 1]"),
     "pools.gpu.efa: is true, but zones names 2: the nodes of a pool with EFA are of one type and in one zone;"),
    (of_auto_mode("instance_types: [g6.xlarge, g7.2xlarge]"), "names g7.2xlarge, which EKS Auto Mode does not start"),
    (of_a_group("instance_types: [g5.xlarge, g5.4xlarge]") + "\nquotas: {g_and_vt_vcpus: 8}",
     "pools.gpu.max_nodes: is 2, which needs 32 vCPUs of g5.4xlarge, but quotas.g_and_vt_vcpus is 8"),
    (of_a_group(TYPES) + "\nchecks: {ladder: standard}",
     "checks.ladder: is standard, whose check all_reduce compares nodes, but pool gpu may have nodes of g6.xlarge"),
    (of_a_group(TYPES) + '\nwindows: [{name: w, days: daily, start: "20:00", end: "22:00", checks: {ladder: deep}}]',
     "windows.0.checks.ladder: is deep, whose check all_reduce compares nodes"),
    (of_a_group("instance_types: [p4d.24xlarge, g6.48xlarge]") + "\ngpu: {mig: 1g.5gb}",
     "but g6.48xlarge of pool gpu has L4 GPUs, which cannot be cut into slices"),
])  # fmt: skip
def test_what_does_not_fit_is_refused_by_name_in_one_line(text: str, problem: str) -> None:
    [found] = problems(text)
    assert problem in found


@pytest.mark.parametrize("text", [
    of_a_group("instance_types: [g5.xlarge]") + "\nchecks: {ladder: standard}",
    of_a_group(TYPES + ", max_nodes: 1") + "\nchecks: {ladder: standard}",
    of_a_group("zones: [0, 1]") + "\nchecks: {ladder: deep}",
    "pools: {gpu: {" + TYPES + "}, b: {}}\n"
    'windows: [{name: w, pool: b, days: daily, start: "20:00", end: "22:00", checks: {ladder: deep}}]',
    "cluster: {existing: c}\nchecks: {ladder: standard}\npools: {gpu: {existing: ng, " + TYPES + "}}",
])  # fmt: skip
def test_nodes_that_cannot_differ_may_be_compared_and_an_adopted_pool_is_as_it_is(text: str) -> None:
    assert problems(text) == []


def test_a_lease_is_held_at_the_dearest_and_each_type_paid_at_its_own_price() -> None:
    region = "ap-northeast-2"
    several = lab(of_a_group(TYPES))
    own = {kind: prices.on_demand(region, kind) for kind in several.pools["gpu"].types}

    agreed = terms(several, "gpu")

    assert agreed.price_per_hour == max(filter(None, own.values()))
    assert {kind: agreed.price_of(kind) for kind in own} == own
    assert len(set(own.values())) == 2
    stated = terms(lab(of_a_group(f'{TYPES}, price_per_hour: "2"')), "gpu")
    assert {stated.price_of(kind) for kind in own} == {Decimal(2)}


@pytest.mark.parametrize(("text", "said"), [
    (of_a_group(f"{TYPES}, buy: spot"),
     "EC2 chooses among g6.xlarge, g5.xlarge by free capacity and price, whatever their order; each node is paid"),
    (of_a_group(TYPES), "EKS tries g6.xlarge, then g5.xlarge for each node; each node is paid at the price of its own"),
    (of_karpenter(TYPES), "Karpenter starts the cheapest of g6.xlarge, g5.xlarge that EC2 has, whatever their order"),
    (of_auto_mode(TYPES), "EKS Auto Mode starts the cheapest of g6.xlarge, g5.xlarge that EC2 has"),
    (of_a_group("zones: [0, 1]"), "a node starts in any of ap-northeast-2a and ap-northeast-2b that has capacity;"),
    (KARPENTER + of_a_group("kind: karpenter, zones: [0, 1]"), "Karpenter chooses the zone, and zones have no order"),
    (of_a_group("zones: [0, 1]") + "\nchecks: {ladder: standard}",
     "all_reduce of ladder standard may run between nodes in two zones: NCCL is slower there and may miss its floor"),
    (of_a_group(TYPES), "up to 2 x g6.xlarge or g5.xlarge"),
    (of_a_group(TYPES), "USD for a node and hour, the dearest"),
])  # fmt: skip
def test_check_says_what_the_kind_does_with_the_order(text: str, said: str) -> None:
    assert any(said in line for line in summary(lab(text))), list(summary(lab(text)))


def test_check_says_nothing_of_nccl_where_no_check_is_between_nodes() -> None:
    assert not any("NCCL" in line for line in summary(lab(of_a_group("zones: [0, 1]"))))
    assert not any(
        "NCCL" in line
        for line in summary(lab(of_a_group("zones: [0, 1], max_nodes: 1") + "\nchecks: {ladder: deep}"))
    )
