"""A shortage outside: what came is opened, the rest is named, tried again and costs nothing meanwhile."""

from datetime import timedelta

from lamplighter.domain.lease import LeaseState
from tests.scenarios.lab_day import LabDay

CAUSE_WITHIN = timedelta(minutes=3)


def test_one_of_two_nodes_has_no_capacity_until_it_has(lab: LabDay) -> None:
    begun = lab.now
    with lab.faults() as outside:
        # given a quota of one node
        outside.quota(4)

        # when two are asked for
        lease = lab.open(2, "45m", "--owner", "alice")
        whole = lease.hold

        # then the cause is named within three minutes of the order
        lab.until(
            "the shortage is said", lambda _: bool(lab.entries(begun, "degraded")), timedelta(minutes=25)
        )
        (said, *_) = lab.entries(begun, "degraded")
        assert "1 of 2" in said.what
        assert "quota" in said.why
        # and it is open with one, and what the other would cost is free until it is asked for again
        lab.until_state(lease.id, LeaseState.OPEN)
        first = lab.live()
        assert len(first) == 1
        lab.until(
            "half the hold is free",
            lambda _: lab.lease(lease.id).hold.amount < whole.amount * 3 / 4,
            timedelta(minutes=10),
        )

    # when there is capacity again
    lab.until("both nodes are there", lambda sample: len(sample.instances) == 2, timedelta(minutes=15))
    lab.until(
        "both are open",
        lambda _: not lab.lease(lease.id).missing and not lab.running(),
        timedelta(minutes=15),
    )

    # then it is whole, with the first node still the same, and money held for both
    assert set(first) <= set(lab.live())
    assert lab.lease(lease.id).state is LeaseState.OPEN

    # and it closes like any other
    lab.until_state(lease.id, LeaseState.CLOSED)
    lab.until_quiet()
    assert lab.receipt(lease.id)["proof_of_zero"]["desired"] == 0


def test_no_capacity_at_all_leaves_nothing_behind(lab: LabDay) -> None:
    begun = lab.now
    with lab.faults() as outside:
        outside.no_capacity("g5.xlarge")
        lease = lab.open(1, "20m")
        lab.until(
            "the shortage is said", lambda _: bool(lab.entries(begun, "degraded")), timedelta(minutes=15)
        )
        lab.until_state(lease.id, LeaseState.CLOSED)
        end = lab.until_quiet()
    assert lab.lease(lease.id).hold.amount == 0 or lab.lease(lease.id).node_seconds == 0
    assert lab.receipt(lease.id)["node_seconds"] == 0
    assert end.failsafe == ()
