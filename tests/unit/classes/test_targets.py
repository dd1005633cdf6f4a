"""What a class's namespace shall have, and the objects that say so."""

from dataclasses import replace
from typing import Any

import pytest

from lamplighter.domain.classes.objects import CRITICAL, LAB_LABEL, NAME, documents, hard, times
from lamplighter.domain.classes.target import ClassTarget, targets
from lamplighter.domain.leases.lease import LeaseState
from tests.builders.leases import EIGHT, HOUR, lease, persons
from tests.unit.classes.labs import TIMES, lab, window

LAB = lab(window("evening"), window("night", 3), {"name": "free", **TIMES, "nodes": 1})


def of(made: Any, *leases: Any, at: Any = EIGHT) -> ClassTarget:
    [target] = targets(made, leases, at)
    return target


def test_the_seats_are_those_of_the_running_leases_whose_windows_name_it() -> None:
    evening, night = lease("evening-1"), lease("night-1", opens=60)
    assert of(LAB).seats == 0
    assert of(LAB, evening, night).seats == 2
    assert of(LAB, evening, night, at=night.opens).seats == 5
    assert of(LAB, evening, night, at=evening.closes).seats == 0
    assert of(LAB, replace(evening, state=LeaseState.CLOSING), night, at=night.opens).seats == 3
    assert of(LAB, lease("free-1"), persons(), lease("left-out-1")).seats == 0


def test_each_namespace_has_its_own_seats() -> None:
    two = lab(window("evening"), window("night", 3, "gpu-202"))
    assert [(target.terms.namespace, target.seats) for target in targets(two, [lease("night-1")], EIGHT)] == [
        ("gpu-101", 0),
        ("gpu-202", 3),
    ]


SHARED = {"sharing": {"replicas": 4, "rename": True}}


def test_other_resources_of_the_lab_are_closed_to_the_class() -> None:
    mixed = lab(window("evening"), {"name": "night", **TIMES, "gpu": SHARED})
    gpus = of(mixed, lease("evening-1")).gpus
    assert {name: count for name, count in gpus.items() if count} == {"nvidia.com/gpu": 2}
    # A quota limits what it names, and other labs of the cluster may offer these.
    assert {"nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb", "vpc.amazonaws.com/efa"} < set(gpus)


@pytest.mark.parametrize("ended", [False, True])
def test_a_class_may_have_what_the_nodes_offer_since_a_lease_before_it(*, ended: bool) -> None:
    """A node with work keeps its labels when the first lease ends."""
    mixed = lab(window("evening"), {"name": "night", **TIMES, "gpu": SHARED})
    first = lease("night-1", opens=-10, closes=60)
    first = first.in_state(LeaseState.CLOSED) if ended else first
    gpus = of(mixed, lease("evening-1"), first, at=first.closes if ended else EIGHT).gpus
    assert {name: count for name, count in gpus.items() if count} == {
        "nvidia.com/gpu": 2,
        "nvidia.com/gpu.shared": 2,
    }


def test_the_quota_is_so_many_seats_and_zero_without_any() -> None:
    assert {name: amount for name, amount in hard(of(LAB, lease("night-1"))).items() if amount != "0"} == {
        "requests.cpu": "1500m",
        "limits.cpu": "1500m",
        "requests.memory": "4.5Gi",
        "limits.memory": "4.5Gi",
        "pods": "12",
        "requests.nvidia.com/gpu": "3",
    }
    closed = hard(of(LAB))
    assert set(closed) > set(hard(of(LAB, lease("night-1"))))
    assert {"persistentvolumeclaims", "services.loadbalancers"} < set(closed)
    assert set(closed.values()) == {"0"}
    without = lab(window("evening", terms={"quota_per_seat": {"cpu": 1, "memory": "1Gi"}}))
    assert hard(of(without))["pods"] == "0"
    assert "pods" not in hard(of(without, lease("evening-1")))


@pytest.mark.parametrize(
    ("quantity", "count", "whole"),
    [
        ("3", 24, "72"),
        ("12Gi", 24, "288Gi"),
        ("500m", 3, "1500m"),
        ("0.125", 8, "1.000"),
        ("100k", 1, "100k"),
    ],
)
def test_a_quantity_keeps_its_suffix(quantity: str, count: int, whole: str) -> None:
    assert times(quantity, count) == whole


def test_people_come_last_and_have_one_role() -> None:
    people = [{"group": "students"}, {"user": "teacher@example.com"}]
    written = documents("lab", of(lab(window("evening", terms={"people": people}))))
    assert [path for path, _ in written] == [
        "/api/v1/namespaces/gpu-101",
        f"/api/v1/namespaces/gpu-101/resourcequotas/{NAME}",
        f"/api/v1/namespaces/gpu-101/resourcequotas/{CRITICAL}",
        f"/api/v1/namespaces/gpu-101/limitranges/{NAME}",
        f"/apis/rbac.authorization.k8s.io/v1/namespaces/gpu-101/rolebindings/{NAME}",
    ]
    bodies: list[Any] = [body for _, body in written]
    assert bodies[0]["metadata"]["labels"][LAB_LABEL] == "lab"
    assert bodies[3]["spec"]["limits"] == [
        {
            "type": "Container",
            "default": {"cpu": "500m", "memory": "1.5Gi"},
            "defaultRequest": {"cpu": "500m", "memory": "1.5Gi"},
        }
    ]
    assert bodies[4]["roleRef"]["name"] == "edit"
    assert [(one["kind"], one["name"]) for one in bodies[4]["subjects"]] == [
        ("Group", "students"),
        ("User", "teacher@example.com"),
    ]


def test_a_lease_on_another_pool_has_its_seats_there() -> None:
    pools = {"gpu": {"fallback": "big"}, "big": {}}
    moved = lab(window("evening", pool="gpu"), pools=pools)
    assert of(moved, lease("evening-1", pool="big", closes=int(HOUR.total_seconds() / 60))).seats == 2
