"""Deploys write a pool's node group while leases open and close: neither takes a node from the other."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from lamplighter.adapters.aws.ledger.items import decoded
from lamplighter.reasons.document import read
from tests.builders.leases import MINUTE
from tests.world.aws.cloudformation import MARKED
from tests.world.history import Play, Step
from tests.world.labs import LAB, START
from tests.world.world import World


@pytest.fixture
def play() -> Iterator[Play]:
    world = World(LAB, START)
    with world:
        yield Play(world, 0)


def ordered(play: Play) -> int:
    return play.world.supply.size("gpu")


def told(play: Play, kind: str) -> list[str]:
    """The reasons of the audit entries of a kind."""
    items = play.world.dynamodb.items
    rows = [item for (pk, sk), item in sorted(items.items()) if pk == "POOL#gpu" and sk.startswith("AUDIT#")]
    return [
        f"{read(decoded(row['what']))}: {read(decoded(row['why']))}"
        for row in rows
        if row["kind"]["S"] == kind
    ]


def open_lease(play: Play, nodes: int = 1, wait: timedelta = timedelta()) -> None:
    play._give("open", play._command("open", Step("open", "gpu"), nodes=nodes, for_seconds=7200, add=True))
    play.world.run(wait)


def test_a_deploy_that_read_a_size_moments_before_it_was_raised_takes_no_node(play: Play) -> None:
    deploy = play.world.cloudformation
    read = deploy.read("gpu")
    assert read == 0

    open_lease(play, nodes=2, wait=MINUTE)
    assert ordered(play) == 0
    deploy.write("gpu", read)
    play.world.run(MINUTE)
    deploy.finish()
    play.world.run(2 * MINUTE)

    assert ordered(play) == 2
    assert len(told(play, "held-up")) == 1
    play.settle()
    assert play.laws.broken == []


def test_a_lease_that_is_granted_and_whose_nodes_are_not_ordered_yet_fails_the_deploy(play: Play) -> None:
    play.world.functions.deleted.add("nodegroups")
    open_lease(play, wait=timedelta(seconds=10))
    assert (ordered(play), len(told(play, "lease-granted"))) == (0, 1)

    assert play.world.cloudformation.read("gpu") is None
    assert "alice's lease" in play.world.cloudformation.reason

    # The refused deploy delays no opening.
    play.world.functions.deleted.clear()
    play.world.run(MINUTE)
    assert ordered(play) == 1
    play.settle()
    assert play.laws.broken == []


def test_a_deploy_that_goes_back_counts_what_is_about_to_be_ordered(play: Play) -> None:
    play.world.functions.deleted.add("nodegroups")
    open_lease(play, wait=timedelta(seconds=10))

    read = play.world.cloudformation.read_again("gpu")
    play.world.functions.deleted.clear()
    assert read == 1
    play.world.run(2 * MINUTE)
    play.world.cloudformation.write("gpu", read)

    play.settle()
    assert play.laws.broken == []


def test_a_deploy_that_dies_holds_an_opening_up_for_a_while_and_says_so(play: Play) -> None:
    begun = play.world.now
    play.laws.troubled.append((begun, begun + MARKED))
    assert play.world.cloudformation.read("gpu") == 0

    open_lease(play, wait=MARKED - MINUTE)
    assert ordered(play) == 0
    play.world.run(2 * MINUTE)
    assert ordered(play) == 1

    [said] = told(play, "held-up")
    assert said.startswith("holds up the nodes of cli-3011c113 on pool gpu: it is writing the pool")
    assert f"at {begun + MARKED:%H:%M} UTC on 2026-11-20 at the latest" in said
    play.settle()
    assert play.laws.broken == []


def test_a_close_waits_for_no_deploy_and_what_that_then_writes_is_gone_soon(play: Play) -> None:
    open_lease(play, wait=timedelta(minutes=20))
    read = play.world.cloudformation.read_again("gpu")
    assert read == 1

    play.step(Step("close", "gpu", number=0))
    play.world.run(5 * MINUTE)
    assert ordered(play) == 0
    play.world.cloudformation.write("gpu", read)
    assert ordered(play) == 1
    play.world.run(10 * MINUTE)

    assert ordered(play) == 0
    play.settle()
    assert play.laws.broken == []
