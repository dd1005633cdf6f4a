"""Which instances the claims of a NodePool have, and what is known without them."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3
import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.capacity.node_pool import capacity
from lamplighter.adapters.capacity.node_pool.capacity import NodePoolCapacity
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.capacity.node_pool.kind import KARPENTER
from lamplighter.domain.capacity.unlisted import SURE_WITHIN
from lamplighter.errors import OutsideFailed
from tests.unit.lab_on_moto import LEDGER
from tests.unit.node_pool_on_moto import CLAIMS, NodePoolOnMoto


def test_a_claim_that_is_read_without_its_instance_makes_it_no_stray(pool: NodePoolOnMoto) -> None:
    """Karpenter's tag names the claim: the guard would end a leased node."""
    instance = pool.node()
    del pool.claim()["status"]["providerID"]

    seen = pool.capacity.see("gpu")

    assert [member.instance for member in seen.members] == [each.id for each in seen.instances] == [instance]


def test_an_instance_whose_claim_the_list_lacks_is_no_stray(pool: NodePoolOnMoto) -> None:
    """A list may be half of itself. The claim is asked for by the name in Karpenter's tag."""
    instance = pool.node()
    pool.api.left_out.add(f"{CLAIMS}/lab-gpu-a")

    seen = pool.capacity.see("gpu")

    assert [member.instance for member in seen.members] == [instance]


@pytest.mark.parametrize("name", ["lab-gpu-gone", "lab-gpu-b", "x/../lab-gpu-a", ""])
def test_an_instance_that_names_no_claim_of_its_own_is_a_stray(pool: NodePoolOnMoto, name: str) -> None:
    """Whoever may tag instances hides none behind the claim of another one, and stops no reading."""
    kept, stray = pool.node("b"), pool.node("a")
    del pool.api.objects[f"{CLAIMS}/lab-gpu-a"]
    named(stray, name)
    pool.api.left_out.add(f"{CLAIMS}/lab-gpu-b")

    seen = pool.capacity.see("gpu")

    assert [member.instance for member in seen.members] == [kept]
    assert seen.unsure == frozenset()


@pytest.mark.parametrize(("node_pool", "provider"), [
    ("other", "aws:///ap-northeast-2a/{instance}"),
    ("other", "kwok://blissful-hopper"),
])  # fmt: skip
def test_the_claim_of_another_node_pool_or_cloud_hides_no_instance_and_costs_no_leased_one(
    pool: NodePoolOnMoto, node_pool: str, provider: str
) -> None:
    leased = pool.node("a")
    stray = pool.node("b", age=timedelta(hours=5))
    claim = pool.api.objects[f"{CLAIMS}/lab-gpu-b"]
    claim["metadata"]["labels"] = {"karpenter.sh/nodepool": node_pool}
    claim["status"]["providerID"] = provider.format(instance=stray)
    pool.size(1)
    pool.moto.lease(nodes=1, closes=240)

    sweep_all(pool.guard_services)

    assert pool.running() == {leased}


def test_an_instance_whose_claim_nobody_can_read_is_no_stray_for_an_hour(
    pool: NodePoolOnMoto, monkeypatch: pytest.MonkeyPatch
) -> None:
    young, old = pool.node("a"), pool.node("b", age=SURE_WITHIN)
    pool.api.left_out |= {f"{CLAIMS}/lab-gpu-a", f"{CLAIMS}/lab-gpu-b"}
    get = pool.api.get

    def busy(path: str, **query: str) -> Any:
        if path in pool.api.left_out:
            raise OutsideFailed("429 too many requests")
        return get(path, **query)

    monkeypatch.setattr(pool.api, "get", busy)

    seen = pool.capacity.see("gpu")

    assert (seen.members, seen.unsure) == ((), frozenset({young}))
    assert {young, old} == {each.id for each in seen.alive}


def test_each_claim_is_asked_for_once(pool: NodePoolOnMoto) -> None:
    for each in ("a", "b", "c"):
        named(pool.node(each), "lab-gpu-gone")
        del pool.api.objects[f"{CLAIMS}/lab-gpu-{each}"]

    pool.capacity.see("gpu")

    assert pool.api.asked.count(f"GET {CLAIMS}/lab-gpu-gone") == 1


def named(instance: str, claim: str) -> None:
    tag: Any = {"Key": "karpenter.sh/nodeclaim", "Value": claim}
    boto3.client("ec2").create_tags(Resources=[instance], Tags=[tag])


def test_an_instance_that_ended_is_no_claim_s(pool: NodePoolOnMoto) -> None:
    instance = pool.node()
    boto3.client("ec2").terminate_instances(InstanceIds=[instance])
    del pool.claim()["status"]["providerID"]

    assert pool.capacity.see("gpu").members == ()


def test_without_eks_what_runs_without_a_lease_is_still_seen_and_ended(
    pool: NodePoolOnMoto, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A close needs nothing but EC2."""
    instance = pool.node()

    def silent(*_: Any) -> Any:
        raise OutsideFailed("eks:DescribeCluster got no answer")

    monkeypatch.setattr(capacity, "connect", silent)
    alone = CapacityServices(
        pool.lab, Ledger(LEDGER), {KARPENTER.code: NodePoolCapacity(pool.lab, KARPENTER)}
    )
    made = pool.moto.guard_services
    services = replace(made, lease_services=replace(made.lease_services, capacity=alone), connect=silent)

    for minutes in (0, 5, 10):
        pool.at(minutes)
        with suppress(OutsideFailed):
            sweep_all(services)

    [found] = boto3.client("ec2").describe_instances(InstanceIds=[instance])["Reservations"]
    assert found["Instances"][0]["State"]["Name"] == "terminated"
