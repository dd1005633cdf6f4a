"""AWS throttles, fails, has no capacity, reverts an order, or never ends an update or an instance: the day goes on."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from lamplighter.domain.guard.breach import GuardAction
from lamplighter.domain.leases.lease import LeaseState
from local.aws.refusals import FunctionCall, Refusal, failed, throttled
from tests.scenarios.misfortunes.pool import Pool, Story
from tests.scenarios.misfortunes.story import story

SERVICES = {"dynamodb", "eks", "ec2", "autoscaling", "scheduler"}
#: The service that each step cannot do without. More calls are refused on the way.
ASKED = {
    ("Admit", "dynamodb"),
    ("Admit", "scheduler"),
    ("ArmFailsafe", "scheduler"),
    ("ArmFailsafe", "eks"),
    ("Scale", "dynamodb"),
    ("Scale", "eks"),
    ("Scale", "autoscaling"),
    ("AwaitNodes", "ec2"),
    ("AwaitNodes", "autoscaling"),
    ("RestoreExperiments", "dynamodb"),
    ("ProveZero", "ec2"),
    ("ProveZero", "eks"),
    ("Settle", "dynamodb"),
    ("Settle", "autoscaling"),
    ("Disarm", "scheduler"),
    ("Receipt", "dynamodb"),
}
FAILSAFE_RAIL = timedelta(minutes=30)


class OnceEachStep:
    """Refuses, for every step and service, all calls of the first invocation that makes any."""

    def __init__(self, how: Callable[[str], Refusal]) -> None:
        self._how = how
        self.refused: dict[tuple[str | None, str], str] = {}

    def __call__(self, call: FunctionCall) -> Refusal | None:
        if call.service not in SERVICES:
            return None
        first = self.refused.setdefault((call.step, call.service), call.invocation)
        return self._how(call.service) if first == call.invocation else None


@pytest.mark.long
@story("throttled")
def test_aws_asks_every_step_to_slow_down_once_for_every_service(pool: Pool) -> Story:
    yield from refused_once(pool, throttled)


@pytest.mark.long
@story("failing")
def test_aws_fails_once_at_every_step_and_service(pool: Pool) -> Story:
    yield from refused_once(pool, failed)


def refused_once(pool: Pool, how: Callable[[str], Refusal]) -> Story:
    # given that every step meets a refusal of every service it calls
    refusals = OnceEachStep(how)
    pool.day.refused[pool.name] = refusals

    # when a lease comes and goes
    lease = yield from pool.open(1, minutes=40)
    yield pool.opened(lease)
    yield pool.closed(lease)
    yield pool.zero()

    # then each of them was met, and it opened, was paid for and closed as on any day
    assert set(refusals.refused) >= ASKED
    assert pool.receipt(lease.id)["proof_of_zero"]["instances"] == []
    assert [verdict["verdict"] for verdict in pool.receipt(lease.id)["verdicts"]].count("passed") >= 1
    pool.no_node_after(lease.closes + timedelta(minutes=10))
    pool.verdicts(1, 5, 7, 8)
    pool.failsafe_stood()
    pool.within_budget()


@pytest.mark.long
@story("endless")
def test_an_update_that_never_ends_does_not_keep_a_pool_open(pool: Pool) -> Story:
    # given an open pool on which EKS is at an update that it does not end
    faults = pool.day.cloud.aws.moto_additions.faults
    lease = yield from pool.open(1, minutes=30)
    yield pool.opened(lease)
    faults.endless_updates(pool.group)
    yield from pool.by_hand(maxSize=1)
    begun = pool.now

    # when the lease ends, then the Auto Scaling group itself is brought to zero after a quarter of an hour
    yield pool.reached(lease.closes)
    yield pool.until("nothing runs", lambda: not pool.seen.instances, minutes=30)
    assert pool.updating(), "EKS ended its update"
    assert pool.now - lease.closes < FAILSAFE_RAIL, "before the failsafe's own way around EKS"
    assert all(sample.instances for sample in pool.since(begun) if sample.at < lease.closes)

    # and when EKS is done at last, zero is proven and settled
    faults.clear(pool.group)
    yield pool.closed(lease)
    yield pool.zero()
    assert pool.receipt(lease.id)["proof_of_zero"]["desired"] == 0
    pool.verdicts(5, 7, 8)


@pytest.mark.long
@story("reverted")
def test_a_scale_up_that_eks_takes_back_is_asked_for_again(pool: Pool) -> Story:
    # given that EC2 has no room and EKS takes a scale-up back that fails
    faults, begun = pool.day.cloud.aws.moto_additions.faults, pool.now
    faults.no_capacity("g4dn.xlarge")
    faults.revert_scale_up(pool.group)

    # when a node is asked for, then that is said, and nothing is ordered any more
    lease = yield from pool.open(1, minutes=45)
    yield pool.until("the shortage is said", lambda: pool.entries(begun, "degraded"), minutes=10)
    (said, *_) = pool.entries(begun, "degraded")
    assert "1 of 1 nodes" in str(said.what)
    assert "capacity" in str(said.why)
    yield pool.until("EKS took it back", lambda: pool.seen.desired == 0, minutes=10)
    assert pool.lease(lease.id).granted

    # when there is room again, then it is asked for again and opens
    faults.clear("g4dn.xlarge")
    yield pool.opened(lease, minutes=20)
    yield pool.closed(lease)
    yield pool.zero()

    # and a lease for which no room ever comes costs nothing and leaves nothing behind
    faults.no_capacity("g4dn.xlarge")
    poor = yield from pool.open(1, minutes=12)
    yield pool.closed(poor)
    yield pool.zero()
    assert pool.receipt(poor.id)["node_seconds"] == 0
    faults.clear("g4dn.xlarge")
    pool.verdicts(1, 5, 7, 8)


@pytest.mark.long
@story("short")
def test_one_of_two_nodes_has_no_capacity_until_it_has(pool: Pool) -> Story:
    # given capacity for one node
    faults, begun = pool.day.cloud.aws.moto_additions.faults, pool.now
    faults.few("g6.xlarge", 1)

    # when two are asked for, then the cause is named
    lease = yield from pool.open(2, minutes=60)
    yield pool.until("the shortage is said", lambda: pool.entries(begun, "degraded"), minutes=25)
    (said, *_) = pool.entries(begun, "degraded")
    assert "1 of 2 nodes" in str(said.what)
    assert "capacity" in str(said.why)
    # and it is open with one, and what the other would cost is free until it is asked for again
    yield pool.opened(lease)
    first = pool.seen.instances
    assert len(first) == 1
    less = lease.hold.amount * 3 / 4
    yield pool.until("half the hold is free", lambda: pool.lease(lease.id).hold.amount < less, minutes=10)

    # when there is capacity again, then it is whole, with the first node still the same
    faults.clear("g6.xlarge")
    yield pool.until("both nodes are there", lambda: len(pool.seen.instances) == 2, minutes=15)
    yield pool.until("none is missing", lambda: not pool.lease(lease.id).missing, minutes=15)
    assert set(first) <= set(pool.seen.instances)

    # and it closes like any other
    yield pool.closed(lease)
    yield pool.zero()
    assert pool.receipt(lease.id)["proof_of_zero"]["desired"] == 0
    pool.verdicts(1, 5, 7, 8)


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
