"""The one definition of zero (law 7): what proves it, what speaks against it, and what an old receipt says."""

from dataclasses import replace

import pytest

from lamplighter.domain.capacity.evidence import Controller, Instance, Member, Seen
from lamplighter.domain.capacity.kinds import NODE_GROUP, zero
from lamplighter.domain.capacity.zero import ZeroProof
from lamplighter.reasons.reason import Reason, Sentences, reason
from tests.builders.leases import EIGHT

EMPTY = ZeroProof(EIGHT, kubernetes_nodes=())
GROUP = Controller("eks-gpu", 0, 2, 0)
ORDERED = reason("guard.zero.ordered", nodes=1)
NOT_READ = reason("guard.zero.not-read")


def instance(state: str) -> Instance:
    return Instance("i-1", "g5.xlarge", "a", state, EIGHT, None, None, "i-1.internal")


PARKED = replace(instance("stopped"), parked=True)


def read(
    ordered: int | None = 0,
    group: Controller | None = GROUP,
    instances: tuple[Instance, ...] = (),
    nodes: tuple[str, ...] | None = (),
    justified: int = 0,
) -> ZeroProof:
    seen = Seen(
        NODE_GROUP, exists=ordered is not None, ordered=ordered or 0, controller=group, instances=instances
    )
    return zero(seen, EIGHT, nodes, justified)


@pytest.mark.parametrize(
    "proof", [read(), read(ordered=None, group=None), read(instances=(instance("terminated"),))]
)
def test_a_pool_of_which_nothing_is_left_is_proven(proof: ZeroProof) -> None:
    assert proof == EMPTY
    assert (proof.proven, proof.left) == (True, ())
    assert proof.reason("gpu") == reason("guard.zero.proven", pool="gpu")


@pytest.mark.parametrize(
    ("proof", "left"),
    [
        (read(ordered=1), ORDERED),
        (read(group=replace(GROUP, size=1)), ORDERED),
        (read(instances=(instance("running"),)), reason("guard.zero.instances", instances=("i-1",))),
        (read(instances=(instance("shutting-down"),)), reason("guard.zero.instances", instances=("i-1",))),
        (read(instances=(PARKED,)), reason("guard.zero.parked", instances=("i-1",))),
        (read(instances=(PARKED,), justified=1), reason("guard.zero.parked", instances=("i-1",))),
        (
            read(group=replace(GROUP, members=(Member("i-2", "a", leaving=True, waits_for_drain=True),))),
            reason("guard.zero.members", instances=("i-2",)),
        ),
        (read(nodes=("node",)), reason("guard.zero.kubernetes", names=("node",))),
        (read(nodes=None), NOT_READ),
    ],
)
def test_each_thing_that_is_left_or_was_not_read_speaks_against_zero(proof: ZeroProof, left: Reason) -> None:
    assert (proof.proven, proof.left, proof.reason("gpu")) == (False, (left,), left)


def test_everything_that_is_left_is_named_and_an_instance_only_once() -> None:
    members = tuple(Member(name, "a") for name in ("i-1", "i-2"))
    proof = read(group=replace(GROUP, size=1, members=members), instances=(instance("running"),), nodes=None)

    assert proof.left == (
        ORDERED,
        reason("guard.zero.instances", instances=("i-1",)),
        reason("guard.zero.members", instances=("i-2",)),
        NOT_READ,
    )
    assert proof.reason("gpu") == Sentences(proof.left)


def test_as_many_nodes_as_leases_justify_may_stay() -> None:
    full = read(
        1,
        replace(GROUP, size=1, members=(Member("i-1", "a"),)),
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
    proof = ZeroProof(EIGHT, 1, ("i-1",), kubernetes_nodes=("node",))

    assert proof.to_json() == document
    assert ZeroProof.from_json(document) == proof
    assert ZeroProof.from_json(EMPTY.to_json()) == EMPTY


@pytest.mark.parametrize(
    "document", [{}, {"at": None, "desired": 0, "instances": [], "kubernetes_nodes": []}]
)
def test_a_receipt_without_the_instant_of_a_proof_proves_nothing(document: dict[str, object]) -> None:
    zero = ZeroProof.from_json(document)
    assert not zero.proven
    assert zero.to_json() == {"at": None, "desired": 0, "instances": [], "kubernetes_nodes": []}
