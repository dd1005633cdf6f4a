"""What proves that a pool is at zero, how long CloseLab waits for it, and when it ends EKS's own wait for a node."""

from dataclasses import replace
from typing import Any

import boto3
import pytest

from lamplighter.adapters.capacity.node_group.autoscaling import AutoScaling
from lamplighter.application.guard.proof import end_drains, mark_leaked, prove_zero
from lamplighter.domain.capacity.evidence import Controller, Member, Seen
from lamplighter.domain.capacity.kinds import NODE_GROUP
from lamplighter.domain.capacity.node_group.evidence import ScalingActivity
from lamplighter.errors import OutsideFailed, TryLater
from lamplighter.reasons.document import document
from lamplighter.reasons.reason import reason
from lamplighter.values import instant
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.guard.test_acts import silent
from tests.unit.lab_on_moto import LAB, NODEGROUP, TAGS, LabOnMoto

IN_SERVICE, WAITS = (Member("i-1", "a"), Member("i-2", "a", leaving=True, waits_for_drain=True))


class Draining(AutoScaling):
    """A group as it stands while EKS drains: moto's know no Terminating:Wait."""

    def __init__(self, group: Controller, *activities: ScalingActivity) -> None:
        self.ended: list[str] = []
        self._group, self._activities = group, activities

    def group(self, name: str) -> Controller | None:
        return replace(self._group, name=name)

    def activities(self, group: str, pages: int = 1) -> tuple[ScalingActivity, ...]:
        return self._activities if group and pages else ()

    def end_drain(self, group: str, instance: str) -> bool:
        self.ended.append(instance)
        return bool(group)


def draining(lab: LabOnMoto, *members: Member, desired: int = 0, activities: Any = ()) -> Draining:
    made = Draining(Controller("g", 0, 2, desired, members), *activities)
    lab.port.autoscaling = made
    return made


def run(lab: LabOnMoto, lease: str | None = None, **results: object) -> dict[str, object]:
    return {"command": lab.command("close", lease=lease), "results": results}


def test_without_node_group_and_group_a_pool_is_at_zero(lab: LabOnMoto) -> None:
    boto3.client("eks").delete_nodegroup(clusterName=LAB, nodegroupName=NODEGROUP)
    boto3.client("autoscaling").delete_auto_scaling_group(AutoScalingGroupName=lab.group, ForceDelete=True)
    done = prove_zero(run(lab), lab.guard_services)
    assert (done["zero"], done["desired"]) == (True, 0)


def test_what_is_ordered_of_eks_or_of_its_group_speaks_against_zero(lab: LabOnMoto) -> None:
    boto3.client("eks").update_nodegroup_config(
        clusterName=LAB, nodegroupName=NODEGROUP, scalingConfig={"desiredSize": 1}
    )
    with pytest.raises(TryLater, match="pool gpu is not at zero yet: 1 node is still ordered"):
        prove_zero(run(lab), lab.guard_services)
    draining(lab, desired=2)
    with pytest.raises(TryLater, match="2 nodes are still ordered"):
        prove_zero(run(lab), lab.guard_services)


def test_what_runs_or_is_listed_speaks_against_zero(lab: LabOnMoto) -> None:
    group = draining(lab, IN_SERVICE, WAITS)
    with pytest.raises(TryLater, match="not at zero yet: the Auto Scaling group still has i-1 and i-2"):
        prove_zero(run(lab), lab.guard_services)
    assert group.ended == ["i-2"]
    stray = lab.instance(TAGS)
    with pytest.raises(TryLater, match=f"not at zero yet: EC2 still has {stray}"):
        prove_zero(run(lab), lab.guard_services)


def test_an_instance_of_a_warm_pool_is_never_zero_and_says_whether_it_runs(lab: LabOnMoto) -> None:
    ec2 = boto3.client("ec2")
    boto3.client("autoscaling").put_warm_pool(AutoScalingGroupName=lab.group, MinSize=1)
    warmed = lab.instance({**TAGS, "aws:autoscaling:groupName": lab.group})
    with pytest.raises(TryLater, match=f"not at zero yet: EC2 still has {warmed}"):
        prove_zero(run(lab), lab.guard_services)
    ec2.stop_instances(InstanceIds=[warmed])
    with pytest.raises(TryLater, match=f"not at zero yet: a warm pool keeps {warmed} stopped"):
        prove_zero(run(lab), lab.guard_services)


def test_as_many_nodes_as_other_leases_justify_are_none_too_many(lab: LabOnMoto) -> None:
    lab.lease(nodes=1, name="cli-2")
    lab.scale(1)
    lab.cluster.add_node(lab.members[0])
    lab.capacity.ledger.mark_leaked("gpu", EIGHT, "i-1 still in EC2")

    done = prove_zero(run(lab, "cli-1"), lab.guard_services)

    why = reason("guard.zero.only-leased", pool="gpu", nodes=1)
    assert (done["zero"], done["reason"]) == (True, document(why))
    assert done["kubernetes_nodes"] == [f"node-{lab.members[0]}"]
    [entry] = lab.entries("zero-proven")
    assert (entry.what, entry.why) == (reason("guard.did.prove-at", pool="gpu", nodes=1), why)
    assert (entry.lease, entry.nodes) == ("cli-1", 1)
    assert lab.capacity.ledger.pool("gpu").leaked_since == EIGHT
    lab.cluster.add_node("i-zz")
    with pytest.raises(TryLater, match=r"not down to 1 node yet: Kubernetes still has node-.* and node-i-zz"):
        prove_zero(run(lab, "cli-1"), lab.guard_services)


def test_zero_ends_a_leak_and_is_written_down(lab: LabOnMoto) -> None:
    lab.capacity.ledger.mark_leaked("gpu", EIGHT, "i-1 still in EC2")

    prove_zero(run(lab), lab.guard_services)

    [entry] = lab.entries("zero-proven")
    assert (entry.what, entry.lease, entry.nodes) == (reason("guard.did.prove-zero", pool="gpu"), None, 0)
    assert lab.capacity.ledger.pool("gpu").leaked_since is None


@pytest.mark.parametrize(("ordered", "until"), [(None, 30), (10, 40)])
def test_proof_is_waited_for_half_an_hour(lab: LabOnMoto, ordered: int | None, until: int) -> None:
    lab.cluster.add_node("i-1")
    scale = {} if ordered is None else {"at": instant.written(EIGHT + ordered * MINUTE)}
    lab.at(until - 1 / 60)
    with pytest.raises(TryLater, match="Kubernetes still has node-i-1"):
        prove_zero(run(lab, Scale=scale), lab.guard_services)
    lab.at(until)

    done = prove_zero(run(lab, Scale=scale), lab.guard_services)

    left = reason("guard.zero.kubernetes", names=("node-i-1",))
    assert (done["zero"], done["reason"]) == (False, document(left))
    assert done["kubernetes_nodes"] == ["node-i-1"]
    assert lab.entries("zero-proven") == []


def test_a_pool_is_leaked_only_where_it_should_be_at_zero_and_is_not(lab: LabOnMoto) -> None:
    proven = document(reason("guard.zero.proven", pool="gpu"))
    at_zero = {"leaked": False, "since": None, "reason": proven}
    assert mark_leaked(run(lab), lab.guard_services) == at_zero
    lab.lease(nodes=1)
    lab.scale(2)

    leased = mark_leaked(run(lab), lab.guard_services)
    assert (leased["leaked"], leased["since"]) == (False, None)
    assert lab.capacity.ledger.pool("gpu").leaked_since is None
    assert lab.capacity.ledger.audit("gpu", EIGHT) == []


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
