"""When the guard ends EKS's own wait for a leaving node: once the node is empty, or had its time."""

from dataclasses import replace
from typing import Any

import pytest

from lamplighter.application.guard.proof import end_drains, prove_zero
from lamplighter.domain.capacity.evidence import Controller, Member, Seen
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.capacity.node_group.evidence import ScalingActivity
from lamplighter.errors import OutsideFailed, TryLater
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.guard.test_acts import silent
from tests.unit.guard.test_proof import IN_SERVICE, WAITS, draining, run
from tests.unit.lab_on_moto import LabOnMoto

LEFT = Member("i-3", "a", leaving=True, waits_for_drain=True)


def listing(controller: Controller | None) -> Seen:
    return Seen(NODE_GROUP, exists=True, controller=controller)


def test_only_what_waits_is_ended_and_beside_leases_what_the_close_emptied(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, name="cli-2")
    group = draining(lab, IN_SERVICE, WAITS, LEFT, desired=1)
    emptied = {"nodes": [{"name": "node", "instance": "i-3"}, {"name": "other", "instance": "i-1"}]}

    with pytest.raises(TryLater, match="Auto Scaling group still has"):
        prove_zero(run(lab, "cli-1", Drain=emptied), lab.guard_services)

    assert group.ended == ["i-3"]


def test_where_nothing_waits_kubernetes_is_not_asked(lab: LabOnMoto) -> None:
    guard_services = replace(lab.guard_services, connect=silent)
    assert end_drains(guard_services, "gpu", Seen(NODE_GROUP)) == []
    assert end_drains(guard_services, "gpu", listing(Controller("g", 0, 2, 1, (IN_SERVICE,)))) == []
    assert not guard_services.kubernetes_silent


def ended(lab: LabOnMoto, **more: Any) -> list[str]:
    """What a look ends of a group whose only node waits for EKS's drain."""
    group = draining(lab, WAITS)
    found = end_drains(lab.guard_services, "gpu", listing(group.group("g")), **more)
    assert group.ended == found
    return found


def test_a_node_that_is_empty_or_never_joined_need_not_wait(lab: LabOnMoto) -> None:
    assert ended(lab) == ["i-2"]
    lab.cluster.add_node("i-2")
    assert ended(lab) == ["i-2"]


def test_work_on_a_leaving_node_is_asked_to_go_and_gets_four_minutes(lab: LabOnMoto) -> None:
    lab.cluster.add_node("i-2")
    lab.cluster.add_pod("training", "i-2")

    looks = {lab.at(minutes): ended(lab) for minutes in (0, 3.9, 4)}

    assert [*looks.values()] == [[], [], ["i-2"]]
    assert lab.cluster.evicted[0] == "training"


def test_a_node_that_leaves_for_other_reasons_keeps_its_drain(lab: LabOnMoto) -> None:
    assert ended(lab, only=["i-1"]) == []


def leaving(instance: str, minutes: float, what: str = "Terminating") -> ScalingActivity:
    started = EIGHT + minutes * MINUTE
    return ScalingActivity("a", "InProgress", f"{what} EC2 instance: {instance}", "", started, None)


@pytest.mark.parametrize(
    ("activities", "ends"),
    [
        ([leaving("i-2", 6), leaving("i-2", 0)], ["i-2"]),
        ([leaving("i-2", 6 + 1 / 60), leaving("i-2", 0)], []),
        ([leaving("i-3", 0)], []),
        ([leaving("i-2", 0, "Launching a new")], []),
        ([leaving("i-2", 9, "Launching a new"), leaving("i-3", 9), leaving("i-2", 1)], ["i-2"]),
        ([], []),
    ],
)
def test_without_kubernetes_a_node_has_four_minutes_from_the_last_order_to_leave(
    lab: LabOnMoto, activities: list[ScalingActivity], ends: list[str]
) -> None:
    group = draining(lab, WAITS, activities=activities)
    lab.at(10)
    assert end_drains(replace(lab.guard_services, connect=silent), "gpu", listing(group.group("g"))) == ends
    assert group.ended == ends


def test_a_cluster_without_a_list_is_silent(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_path: str, **_query: str) -> list[dict[str, Any]]:
        raise OutsideFailed("Kubernetes does not answer")

    monkeypatch.setattr(lab.cluster, "list", refused)
    group = draining(lab, WAITS, activities=[leaving("i-2", 0)])
    lab.at(3)
    assert end_drains(lab.guard_services, "gpu", listing(group.group("g"))) == []
    lab.at(4)
    assert end_drains(lab.guard_services, "gpu", listing(group.group("g"))) == ["i-2"]
