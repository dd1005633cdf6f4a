"""Pools that are bought from a reservation, in templates: the launch template, the group, the gate and the rights."""

from collections.abc import Callable

import pytest

from tests.infra.conftest import Assembly, Template
from tests.infra.nodes.test_efa import launch_template

TARGETED, BLOCK = "cr-0123456789abcdef0", "cr-89abcdef"
LAB = {
    "pools": {
        "gpu": {"buy": "reserved", "reservation": TARGETED},
        "block": {
            "buy": "reserved",
            "reservation": BLOCK,
            "reservation_type": "capacity-block",
            "instance_type": "p5.48xlarge",
            "efa": True,
        },
        "plain": {},
    }
}


@pytest.fixture(scope="module")
def assembly(synthesise: Callable[..., Assembly]) -> Assembly:
    return synthesise(**LAB)


@pytest.fixture(scope="module")
def cluster(assembly: Assembly) -> Template:
    return assembly.template("gpu-lab-cluster")


@pytest.mark.parametrize(("pool", "reservation", "market", "capacity"), [
    ("gpu", TARGETED, None, "ON_DEMAND"),
    ("block", BLOCK, {"MarketType": "capacity-block"}, "CAPACITY_BLOCK"),
])  # fmt: skip
def test_nodes_come_from_the_reservation_alone_and_only_a_block_has_a_market(
    cluster: Template, pool: str, reservation: str, market: object, capacity: str
) -> None:
    template = launch_template(cluster, f"gpu-lab-ng-{pool}")

    assert template["CapacityReservationSpecification"] == {
        "CapacityReservationPreference": "capacity-reservations-only",
        "CapacityReservationTarget": {"CapacityReservationId": reservation},
    }
    assert template.get("InstanceMarketOptions") == market
    group = cluster.one("AWS::EKS::Nodegroup", NodegroupName=f"gpu-lab-ng-{pool}")
    assert group["CapacityType"] == capacity


def test_its_nodes_with_efa_are_in_no_placement_group_of_the_lab(cluster: Template) -> None:
    assert "NetworkInterfaces" in launch_template(cluster, "gpu-lab-ng-block")
    assert "Placement" not in launch_template(cluster, "gpu-lab-ng-block")
    assert not cluster.of_type("AWS::EC2::PlacementGroup")


def test_another_pool_of_the_lab_is_as_before(cluster: Template) -> None:
    template = launch_template(cluster, "gpu-lab-ng-plain")

    assert not {"CapacityReservationSpecification", "InstanceMarketOptions"} & template.keys()


def test_the_gate_has_what_it_compares_with_aws(cluster: Template) -> None:
    found = (one for one in cluster.resources.values() if one["Type"] == "Custom::LamplighterGate")
    gates = {gate["Properties"]["Pool"]: gate["Properties"] for gate in found}

    assert gates["block"]["Reservation"] == BLOCK
    assert gates["block"]["ReservationType"] == "capacity-block"
    assert gates["gpu"]["InstanceType"] == "g5.xlarge"
    assert "Reservation" not in gates["plain"]
