"""GPU instances of the cluster that belong to no pool of the lab: what the guard sees of them, and how it ends them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3
import pytest

from lamplighter.adapters.kubernetes.connection import KubernetesResponse
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.guard.acts import act
from lamplighter.application.guard.outside import may_end, outside_pools
from lamplighter.application.guard.services import GuardServices, gather_lab
from lamplighter.application.guard.trail import earlier_breaches
from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.commands.command import Decision
from lamplighter.domain.guard.breach import GuardAction
from lamplighter.domain.guard.facts import MEMORY
from lamplighter.domain.guard.node_pools.outside import outside
from lamplighter.domain.guard.node_pools.outside_instance import OutsideInstance
from lamplighter.errors import OutsideFailed
from lamplighter.lab.model import Lab
from tests.builders.guard_facts import pool
from tests.builders.leases import EIGHT
from tests.stopped_clock import stop_at
from tests.unit.lab_on_moto import LabOnMoto

KARPENTER: dict[str, Any] = {
    "name": "lab",
    "cluster": {"karpenter": {}, "node_groups": {"render": {"instance_type": "g5.xlarge"}}},
    "pools": {"gpu": {"kind": "karpenter"}, "spare": {"kind": "karpenter"}},
}
OWNED = {"kubernetes.io/cluster/lab": "owned"}
THEIRS = {**OWNED, "karpenter.sh/nodepool": "theirs", "eks:eks-cluster-name": "lab"}


class NodeClaims:
    """The NodeClaims of the cluster, and what is written to them."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.written: list[tuple[str, str]] = []

    def add(self, name: str, node_pool: str, of: str) -> None:
        labels = {"karpenter.sh/nodepool": node_pool}
        self.items.append(
            {
                "metadata": {"name": name, "creationTimestamp": "2026-11-20T19:00:00Z", "labels": labels},
                "spec": {},
                "status": {"providerID": f"aws:///ap-northeast-2a/{of}"},
            }
        )

    def list(self, path: str, **_query: str) -> list[dict[str, Any]]:
        return self.items if path.endswith("/nodeclaims") else []

    def ask(self, method: str, path: str, **_sent: Any) -> KubernetesResponse:
        self.written.append((method, path.rpartition("/")[2]))
        return KubernetesResponse(200, "{}")

    def expect(self, answer: KubernetesResponse, _method: str, _path: str) -> KubernetesResponse:
        return answer


@pytest.fixture
def claims() -> NodeClaims:
    return NodeClaims()


def guard(lab: LabOnMoto, claims: NodeClaims | None, **more: Any) -> GuardServices:
    """The guard of a lab with Karpenter, five minutes after the last start; None: its API server does not answer."""
    services = lab.guard_services
    capacity = CapacityServices(
        Lab.model_validate(KARPENTER | more), services.capacity.ledger, services.capacity.capacities
    )
    lab.at(0)
    launched = max((one["LaunchTime"] for one in _instances()), default=EIGHT)
    stop_at(lab.clock, launched + timedelta(minutes=5))

    def connect() -> Any:
        if claims is None:
            raise OutsideFailed("the API server does not answer")
        return claims

    leases = replace(services.lease_services, capacity=capacity)
    return replace(services, lease_services=leases, connect=connect)


def _instances() -> list[Any]:
    return [
        one for each in boto3.client("ec2").describe_instances()["Reservations"] for one in each["Instances"]
    ]


def state(name: str) -> str:
    return next(one["State"]["Name"] for one in _instances() if one["InstanceId"] == name)


def outside_now(services: GuardServices) -> tuple[OutsideInstance, ...]:
    return outside_pools(services.capacity.lab, services.instances(), services.claims, services.node_claims)


def seen(services: GuardServices) -> set[str]:
    services.kubernetes_silent = False
    return {one.instance.id for one in outside_now(services)}


def test_nodes_of_another_pool_are_seen_by_tags_of_the_cluster(lab: LabOnMoto, claims: NodeClaims) -> None:
    karpenters = lab.instance(THEIRS)
    auto_modes = lab.instance({"eks:kubernetes-node-pool-name": "general", "eks:eks-cluster-name": "lab"})
    assert seen(guard(lab, claims)) == {karpenters, auto_modes}


@pytest.mark.parametrize(
    ("tags", "kind"),
    [
        ({**THEIRS, "karpenter.sh/nodepool": "lab-gpu"}, "g5.xlarge"),
        ({**OWNED, "eks:nodegroup-name": "lab-render"}, "g5.xlarge"),
        ({**OWNED, "eks:nodegroup-name": "lab-ng-1"}, "g5.xlarge"),
        (OWNED, "m5.large"),
        (OWNED, "g99.xlarge"),
        ({"kubernetes.io/cluster/other": "owned"}, "g5.xlarge"),
    ],
    ids=["ours", "always on", "system nodes", "no GPU", "a type that nobody knows", "another cluster"],
)
def test_others_are_not(lab: LabOnMoto, claims: NodeClaims, tags: dict[str, str], kind: str) -> None:
    if kind == "g99.xlarge":
        # moto starts no type that it does not know.
        name = lab.instance(tags)
        boto3.client("ec2").stop_instances(InstanceIds=[name])
        boto3.client("ec2").modify_instance_attribute(InstanceId=name, InstanceType={"Value": kind})
    else:
        lab.instance(tags, kind)

    assert seen(guard(lab, claims)) == set()


def test_one_that_has_just_begun_may_still_get_its_tags(lab: LabOnMoto, claims: NodeClaims) -> None:
    lab.instance(OWNED)
    services = guard(lab, claims)
    stop_at(lab.clock, max(one["LaunchTime"] for one in _instances()) + timedelta(minutes=1))
    assert seen(services) == set()


@pytest.mark.parametrize(("by", "told"), [("another-lab", False), ("lab", True)])
def test_the_claims_of_another_lab(lab: LabOnMoto, claims: NodeClaims, by: str, told: bool) -> None:
    lab.instance(THEIRS)
    boto3.client("ssm").put_parameter(Name="/lamplighter/claims/lab/theirs", Value=by, Type="String")
    assert bool(seen(guard(lab, claims))) is told


def test_without_an_answer_about_the_claims_nothing_is_seen_and_the_sweep_tells(
    lab: LabOnMoto, claims: NodeClaims, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.instance(THEIRS)
    services = guard(lab, claims)

    def refuse(_names: object) -> Any:
        raise OutsideFailed("SSM does not answer")

    monkeypatch.setattr(services.claims, "of", refuse)

    found = gather_lab(services)

    assert found.outside == ()
    assert "SSM does not answer" in " ".join(found.failures)


def test_an_instance_of_ours_without_tags_is_ours_by_its_claim(lab: LabOnMoto, claims: NodeClaims) -> None:
    claims.add("lab-gpu-1", "lab-gpu", lab.instance(OWNED))
    claims.add("theirs-1", "theirs", theirs := lab.instance(OWNED))
    assert seen(guard(lab, claims)) == {theirs}


@pytest.mark.parametrize(
    ("more", "watched", "ends"),
    [
        ({}, None, True),
        ({}, "spare", False),
        ({"guard": {"mode": "watch"}}, None, False),
        (
            {"cluster": {"existing": "lab", "karpenter": {"existing": True}}, "guard": {"mode": "enforce"}},
            None,
            False,
        ),
    ],
    ids=["ours", "a pool is watched", "the lab watches", "an adopted cluster"],
)
def test_the_guard_ends_them_in_its_own_cluster_while_it_enforces_on_every_pool(
    lab: LabOnMoto, claims: NodeClaims, more: dict[str, Any], watched: str | None, ends: bool
) -> None:
    services = guard(lab, claims, **more)
    if watched:
        _watch(services, watched)
    assert may_end(services.capacity) is ends


def _watch(services: GuardServices, pool: str) -> None:
    """As `lamplighter arm POOL --watch` has it written."""
    decision = Decision("watch-1", "watching", "alice asked for it", EIGHT)
    entry = Entry(EIGHT, pool, "mode", "alice", f"only watches pool {pool}", "alice asked for it")
    services.capacity.ledger.change_mode(pool, "watch", decision, entry)


def swept(lab: LabOnMoto, services: GuardServices, minutes: float) -> list[tuple[GuardAction, bool]]:
    """What a sweep so many minutes after the last start does about them: each action, and whether it was done."""
    stop_at(lab.clock, now := max(one["LaunchTime"] for one in _instances()) + timedelta(minutes=minutes))
    services.kubernetes_silent = False
    facts = replace(
        pool(),
        now=now,
        outside=outside_now(services),
        ends_outside=may_end(services.capacity),
        earlier=earlier_breaches(services.capacity.ledger.audit("gpu", now - MEMORY)),
    )
    return [(breach.action, act(services, facts, breach)) for breach in outside(facts)]


def trail(services: GuardServices) -> list[tuple[str, str, bool]]:
    """Action, subject and whether somebody was paged, of each entry of the audit trail."""
    entries = services.capacity.ledger.audit("gpu", EIGHT - timedelta(days=3650))
    return [
        (one.details["action"], one.details["subject"], one.details.get("paged") == "yes")
        for one in entries
        if "rule" in one.details
    ]


def test_a_second_sweep_deletes_claims_and_one_page_tells(lab: LabOnMoto, claims: NodeClaims) -> None:
    first, second = lab.instance(THEIRS), lab.instance(THEIRS)
    for number, name in enumerate((first, second)):
        claims.add(f"theirs-{number}", "theirs", name)
    services = guard(lab, claims)

    done = [swept(lab, services, minutes) for minutes in (5, 6, 10)]

    assert done == [[(GuardAction.PAGE, True)], [], [(GuardAction.END_CLAIMS, True)]]
    # A limit of the drain comes first: their own grace may be a day.
    each_claim = [
        ("PATCH", "theirs-0"),
        ("DELETE", "theirs-0"),
        ("PATCH", "theirs-1"),
        ("DELETE", "theirs-1"),
    ]
    assert claims.written == each_claim
    assert [state(first), state(second)] == ["running", "running"]
    assert trail(services) == [("page", "theirs", True), ("end-claims", "theirs", False)]


def test_one_without_a_claim_is_terminated_in_ec2(lab: LabOnMoto, claims: NodeClaims) -> None:
    name, kept = lab.instance(OWNED), lab.instance(OWNED, "m5.large")
    services = guard(lab, claims)

    done = [swept(lab, services, minutes) for minutes in (5, 10, 15)]

    assert done == [[(GuardAction.PAGE, True)], [(GuardAction.END_OUTSIDE, True)], []]
    assert (state(name), state(kept)) == ("terminated", "running")
    assert claims.written == []


def test_without_an_answer_of_kubernetes_nothing_is_ended_and_it_is_said_once(lab: LabOnMoto) -> None:
    name = lab.instance(THEIRS)
    services = guard(lab, None)

    done = [swept(lab, services, minutes) for minutes in (5, 10, 15)]

    assert done == [[(GuardAction.SAY, True)], [(GuardAction.SAY, False)], [(GuardAction.SAY, False)]]
    assert state(name) == "running"


def test_one_that_ec2_keeps_is_said_once_and_tried_again(lab: LabOnMoto, claims: NodeClaims) -> None:
    kept, let_go = lab.instance(OWNED), lab.instance(OWNED)
    boto3.client("ec2").modify_instance_attribute(InstanceId=kept, DisableApiTermination={"Value": True})
    services = guard(lab, claims)

    done = [swept(lab, services, minutes) for minutes in (5, 10, 15)]

    assert done[1] == [(GuardAction.END_OUTSIDE, each == let_go) for each in sorted([kept, let_go])]
    assert done[2] == [(GuardAction.END_OUTSIDE, False)]
    assert (state(kept), state(let_go)) == ("running", "terminated")
    assert [entry for entry in trail(services) if entry[1] == kept] == [
        ("page", kept, True),
        ("say", kept, True),
    ]
