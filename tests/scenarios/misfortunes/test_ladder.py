"""Checks in a window: all of the standard ladder passes on two nodes; a node whose GPU fails is replaced."""

import pytest

from tests.scenarios.misfortunes.pool import Pool, Story
from tests.scenarios.misfortunes.story import story

CHECKS = {
    *("allocatable", "labels", "nvidia-smi", "vectoradd", "gpu-health"),
    *("dcgm-1", "dcgm-2", "all_reduce", "xid"),
}
OURS = "labelSelector=lamplighter/pool%3Dproven"


@pytest.mark.long
@story("proven")
def test_a_standard_ladder_proves_two_nodes_in_a_window(pool: Pool) -> Story:
    # given a window of two nodes that asks for the standard ladder
    lease, begun = pool.lease("exam-2026-12-01"), pool.now
    yield pool.opened(lease)

    # then every check of it has passed on both, the one between them too, with what was measured and needed
    proven = pool.entries(begun, "verdict")
    assert {str(entry.what).partition(" ")[0] for entry in proven} == CHECKS
    assert all(" passed on " in str(entry.what) for entry in proven), [str(entry.what) for entry in proven]
    assert len(proven) == 2 * len(CHECKS)
    reduced = [entry for entry in proven if str(entry.what).startswith("all_reduce")]
    assert all("GB/s" in str(entry.why) and "0.25 are needed" in str(entry.why) for entry in reduced)

    # and nothing of it is left, once Kubernetes is done with it
    yield pool.until("its pods, Services and Jobs are gone", lambda: left(pool) == [], minutes=5)

    # and the receipt shows how long each ran, and the pull apart
    yield pool.closed(lease)
    yield pool.zero()
    rows = [row for row in pool.receipt(lease.id)["verdicts"] if row["check"] == "all_reduce"]
    assert [row["verdict"] for row in rows] == ["passed", "passed"]
    assert all(row["pull_seconds"] > 60 for row in rows)
    pool.verdicts(1, 2, 5, 7, 8)


def left(pool: Pool) -> list[str]:
    """What Kubernetes has of the pool's checks."""
    kubernetes = pool.day.cloud.control_plane.admin()
    paths = [f"/api/v1/namespaces/lamplighter/{kind}?{OURS}" for kind in ("pods", "services")]
    paths.append(f"/apis/batch/v1/namespaces/lamplighter/jobs?{OURS}")
    return [item["metadata"]["name"] for path in paths for item in kubernetes.get(path)["items"]]


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
