"""What proves a NodePool to be at zero: EC2 does. A claim or a node without an instance is a remark."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.capacity.evidence import Claim, Controller, Instance, Member, Seen
from lamplighter.domain.capacity.node_pool.kind import KARPENTER
from lamplighter.domain.capacity.zero import ZeroProof
from lamplighter.reasons.reason import in_english

NOW = datetime(2026, 11, 20, 20, tzinfo=UTC)


def instance(name: str, state: str = "running") -> Instance:
    return Instance(name, "g5.xlarge", "a", state, NOW, None, "lab-gpu", f"ip-{name}.internal")


def seen(*instances: Instance, claims: tuple[Claim, ...] = (), size: int = 0) -> Seen:
    members = tuple(Member(claim.instance) for claim in claims if claim.instance)
    controller = Controller("lab-gpu", 0, 2, size, members)
    return Seen("karpenter", True, size, 0, 2, None, (), controller, instances, claims=claims)


def test_claims_and_nodes_that_a_dead_karpenter_left_are_remarks_of_the_proof() -> None:
    left = (Claim("lab-gpu-12345", "i-1", leaving=True), Claim("lab-gpu-67890"))

    proof = KARPENTER.zero(seen(instance("i-1", "terminated"), claims=left), NOW, ("ip-i-1.internal",))

    assert proof.proven
    assert [in_english(remark) for remark in proof.remarks] == [
        "NodeClaims without an instance: lab-gpu-12345 and lab-gpu-67890",
        "nodes in Kubernetes without an instance: ip-i-1.internal",
    ]
    assert (proof.nodeclaims, proof.kubernetes_nodes) == (("lab-gpu-12345", "lab-gpu-67890"), ())


def test_an_instance_that_shuts_down_speaks_against_zero_and_so_do_replicas_alone() -> None:
    assert not KARPENTER.zero(seen(size=1), NOW, ()).proven
    going = (Claim("lab-gpu-12345", "i-1", leaving=True),)
    proof = KARPENTER.zero(seen(instance("i-1", "shutting-down"), claims=going), NOW, ("ip-i-1.internal",))
    assert (proof.proven, proof.instances, proof.remarks) == (False, ("i-1",), ())


LATELY = NOW - timedelta(seconds=119)


@pytest.mark.parametrize(
    "claim",
    [
        Claim("lab-gpu-12345", "i-1", created=LATELY),
        Claim("lab-gpu-12345", "i-1", created=LATELY, leaving=True),
        Claim("lab-gpu-12345", "i-1", created=NOW - timedelta(minutes=9), stages={"Launched": LATELY}),
    ],
    ids=["young", "deleted at once", "launched after many tries"],
)
def test_an_instance_that_ec2_does_not_list_yet_speaks_against_zero(claim: Claim) -> None:
    proof = KARPENTER.zero(seen(claims=(claim,)), NOW, ())

    assert (proof.proven, proof.remarks) == (False, ())
    assert in_english(proof.reason("gpu")) == (
        "a NodeClaim names i-1, launched just now; EC2 does not list it yet"
    )
    later = KARPENTER.zero(seen(claims=(claim,)), LATELY + timedelta(minutes=2), ())
    assert (later.proven, len(later.remarks)) == (True, 1)


def test_a_young_claim_whose_instance_ec2_knows_as_ended_is_a_remark() -> None:
    ended = (Claim("lab-gpu-12345", "i-1", created=LATELY),)
    proof = KARPENTER.zero(seen(instance("i-1", "terminated"), claims=ended), NOW, ())
    assert (proof.proven, len(proof.remarks)) == (True, 1)


def test_leased_nodes_may_stay_and_one_beside_them_that_ec2_does_not_list_yet_may_not() -> None:
    old = Claim("lab-gpu-12345", "i-1", created=NOW - timedelta(hours=1))
    new = Claim("lab-gpu-67890", "i-2", created=LATELY)

    def proven(*claims: Claim) -> bool:
        return KARPENTER.zero(seen(instance("i-1"), claims=claims, size=1), NOW, (), justified=1).proven

    assert proven(old)
    assert not proven(old, new)


def test_a_receipt_keeps_the_claims_and_the_remarks() -> None:
    proof = KARPENTER.zero(seen(claims=(Claim("lab-gpu-12345"),)), NOW, ())
    kept, of_a_node_group = proof.to_json(), ZeroProof(NOW, kubernetes_nodes=()).to_json()

    assert kept["nodeclaims"] == ["lab-gpu-12345"]
    assert ZeroProof.from_json(kept) == proof
    assert set(of_a_node_group) == {"at", "desired", "instances", "kubernetes_nodes"}
    assert ZeroProof.from_json(of_a_node_group).nodeclaims is None
