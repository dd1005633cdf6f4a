"""The one definition of zero (law 7): what proves it, what speaks against it, and what an old receipt says."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lamplighter.domain.pool.evidence import GroupMember, Instance, NodeGroup, ScalingGroup
from lamplighter.domain.pool.zero import ZeroProof, zero_proof
from lamplighter.reasons.reason import Reason, Sentences, reason

EIGHT = datetime(2026, 11, 20, 20, tzinfo=UTC)
EMPTY = ZeroProof(EIGHT, kubernetes_nodes=())
NODEGROUP = NodeGroup("lab", "gpu", "ACTIVE", 0, 2, 0, "eks-gpu")
GROUP = ScalingGroup("eks-gpu", 0, 2, 0)
ORDERED = reason("guard.zero.ordered", nodes=1)
NOT_READ = reason("guard.zero.not-read")


def instance(state: str) -> Instance:
    return Instance("i-1", "g5.xlarge", "a", state, EIGHT, None, None, "i-1.internal")


def read(
    nodegroup: NodeGroup | None = NODEGROUP,
    group: ScalingGroup | None = GROUP,
    instances: tuple[Instance, ...] = (),
    nodes: tuple[str, ...] | None = (),
    justified: int = 0,
) -> ZeroProof:
    return zero_proof(
        at=EIGHT,
        nodegroup=nodegroup,
        group=group,
        instances=instances,
        kubernetes_nodes=nodes,
        justified=justified,
    )


@pytest.mark.parametrize(
    "zero", [read(), read(nodegroup=None, group=None), read(instances=(instance("terminated"),))]
)
def test_a_pool_of_which_nothing_is_left_is_proven(zero: ZeroProof) -> None:
    assert zero == EMPTY
    assert (zero.proven, zero.left) == (True, ())
    assert zero.reason("gpu") == reason("guard.zero.proven", pool="gpu")


@pytest.mark.parametrize(
    ("zero", "left"),
    [
        (read(nodegroup=replace(NODEGROUP, desired=1)), ORDERED),
        (read(group=replace(GROUP, desired=1)), ORDERED),
        (read(instances=(instance("running"),)), reason("guard.zero.instances", instances=("i-1",))),
        (read(instances=(instance("shutting-down"),)), reason("guard.zero.instances", instances=("i-1",))),
        (
            read(group=replace(GROUP, members=(GroupMember("i-2", "a", "Terminating:Wait"),))),
            reason("guard.zero.members", instances=("i-2",)),
        ),
        (read(nodes=("node",)), reason("guard.zero.kubernetes", names=("node",))),
        (read(nodes=None), NOT_READ),
    ],
)
def test_each_thing_that_is_left_or_was_not_read_speaks_against_zero(zero: ZeroProof, left: Reason) -> None:
    assert (zero.proven, zero.left, zero.reason("gpu")) == (False, (left,), left)


def test_everything_that_is_left_is_named_and_an_instance_only_once() -> None:
    members = tuple(GroupMember(name, "a", "InService") for name in ("i-1", "i-2"))
    zero = read(
        group=replace(GROUP, desired=1, members=members), instances=(instance("running"),), nodes=None
    )

    assert zero.left == (
        ORDERED,
        reason("guard.zero.instances", instances=("i-1",)),
        reason("guard.zero.members", instances=("i-2",)),
        NOT_READ,
    )
    assert zero.reason("gpu") == Sentences(zero.left)


def test_as_many_nodes_as_leases_justify_may_stay() -> None:
    full = read(
        replace(NODEGROUP, desired=1),
        replace(GROUP, desired=1, members=(GroupMember("i-1", "a", "InService"),)),
        (instance("running"),),
        ("node",),
        justified=1,
    )

    assert full.proven
    assert full.reason("gpu") == reason("guard.zero.only-leased", pool="gpu", nodes=1)
    assert not replace(full, justified=0).proven
    assert replace(full, desired=2).left == (reason("guard.zero.ordered", nodes=2),)
    assert replace(full, kubernetes_nodes=None).left == (NOT_READ,)


def test_a_receipt_keeps_the_proof_in_the_contracts_words() -> None:
    document = {
        "at": "2026-11-20T20:00:00Z",
        "desired": 1,
        "instances": ["i-1"],
        "kubernetes_nodes": ["node"],
    }
    zero = ZeroProof(EIGHT, 1, ("i-1",), kubernetes_nodes=("node",))

    assert zero.to_json() == document
    assert ZeroProof.from_json(document) == zero
    assert ZeroProof.from_json(EMPTY.to_json()) == EMPTY


@pytest.mark.parametrize(
    "document", [{}, {"at": None, "desired": 0, "instances": [], "kubernetes_nodes": []}]
)
def test_a_receipt_without_the_instant_of_a_proof_proves_nothing(document: dict[str, object]) -> None:
    zero = ZeroProof.from_json(document)

    assert not zero.proven
    assert zero.to_json() == {"at": None, "desired": 0, "instances": [], "kubernetes_nodes": []}
