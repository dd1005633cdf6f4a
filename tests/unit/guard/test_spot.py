"""AWS takes leased Spot nodes: what the guard does about it, once, and that nothing but EC2's own word counts."""

import json
from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3
import pytest

from lamplighter.adapters.capacity.node_group.capacity import NodeGroupCapacity
from lamplighter.application.capacity.steps import await_nodes, scale
from lamplighter.application.guard.single_nodes import WARNING, is_of_others
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.capacity.evidence import NOW, Interruption, InterruptionCause, Part, Seen
from lamplighter.domain.money.money import Money
from lamplighter.errors import TryLater
from lamplighter.lab.model import Lab
from tests.builders.leases import EIGHT, MINUTE
from tests.unit.lab_on_moto import LabOnMoto


class Taking(NodeGroupCapacity):
    """A node group of which EC2 says that it takes some instances."""

    taken: tuple[str, ...] = ()
    at = EIGHT + 30 * MINUTE
    starting: Collection[str] = ()
    """Instances that nobody lists yet."""

    def see(self, pool: str, parts: Collection[Part] = NOW, known: Seen | None = None) -> Seen:
        seen = super().see(pool, {*parts} - {Part.INTERRUPTIONS}, known)
        shown = tuple(one for one in seen.instances if one.id not in self.starting)
        seen = replace(seen, instances=shown)
        if seen.controller is not None:
            members = tuple(one for one in seen.members if one.instance not in self.starting)
            seen = replace(seen, controller=replace(seen.controller, members=members))
        if Part.INTERRUPTIONS not in parts:
            return seen
        found = tuple(Interruption(each, self.at, InterruptionCause.SPOT) for each in self.taken)
        return replace(seen, interruptions=found)


def with_spot(
    lab: LabOnMoto, on_interruption: str = "replace", nodes: int = 2, mode: str = "enforce"
) -> Taking:
    """A lease of Spot nodes, half an hour after its opening."""
    pool = {"buy": "spot", "on_interruption": on_interruption}
    lab.lab = Lab.model_validate({"name": "lab", "pools": {"gpu": pool}, "guard": {"mode": mode}})
    lab.port = port = Taking(lab.lab)
    lab.scale(nodes)
    lab.lease(nodes=nodes, run="open-cli-1.run2", hold=Money.of(10, "USD"))
    lab.guard_services.lease_services.arm("gpu")
    lab.at(30)
    return port


def swept(lab: LabOnMoto) -> list[tuple[str, bool]]:
    found: Any = sweep_all(lab.guard_services)["breaches"]
    return [(each["action"], each["done"]) for each in found if each["rule"] == "node-interrupted"]


def told(lab: LabOnMoto) -> list[str]:
    return [str(entry.why) for entry in lab.entries("announced")]


def proofs(lab: LabOnMoto) -> list[dict[str, Any]]:
    sfn = boto3.client("stepfunctions")
    listed = sfn.list_executions(stateMachineArn=lab.close_lab)["executions"]
    found = [sfn.describe_execution(executionArn=one["executionArn"]) for one in listed]
    return [json.loads(one["input"]) for one in found if ".for-i-" in one["name"]]


def test_a_taken_node_is_given_up_at_once_and_another_one_is_proven(lab: LabOnMoto) -> None:
    spot = with_spot(lab)
    gone, stays = lab.members
    spot.taken = (gone,)

    assert [swept(lab), swept(lab)] == [[("replace-taken", True)], []]

    assert gone not in lab.members
    assert stays in lab.members
    assert len(lab.members) == 2, "another one comes in its place"
    kept = lab.kept()
    assert (kept.taken, kept.nodes, kept.hold) == ((gone,), 2, Money.of(10, "USD"))
    (run,) = proofs(lab)
    assert (run["command"]["id"], run["results"]["Admit"]["lease"]["id"]) == ("open-cli-1", "cli-1")
    (why,) = told(lab)
    assert f"AWS takes Spot instance {gone} of pool gpu at 20:32" in why
    assert "of 2 leased nodes 1 stay for now" in why


def test_a_lease_that_makes_do_goes_on_with_fewer_nodes_and_less_money(lab: LabOnMoto) -> None:
    spot = with_spot(lab, "fewer")
    gone, stays = lab.members
    spot.taken = (gone,)

    assert [swept(lab), swept(lab)] == [[("go-on-with-fewer", True)], []]

    assert lab.members == [stays]
    terms = lab.guard_services.lease_services.terms("gpu")
    freed = terms.hold(1, EIGHT + 30 * MINUTE, EIGHT + 120 * MINUTE)
    kept = lab.kept()
    assert (kept.taken, kept.nodes, kept.wanted) == ((gone,), 1, 1)
    assert kept.hold == Money.of(10, "USD") - freed
    assert kept.wanted_before == ((EIGHT + 30 * MINUTE, 2),)
    assert proofs(lab) == []


def test_all_nodes_at_once_are_replaced_by_one_run(lab: LabOnMoto) -> None:
    spot = with_spot(lab)
    spot.taken = tuple(lab.members)

    assert swept(lab) == [("replace-taken", True)]

    assert {*lab.kept().taken} == {*spot.taken}
    assert len(proofs(lab)) == 1
    assert len({*lab.members} - {*spot.taken}) == 2


def test_the_last_node_is_replaced_even_where_fewer_would_do(lab: LabOnMoto) -> None:
    spot = with_spot(lab, "fewer")
    spot.taken = tuple(lab.members)

    assert swept(lab) == [("go-on-with-fewer", True), ("replace-taken", True)]

    assert {*lab.kept().taken} == {*spot.taken}
    assert lab.kept().nodes == 1
    assert len(lab.members) == 1


def test_what_ec2_took_before_the_lease_is_nothing_to_it(lab: LabOnMoto) -> None:
    spot = with_spot(lab)
    spot.taken, spot.at = tuple(lab.members), EIGHT - timedelta(seconds=1)

    assert swept(lab) == []
    assert lab.kept().taken == ()


def test_without_a_lease_and_on_a_pool_of_on_demand_nodes_nobody_is_given_up(lab: LabOnMoto) -> None:
    spot = with_spot(lab)
    spot.taken = tuple(lab.members)
    lab.at(121)

    assert swept(lab) == []


def test_a_warning_about_another_s_instance_starts_no_sweep(lab: LabOnMoto) -> None:
    with_spot(lab)

    def warning(instance: object) -> dict[str, object]:
        return {"detail-type": WARNING, "detail": {"instance-id": instance}}

    assert not is_of_others(warning(lab.members[0]), lab.guard_services)
    assert not is_of_others({"source": "aws.autoscaling"}, lab.guard_services)
    odd: tuple[object, ...] = ("i-0123456789abcdef0", "i-" + "0" * 10_000, "", None, 7, [], "x")
    for instance in odd:
        assert is_of_others(warning(instance), lab.guard_services), instance
    assert is_of_others({"detail-type": WARNING, "detail": "i-0"}, lab.guard_services)


def test_a_watched_pool_replaces_what_aws_takes_from_its_own_lease(lab: LabOnMoto) -> None:
    spot = with_spot(lab, mode="watch")
    spot.taken = (lab.members[0],)

    assert swept(lab) == [("replace-taken", True)]


def test_a_proof_run_waits_for_a_node_that_auto_scaling_does_not_list_yet(lab: LabOnMoto) -> None:
    spot = with_spot(lab)
    before = tuple(lab.members)
    spot.taken = before[:1]
    swept(lab)
    spot.starting = {*lab.members} - {*before}
    (proof,) = proofs(lab)
    run = {"command": proof["command"], "results": dict(proof["results"])}
    lab.at(30.2)
    run["results"]["Scale"] = scale(run, lab.capacity)

    lab.at(30.4)
    with pytest.raises(TryLater):
        await_nodes(run, lab.capacity)


def test_an_opening_awaits_no_node_that_the_lease_goes_on_without(lab: LabOnMoto) -> None:
    spot = with_spot(lab, "fewer")
    run = lab.run(at=29, target=2, before=0)
    spot.taken = (lab.members[0],)
    swept(lab)

    awaited = await_nodes(run, lab.capacity)

    assert (awaited["wanted"], awaited["shortage"]) == (1, None)
