"""An instance that will not go: the pool is leaked, somebody is paged, and it is closed again until it is."""

from datetime import timedelta

from lamplighter.domain.lease import LeaseState
from tests.scenarios.lab_day import LabDay

SELDOM = timedelta(minutes=2)


def test_an_instance_that_does_not_terminate_is_a_leak_until_it_does(lab: LabDay) -> None:
    # given a node whose instance will stay in shutting-down
    begun = lab.now
    lease = lab.open(1, "12m")
    lab.until_state(lease.id, LeaseState.OPEN)
    (stuck,) = lab.live()
    with lab.faults() as outside:
        outside.stuck_termination()

        # when the lease ends, the pool is leaked half an hour after the order to zero, and no sooner
        sample = lab.until(
            "the pool is leaked", lambda _: _leaked(lab), timedelta(hours=1, minutes=15), SELDOM
        )
        (ordered, *_) = lab.entries(begun, "drained") or lab.entries(begun, "scaled")[-1:]
        assert timedelta(minutes=30) <= sample.at - ordered.at <= timedelta(minutes=40)
        assert sample.instances == (stuck,)
        (page, *_) = lab.entries(begun, "leaked")
        assert stuck in page.why
        assert lab.lease(lease.id).state is LeaseState.CLOSING

        # then it is closed again, and nobody may believe it is closed
        lab.until(
            "it is closed again", lambda _: len(lab.entries(begun, "leaked")) > 1, timedelta(minutes=40)
        )
        assert _leaked(lab)

    # when the instance goes at last
    lab.until("the leak is over", lambda _: not _leaked(lab), timedelta(minutes=30))
    lab.until_state(lease.id, LeaseState.CLOSED, within=timedelta(hours=2))
    lab.until_quiet()

    # then zero is proven, and the receipt counts until AWS took it into shutting-down, which costs nothing
    receipt = lab.receipt(lease.id)
    assert receipt["proof_of_zero"]["instances"] == []
    assert abs(receipt["node_seconds"] - timedelta(minutes=12).total_seconds()) < 180


def _leaked(lab: LabDay) -> bool:
    return lab.ledger.pool("gpu").leaked_since is not None
