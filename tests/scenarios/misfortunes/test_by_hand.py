"""Somebody raises the sizes of a pool by hand, at EKS or at the Auto Scaling group, in every state of the pool."""

from datetime import datetime

import pytest

from lamplighter.domain.leases.lease import LeaseState
from tests.scenarios.misfortunes.pool import Pool, Story
from tests.scenarios.misfortunes.story import story


@pytest.mark.long
@story("raised")
def test_sizes_raised_by_hand_at_any_state_end_where_the_leases_say(pool: Pool) -> Story:
    # given a closed pool, when somebody orders a node
    begun = pool.now
    yield from pool.by_hand(minSize=0, desiredSize=1)
    # then the guard finds it, and it is closed
    yield pool.until("it is found", lambda: found(pool, begun, "has 1 node and no lease"), minutes=7)
    yield pool.zero(minutes=30)
    pool.verdicts(1)

    # given a lease whose node is on its way, when minimum and desired are raised behind EKS's back
    lease = yield from pool.open(1, minutes=100)
    yield pool.until("a node is ordered", lambda: pool.seen.desired, minutes=10)
    pool.behind(MinSize=2, DesiredCapacity=2)
    # then it opens with the one node it is for
    yield pool.opened(lease)
    yield pool.until("one node is left", lambda: pool.sizes() == (0, 1) and one(pool), minutes=30)
    (leased,) = pool.seen.instances

    # when they are raised while it is open
    raised = pool.now
    yield from pool.by_hand(minSize=2, desiredSize=2)
    # then the other one goes, and the leased one never went
    yield pool.until("one node is left", lambda: pool.sizes() == (0, 1) and one(pool), minutes=30)
    assert all(leased in sample.instances for sample in pool.since(raised))
    assert pool.seen.instances == (leased,)

    # when the minimum alone is raised
    yield from pool.by_hand(minSize=1)
    # then it is put back, and nothing else moves
    yield pool.until("the minimum is back", lambda: pool.sizes() == (0, 1), minutes=15)
    assert pool.seen.instances == (leased,)

    # when they are raised while it closes, which takes its time
    pool.day.cloud.faults.kill_step("ProveZero", pool.name, times=5)
    pool.close(lease)
    yield pool.state(lease, LeaseState.CLOSING)
    pool.behind(MinSize=1, DesiredCapacity=2)
    # then it is closed all the same, and proven
    yield pool.closed(lease)
    yield pool.zero(minutes=30)
    assert pool.receipt(lease.id)["proof_of_zero"]["instances"] == []
    pool.verdicts(1, 8)
    pool.failsafe_stood()


def one(pool: Pool) -> bool:
    return len(pool.seen.instances) == 1


def found(pool: Pool, since: datetime, why: str) -> bool:
    return any(why in str(entry.why) for entry in pool.entries(since, "breach"))
