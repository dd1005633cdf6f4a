"""The node-group steps: what they order and what they return."""

from dataclasses import replace

import pytest

from lamplighter.application.capacity.sizes import Direction, Order, write
from lamplighter.application.capacity.steps import await_nodes, scale
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.pool.pool import DeployMark
from lamplighter.errors import BadInput, TryLater
from lamplighter.reasons.document import read
from tests.builders.leases import EIGHT
from tests.unit.lab_on_moto import LabOnMoto


def ordered(lab: LabOnMoto) -> dict[str, object]:
    """A run that has come as far as Scale; moto has no DescribeUpdate, so no update is followed."""
    run: dict[str, object] = {"command": lab.command()}
    return {**run, "results": {"Scale": {**scale(run, lab.capacity), "update_id": None}}}


def test_opening_orders_what_the_lease_justifies_with_minimum_zero(lab: LabOnMoto) -> None:
    lab.lease(nodes=2)

    done = scale({"command": lab.command()}, lab.capacity)

    assert (lab.sizes["minSize"], lab.sizes["desiredSize"]) == (0, 2)
    assert (done["target"], done["desired_before"], done["over"]) == (2, 0, False)
    assert done["at"] == "2026-11-20T20:00:00Z"
    assert str(read(done["reason"])) == (
        "2 nodes are ordered, 0 before: alice's lease justifies 2 until 22:00 UTC on 2026-11-20"
    )


def test_a_round_of_one_lease_orders_no_node_of_another_that_nobody_has_opened_yet(lab: LabOnMoto) -> None:
    lab.lease(nodes=1)
    lab.lease(nodes=1, name="cli-2")

    done = scale({"command": lab.command()}, lab.capacity)
    lab.catch_up()

    assert (done["target"], lab.sizes["desiredSize"]) == (1, 1)
    assert scale({"command": lab.command(lease="cli-2", id="open-2")}, lab.capacity)["target"] == 2


def test_a_repeated_close_orders_no_more(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.scale(1)
    plain = lab.port.nodegroups.scale

    def meanwhile(name: str, size: int) -> str:
        if not lab.capacity.ledger.leases("gpu"):
            lab.lease(nodes=2)
            moved_on(lab)
        return plain(name, size)

    monkeypatch.setattr(lab.port.nodegroups, "scale", meanwhile)
    write(lab.capacity, Order("gpu", "guard 1", "guard", Direction.DOWN, EIGHT))

    assert lab.sizes["desiredSize"] == 1


def moved_on(lab: LabOnMoto) -> None:
    """The pool is in another generation."""
    state = lab.capacity.ledger.pool("gpu")
    [lease] = lab.capacity.ledger.leases("gpu")
    budget = lab.capacity.ledger.budget("2026-11", "USD")
    why = Entry(EIGHT, "gpu", "degraded", "a test", "moves on", "to see what follows")
    lab.capacity.ledger.rehold(lease, replace(lease, nodes=3), pool=state, budget=budget, why=why)


def test_an_order_is_written_down_once(lab: LabOnMoto) -> None:
    lease = lab.lease(nodes=2)

    scale({"command": lab.command()}, lab.capacity)
    lab.catch_up()
    scale({"command": lab.command()}, lab.capacity)

    entries = [entry for entry in lab.capacity.ledger.audit("gpu", lease.opens) if entry.kind == "scaled"]
    assert [(entry.who, entry.nodes, entry.lease) for entry in entries] == [("alice", 2, "cli-1")]


def test_nothing_is_added_while_a_deploy_writes_the_node_group_and_it_is_said_once(lab: LabOnMoto) -> None:
    lease = lab.lease(nodes=2)
    lab.capacity.ledger.mark_deploy("gpu", DeployMark(lab.at(5)))
    lab.at(1)

    for _ in range(2):
        with pytest.raises(TryLater, match="waiting for it until 20:05 UTC on 2026-11-20"):
            scale({"command": lab.command()}, lab.capacity)

    assert lab.sizes["desiredSize"] == 0
    held_up = [entry for entry in lab.capacity.ledger.audit("gpu", lease.opens) if entry.kind == "held-up"]
    assert [(entry.who, entry.lease) for entry in held_up] == [("cdk deploy", "cli-1")]
    lab.at(5)
    assert scale({"command": lab.command()}, lab.capacity)["target"] == 2


def test_taking_away_waits_for_no_deploy(lab: LabOnMoto) -> None:
    lab.scale(2)
    lab.capacity.ledger.mark_deploy("gpu", DeployMark(lab.at(5)))
    lab.at(1)

    scale({"command": lab.command("close", lease=None)}, lab.capacity)

    assert lab.sizes["desiredSize"] == 0


def test_a_lease_that_is_over_orders_nothing(lab: LabOnMoto) -> None:
    lab.lease(closes=30)
    lab.at(30)
    assert scale({"command": lab.command()}, lab.capacity)["over"] is True
    assert lab.sizes["desiredSize"] == 0


def test_a_partial_shrink_ends_the_very_node_that_was_emptied(lab: LabOnMoto) -> None:
    lab.scale(2)
    first, second = lab.members
    lab.lease(nodes=1)
    drained = {"Drain": {"nodes": [{"name": "node", "instance": second}]}}

    scale({"command": lab.command("close", lease=None), "results": drained}, lab.capacity)

    assert lab.members == [first]
    assert lab.sizes["desiredSize"] == 1


def test_a_partial_shrink_that_emptied_no_node_takes_the_youngest(lab: LabOnMoto) -> None:
    # An instance that has not joined Kubernetes yet cannot be drained; the oldest, which Auto Scaling
    # would take by itself, is the one that has work.
    lab.scale(2)
    instances = lab.capacity.see("gpu").instances
    youngest = max(instances, key=lambda instance: (instance.launched, instance.id))
    lab.lease(nodes=1)

    scale({"command": lab.command("close", lease=None), "results": {"Drain": {"nodes": []}}}, lab.capacity)

    assert lab.members == [each.id for each in instances if each != youngest]


def test_where_eks_lags_behind_the_group_is_lowered_itself(lab: LabOnMoto) -> None:
    lab.scale(2)
    lab.port.nodegroups.scale("lab-ng-gpu", 0)  # EKS was told, and its group has not followed
    scale({"command": lab.command("close", lease=None)}, lab.capacity)
    assert lab.members == []


def test_an_order_waits_while_another_writer_is_at_the_pool(lab: LabOnMoto) -> None:
    lab.lease()
    with (
        lab.capacity.ledger.writing("gpu", "somebody", lab.at(0)),
        pytest.raises(TryLater, match="somebody is writing to pool gpu"),
    ):
        scale({"command": lab.command()}, lab.capacity)


def test_a_write_is_repeated_when_leases_changed(lab: LabOnMoto, monkeypatch: pytest.MonkeyPatch) -> None:
    """A close that ends the lease while the open order is on its way: what holds last is written last."""
    lab.lease(nodes=2, closes=30)
    order = lab.port.nodegroups.scale
    sent: list[int] = []

    def slow(name: str, target: int) -> str:
        sent.append(target)
        update = order(name, target)
        lab.catch_up()
        if len(sent) == 1:
            lab.at(31)
            lab.generation_moves()
        return update

    monkeypatch.setattr(lab.port.nodegroups, "scale", slow)
    scale({"command": lab.command()}, lab.capacity)

    assert sent == [2, 0]


def test_a_pool_that_the_lab_has_not_is_bad_input(lab: LabOnMoto) -> None:
    with pytest.raises(BadInput, match="has no pool 'tpu', it has gpu"):
        scale({"command": lab.command(pool="tpu")}, lab.capacity)


def test_nodes_are_awaited_until_all_run(lab: LabOnMoto) -> None:
    lab.lease(nodes=2)
    run = ordered(lab)

    with pytest.raises(TryLater, match="0 of 2 nodes of pool gpu run"):
        await_nodes(run, lab.capacity)
    lab.catch_up()
    done = await_nodes(run, lab.capacity)

    found = done["instances"]
    assert isinstance(found, list)
    assert sorted(each["id"] for each in found) == sorted(lab.members)
    assert {each["zone"] for each in found} == {"ap-northeast-2a"}
    assert done["shortage"] is None


def test_awaiting_ends_quietly_when_the_lease_does(lab: LabOnMoto) -> None:
    lab.lease(closes=5)
    lab.at(6)
    assert await_nodes({"command": lab.command()}, lab.capacity)["over"] is True
