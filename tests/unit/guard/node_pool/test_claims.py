"""Which instances the claims of a NodePool have, and what is known without them."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import boto3
import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.adapters.capacity.node_pool import capacity
from lamplighter.adapters.capacity.node_pool.capacity import NodePoolCapacity
from lamplighter.application.capacity.services import CapacityServices
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.capacity.node_pool.kind import KARPENTER
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
    pool.claim()["metadata"]["labels"].clear()

    seen = pool.capacity.see("gpu")

    assert [member.instance for member in seen.members] == [instance]


@pytest.mark.parametrize("name", ["lab-gpu-gone", "lab-gpu-b", "x/../lab-gpu-a", ""])
def test_an_instance_that_names_no_claim_of_its_own_is_a_stray(pool: NodePoolOnMoto, name: str) -> None:
    """Whoever may tag instances hides none behind the claim of another one, and stops no reading."""
    kept, stray = pool.node("b"), pool.node("a")
    del pool.api.objects[f"{CLAIMS}/lab-gpu-a"]
    boto3.client("ec2").create_tags(
        Resources=[stray], Tags=[{"Key": "karpenter.sh/nodeclaim", "Value": name}]
    )
    pool.api.objects[f"{CLAIMS}/lab-gpu-b"]["metadata"]["labels"].clear()

    members = [member.instance for member in pool.capacity.see("gpu").members]

    assert stray not in members
    assert members == [kept]


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
