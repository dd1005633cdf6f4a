"""A pool without capacity gives its lease to a fallback pool: by itself, or when a person says so."""

from decimal import Decimal

import pytest

from lamplighter.domain.granting import fallback
from lamplighter.domain.leases.lease import Lease, LeaseState
from tests.scenarios.misfortunes.pool import Pool, Story
from tests.scenarios.misfortunes.story import story

SPARE = "spare"


@pytest.mark.long
@story("moving")
def test_a_lease_without_capacity_moves_and_its_gpus_are_proven_there(pool: Pool) -> Story:
    # given that EC2 has no room for the pool
    pool.day.cloud.aws.moto_additions.faults.no_capacity("g4dn.2xlarge")

    # when a lease is asked for, then it moves within minutes, and closes here without a node
    begun = pool.now
    lease = yield from pool.open(1, minutes=45)
    yield pool.until("it moves", lambda: pool.lease(lease.id).moved_to, minutes=5)
    yield from moved(pool, lease)

    assert pool.entries(begun, "fallback") == []
    assert not any(sample.instances for sample in pool.samples)
    pool.verdicts(1, 7, 8)


@pytest.mark.long
@story("asking")
def test_a_lab_that_asks_moves_its_lease_when_a_person_says_so(pool: Pool) -> Story:
    # given that EC2 has no room for the pool
    pool.day.cloud.aws.moto_additions.faults.no_capacity("g6.2xlarge")

    # when a lease is asked for, then the notice offers the button, and nothing moves by itself
    begun = pool.now
    lease = yield from pool.open(1, minutes=60)

    def offered() -> bool:
        return any(entry.details.get("move") == SPARE for entry in pool.entries(begun, "announced"))

    yield pool.until("the button is offered", offered, minutes=10)
    assert pool.lease(lease.id).moved_to is None

    # and the button's command moves it
    spare = pool.day.pools[SPARE]
    spare.give(fallback.command(pool.lease(lease.id), SPARE, pool.now))
    yield pool.until("it moves", lambda: pool.lease(lease.id).moved_to, minutes=15)
    yield from moved(pool, lease)
    pool.verdicts(1, 7, 8)


def moved(pool: Pool, lease: Lease) -> Story:
    """It closes here with a receipt of nothing, and is proven, paid and closed there."""
    there = pool.lease(lease.id).moved_to
    assert there is not None
    assert there.pool == SPARE
    yield pool.closed(lease)
    yield pool.zero()
    receipt = pool.receipt(lease.id)
    assert (receipt["moved_to"], receipt["node_seconds"], Decimal(receipt["cost"]["amount"])) == (
        {"pool": SPARE, "lease": there.lease},
        0,
        Decimal(0),
    )

    spare = pool.day.pools[SPARE]
    taken = spare.lease(there.lease)
    assert (taken.owner, taken.nodes, taken.closes) == (lease.owner, lease.nodes, lease.closes)
    yield spare.opened(taken)
    yield spare.closed(taken)
    paid = spare.receipt(taken.id)
    assert paid["moved_from"] == {"pool": pool.name, "lease": lease.id}
    assert [verdict["verdict"] for verdict in paid["verdicts"]].count("passed") >= 1
    assert paid["node_seconds"] > 0
    assert spare.lease(taken.id).state is LeaseState.CLOSED
