"""A window with a node whose GPU fails its checks: the node is replaced by a fresh one, which is proven."""

import pytest

from tests.scenarios.misfortunes.pool import Pool, Story
from tests.scenarios.misfortunes.story import story

FAULT = "gpu-lost"


@pytest.mark.long
@story("flawed")
def test_a_node_whose_gpu_fails_is_replaced_once_and_the_lease_has_a_proven_one(pool: Pool) -> Story:
    # given a node that looks ready, and whose GPU is lost to whoever holds it
    lease, begun = pool.lease("lesson-2026-12-01"), pool.now
    pool.day.cloud.fault_on(FAULT, pool.name)

    # when its checks fail, it is said, and then that node goes; the next one is well
    yield pool.until("the node is to be replaced", lambda: pool.entries(begun, "replaced"), minutes=30)
    pool.day.cloud.fault_off(FAULT, pool.name)
    first = pool.lease(lease.id).replaced
    yield pool.opened(lease)

    # then the lease is open on a node that was seen to work, and it was replaced once and said before
    proven = pool.day.ledger.proofs(pool.name, 5)
    assert [proof.verdict for proof in proven] == ["passed", "failed"]
    assert not set(proven[0].nodes) & set(proven[1].nodes)
    assert len(first) == 1
    kinds = [entry.kind for entry in pool.entries(begun) if entry.kind in {"announced", "replaced"}]
    assert kinds.index("announced") < kinds.index("replaced")
    assert kinds.count("replaced") == 1
    assert pool.entries(begun, "breach") == []

    # and once it is over all of it stands on its receipt, the minutes in which both ran too
    yield pool.closed(lease)
    yield pool.zero()
    receipt = pool.receipt(lease.id)
    assert receipt["replaced"] == list(first)
    assert {row["verdict"] for row in receipt["verdicts"]} == {"passed"}
    assert [each["lease"] for each in pool.day.ledger.receipts(pool.name)] == [lease.id]
    pool.verdicts(1, 2, 5, 7, 8)
