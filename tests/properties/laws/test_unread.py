"""What cannot be read stops nothing else: each was a way to end every sweep, every plan, or the close of a lease."""

from datetime import timedelta
from typing import Any

import pytest

from lamplighter.adapters.aws.ledger.ledger import Ledger
from lamplighter.domain.leases.lease import LeaseState
from tests.world.capacity.pools import Pools
from tests.world.experiments import command
from tests.world.faults import Fault
from tests.world.labs import FIRST_SWEEP, LAB, START, of_kinds
from tests.world.our_code import forget_workers
from tests.world.world import World

Json = dict[str, Any]
KARPENTER = of_kinds({**LAB, "windows": []}, ("karpenter", "node-group"))
NODE_POOL = "/apis/karpenter.sh/v1/nodepools/"


def raised(world: World) -> list[str]:
    """What still runs fifteen minutes after somebody has raised the node group of pool big."""
    world.supply.resize("big", 1)
    world.run(timedelta(minutes=15))
    return [machine.id for machine in world.machines.of_pool("big") if machine.alive]


@pytest.mark.parametrize(
    "kind", ["error ThrottlingException", "error AccessDeniedException", "types", "foreign 0"]
)
def test_a_cluster_that_cannot_be_described_keeps_no_node_group_from_its_guard(kind: str) -> None:
    with World(KARPENTER, START, 1) as world:
        world.run(FIRST_SWEEP)
        forget_workers()
        world.functions.faults = (Fault("eks.describe_cluster", kind),)

        assert raised(world) == []


@pytest.mark.parametrize("group", ["gpu-lab-ng-big:1", "of somebody (else)", "", "x" * 3000])
def test_no_tag_of_an_instance_keeps_a_pool_from_its_guard(group: str) -> None:
    with World(KARPENTER, START, 1) as world:
        world.run(FIRST_SWEEP)
        stray = world.supply.stray("gpu")
        assert stray is not None
        stray.tags = {"kubernetes.io/cluster/gpu-lab": "owned", "eks:nodegroup-name": group}
        world.run(timedelta(minutes=6))
        since = world.now

        assert raised(world) == []
        assert [at for at in world.swept if at > since]


def test_a_node_pool_that_nobody_may_read_keeps_no_other_window_closed() -> None:
    lab = {**KARPENTER, "windows": LAB["windows"][2:]}
    lab["pools"] = {**lab["pools"], "gpu": {"kind": "karpenter", "existing": "theirs", "price_per_hour": "1"}}
    with World(lab, START, 1) as world:
        world.functions.faults = (Fault("kubernetes.GET nodepools", "error 403"),)
        world.run(timedelta(hours=50))

        opened = [each for each in Ledger("gpu-lab-ledger").leases("big") if each.state is LeaseState.CLOSED]
        assert [each.date for each in opened] == ["2026-11-20", "2026-11-21"]


@pytest.mark.parametrize(
    ("pk", "sk", "third"),
    [
        ("POOL#gpu", "LEASE#strange", ["2026-11-22"]),
        ("LAB", "SKIP#evening#2026-11-20", ["2026-11-22"]),
        ("LAB", "SKIP#?", ["2026-11-22"]),
        ("LAB", "SKIP#proof#2026-11-22", []),
        ("LAB", "BUDGET#2026-11-22", []),
    ],
)
def test_an_item_that_cannot_be_read_keeps_no_other_window_closed(pk: str, sk: str, third: list[str]) -> None:
    with World({**LAB, "windows": LAB["windows"][2:]}, START, 1) as world:
        world.run(FIRST_SWEEP)
        strange = {"pk": {"S": pk}, "sk": {"S": sk}, "state": {"S": "of a newer release"}}
        world.dynamodb.put_item(TableName="gpu-lab-ledger", Item=strange)
        world.run(timedelta(hours=74))

        opened = [each for each in Ledger("gpu-lab-ledger").leases("big") if each.state is LeaseState.CLOSED]
        assert [each.date for each in opened] == ["2026-11-20", "2026-11-21", *third]


def leased(world: World) -> None:
    """A lease of one node for an hour on pool gpu, for twelve minutes."""
    world.run(FIRST_SWEEP)
    world.give("open", command(world, "open", pool="gpu", nodes=1, for_seconds=3600))
    world.run(timedelta(minutes=12))


def test_an_annotation_of_any_length_keeps_no_lease_from_its_end() -> None:
    with World(KARPENTER, START, 1) as world:
        leased(world)
        assert isinstance(world.supply, Pools)
        world.supply.node_pools.write(
            "gpu", {"metadata": {"annotations": {"lamplighter/kept-limit": "9" * 5000}}}
        )
        world.run(timedelta(hours=1, minutes=20))

        [lease] = Ledger("gpu-lab-ledger").leases("gpu")
        assert lease.state is LeaseState.CLOSED
        assert not world.machines.of_pool("gpu")


def test_a_node_pool_that_nobody_can_read_is_not_proven_closed_and_somebody_is_paged() -> None:
    with World(KARPENTER, START, 1) as world:
        leased(world)
        world.functions.faults = (Fault("kubernetes.GET nodepools", "error 403"),)
        world.run(timedelta(hours=2, minutes=30))

        assert not [machine for machine in world.machines.of_pool("gpu") if machine.alive]
        assert Ledger("gpu-lab-ledger").pool("gpu").leaked_since is not None
        assert [
            said
            for _, topic, said in world.said
            if topic == "pages" and "the NodePool cannot be read" in said
        ]


def test_what_is_kept_of_an_adopted_pool_outlives_a_plan_that_can_read_nothing_of_it() -> None:
    lab = {**LAB, "windows": []}
    lab["pools"] = {**lab["pools"], "gpu": {"existing": "theirs", "price_per_hour": "1"}}
    with World(lab, START, 1) as world:
        world.run(FIRST_SWEEP)
        kept = Ledger("gpu-lab-ledger").document()
        world.functions.faults = (
            Fault("eks.describe_nodegroup", "error ServerException"),
            Fault("dynamodb.get_item", "error ThrottlingException", "planner"),
        )
        world.run(timedelta(hours=2))

        assert Ledger("gpu-lab-ledger").document() == kept


def test_a_node_without_its_tags_is_paid_while_its_claim_names_it() -> None:
    with World(KARPENTER, START, 1) as world:
        leased(world)
        [machine] = world.machines.of_pool("gpu")
        machine.tags = {}
        world.run(timedelta(hours=2))

        [lease] = Ledger("gpu-lab-ledger").leases("gpu")
        assert lease.node_seconds
