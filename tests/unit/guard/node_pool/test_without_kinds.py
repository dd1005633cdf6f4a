"""A cluster without Karpenter's kinds of object: every call answers 404, and each step says so in a sentence."""

from datetime import timedelta

import pytest

from lamplighter.application.capacity.lives import lives_of_pool
from lamplighter.application.capacity.steps import scale
from lamplighter.application.guard.proof import mark_leaked, prove_zero
from lamplighter.application.guard.sweep import sweep_all
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.errors import BadInput, TryLater
from tests.unit.lab_on_moto import LabOnMoto
from tests.unit.node_pool_on_moto import ALL_KINDS, CLAIMS, NODE_POOL, NodePoolOnMoto

ABSENT = "pool gpu: NodePool lab-gpu is not in cluster lab"


@pytest.fixture
def bare(pool: NodePoolOnMoto) -> NodePoolOnMoto:
    """One node runs, and its objects are gone with their kinds."""
    pool.node()
    del pool.api.objects[NODE_POOL], pool.api.objects[f"{CLAIMS}/lab-gpu-a"]
    pool.api.absent_kinds = set(ALL_KINDS)
    return pool


def lease(lab: LabOnMoto, opens: timedelta, closes: timedelta, **more: object) -> None:
    """A lease from and to so long from now on."""
    minute = timedelta(minutes=1)
    lab.lease(nodes=1, opens=opens // minute, closes=closes // minute, **more)  # type: ignore[arg-type]


def test_an_opening_and_a_close_say_that_there_is_no_node_pool(bare: NodePoolOnMoto, lab: LabOnMoto) -> None:
    lease(lab, timedelta(minutes=-1), timedelta(hours=1))
    for verb in ("open", "close"):
        with pytest.raises(BadInput, match=ABSENT):
            scale({"command": lab.command(verb), "results": {}}, bare.capacity)


def test_a_lease_is_armed_and_its_node_stays(bare: NodePoolOnMoto, lab: LabOnMoto) -> None:
    lease(lab, timedelta(minutes=-30), timedelta(hours=1), state=LeaseState.OPEN)

    first, names = bare.guard_services.lease_services.arm("gpu")
    sweep_all(bare.guard_services)

    assert first is not None
    assert len(names) == 4
    assert len(bare.running()) == 1


def test_after_its_lease_the_node_ends_and_zero_is_proven(bare: NodePoolOnMoto, lab: LabOnMoto) -> None:
    run = {"command": lab.command("close"), "results": {}}
    with pytest.raises(TryLater, match="EC2 still has"):
        prove_zero(
            {**run, "command": {**lab.command("close"), "issued": "2026-11-30T00:00:00Z"}},
            bare.guard_services,
        )

    sweep_all(bare.guard_services)

    assert bare.running() == set()
    assert prove_zero(run, bare.guard_services)["zero"] is True
    assert lives_of_pool(bare.capacity, "gpu", bare.capacity.now()) != ()


def test_a_leaked_pool_is_closed_again_all_the_same(bare: NodePoolOnMoto, lab: LabOnMoto) -> None:
    run = {"command": lab.command("close"), "results": {}}
    assert mark_leaked(run, bare.guard_services)["leaked"] is True
    lab.at(40)

    sweep_all(bare.guard_services)

    assert [command["by"] for command in lab.closes] == ["guard"]
