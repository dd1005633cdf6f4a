"""Several leases on one pool: what one of them ends takes is exactly its own."""

from datetime import timedelta

from lamplighter.domain.lease import LeaseState
from tests.scenarios.lab_day import LabDay, lost


def test_one_of_two_leases_ends_and_the_other_keeps_its_node(lab: LabDay) -> None:
    # given alice's node, and beside it bob's, opened later and for a shorter time
    alice = lab.open(1, "35m", "--owner", "alice")
    lab.until_state(alice.id, LeaseState.OPEN)
    (hers,) = lab.live()
    bob = lab.open(1, "15m", "--owner", "bob", "--add")
    lab.until_state(bob.id, LeaseState.OPEN)
    (his,) = set(lab.live()) - {hers}
    begun = len(lab.samples)

    # when bob's lease ends
    lab.until_state(bob.id, LeaseState.CLOSED)

    # then the younger node went and hers was there all the time, as one of EC2 and one of Kubernetes
    assert lost(lab.samples[begun:], [hers]) == []
    assert his not in lab.samples[-1].instances
    assert lab.samples[-1].instances == (hers,)
    assert len(lab.samples[-1].kubernetes_nodes) == 1
    # and the failsafe stands for her lease now
    assert min(lab.look().failsafe) == lab.lease(alice.id).closes + timedelta(minutes=10)

    # and each lease pays for its own
    lab.until_state(alice.id, LeaseState.CLOSED)
    lab.until_quiet()
    assert lab.receipt(bob.id)["nodes"] == 1
    assert lab.receipt(alice.id)["node_seconds"] > lab.receipt(bob.id)["node_seconds"]
