"""An instance that does not end: the pool is leaked, somebody is paged, and the pool is closed again until it is at
zero.
"""

from datetime import datetime, timedelta

import pytest

from lamplighter.domain.guard.breach import GuardAction
from lamplighter.domain.leases.lease import LeaseState
from tests.scenarios.misfortunes.pool import Pool, Story
from tests.scenarios.misfortunes.story import story


@pytest.mark.long
@story("stuck")
def test_an_instance_that_does_not_terminate_is_a_leak_until_it_does(pool: Pool) -> Story:
    # given a node whose instance will stay in shutting-down
    faults, begun = pool.day.cloud.aws.moto_additions.faults, pool.now
    lease = yield from pool.open(1, minutes=20)
    yield pool.opened(lease)
    (stuck,) = pool.seen.instances
    faults.stuck_termination("g6e.xlarge")

    # when the lease ends, the pool is leaked half an hour after the order to zero, and no sooner
    yield pool.until("the pool is leaked and it is said", lambda: pool.entries(begun, "leaked"), minutes=90)
    (page, *_) = pool.entries(begun, "leaked")
    (ordered, *_) = pool.entries(begun, "drained") or pool.entries(begun, "scaled")[-1:]
    assert timedelta(minutes=30) <= page.at - ordered.at <= timedelta(minutes=40)
    assert stuck in str(page.why)
    assert pool.seen.instances == (stuck,)
    assert pool.lease(lease.id).state is LeaseState.CLOSING
    ran = pool.ran(stuck)

    # then it is closed again, and nobody may believe it is closed
    yield pool.until("it is closed again", lambda: closed_again(pool, begun), minutes=40)
    assert pool.leaked

    # when the instance goes at last
    faults.clear("g6e.xlarge")
    yield pool.until("the leak is over", lambda: not pool.leaked, minutes=30)
    yield pool.closed(lease, minutes=120)
    yield pool.zero()

    # then zero is proven, and the receipt counts until AWS took it into shutting-down, which costs nothing
    receipt = pool.receipt(lease.id)
    assert receipt["proof_of_zero"]["instances"] == []
    # its parts, in the lease and past it, are rounded each
    assert abs(receipt["node_seconds"] - ran.total_seconds()) <= 2
    pool.verdicts(5, 7, 8)


def closed_again(pool: Pool, begun: datetime) -> bool:
    return any(entry.details.get("action") == GuardAction.CLOSE for entry in pool.entries(begun, "leaked"))
