"""The whole receipt of a lease, of nodes without a lease, and the life of each node in it."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from lamplighter.domain.billing.metering import NodeLife
from lamplighter.domain.billing.receipt import node_lives, receipt, unleased_receipt
from lamplighter.domain.leases.lease import LeaseState
from lamplighter.domain.money.money import Money
from lamplighter.domain.money.node_time import NodeTime
from tests.builders.leases import EIGHT, MINUTE, lease

OPENS = EIGHT
LEASE = lease("evening-2026-11-20", state=LeaseState.CLOSED, window="evening", by="alice", because="homework")
PROOF = {
    "at": "2026-11-20T22:03:00Z",
    "desired": 0,
    "instances": ["i-1"],
    "kubernetes_nodes": ["n-1"],
    "more": 1,
}


def test_the_receipt_of_a_settled_lease() -> None:
    settled = replace(
        LEASE,
        closed=OPENS + 123 * MINUTE,
        ready=OPENS + 431 * timedelta(seconds=1),
        node_seconds=14_400,
        cost=Money.of(5, "USD"),
        overrun=NodeTime(6 * MINUTE, Money.of("0.1", "USD")),
        replaced=("i-old",),
    )
    verdict = {"check": "dcgm", "node": "n-1", "verdict": "passed", "seconds": 3, "pod": "p"}

    assert receipt(settled, [verdict], PROOF, [{"cause": "x"}]) == {
        "lease": "evening-2026-11-20",
        "pool": "gpu",
        "owner": "class",
        "source": "window",
        "opened": "2026-11-20T20:00:00Z",
        "closed": "2026-11-20T22:03:00Z",
        "nodes": 2,
        "instance_types": [],
        "node_seconds": 14_400,
        "minutes_to_ready": 7.2,
        "verdicts": [
            {
                "check": "dcgm",
                "node": "n-1",
                "verdict": "passed",
                "reason": None,
                "measurements": None,
                "seconds": 3,
            }
        ],
        "findings": [{"cause": "x"}],
        "cost": {"amount": "5.0000", "currency": "USD"},
        "overrun": {"node_seconds": 360, "cost": {"amount": "0.1000", "currency": "USD"}},
        "replaced": ["i-old"],
        "proof_of_zero": {name: PROOF[name] for name in ("at", "desired", "instances", "kubernetes_nodes")},
        "window": "evening",
        "by": "alice",
        "because": "homework",
        "moved_to": None,
        "moved_from": None,
    }


def test_a_receipt_says_that_its_nodes_were_prepaid() -> None:
    assert receipt(replace(LEASE, price_per_hour=Decimal(0)), [], {})["prepaid"] is True
    assert "prepaid" not in receipt(replace(LEASE, price_per_hour=Decimal(1)), [], {})


def test_a_lease_whose_nodes_never_ran_cost_nothing_and_was_never_ready() -> None:
    found = receipt(LEASE, [], {})

    assert (found["closed"], found["node_seconds"], found["minutes_to_ready"], found["overrun"]) == (
        "2026-11-20T22:00:00Z",
        0,
        None,
        None,
    )
    assert found["cost"] == {"amount": "0.0000", "currency": "USD"}
    assert found["proof_of_zero"] == {"at": None, "desired": 0, "instances": [], "kubernetes_nodes": []}


def test_nodes_without_a_lease_leave_a_receipt_of_the_guard() -> None:
    ran = NodeTime(10 * MINUTE, Money.of("0.2", "USD"))

    assert unleased_receipt("gpu", OPENS, ran, PROOF) == {
        "lease": None,
        "pool": "gpu",
        "owner": None,
        "source": "guard",
        "opened": None,
        "closed": "2026-11-20T20:00:00Z",
        "nodes": 0,
        "node_seconds": 600,
        "minutes_to_ready": None,
        "verdicts": [],
        "cost": {"amount": "0.2000", "currency": "USD"},
        "proof_of_zero": {name: PROOF[name] for name in ("at", "desired", "instances", "kubernetes_nodes")},
    }


@pytest.mark.parametrize(
    ("started", "ended", "told"),
    [
        (-20, 0, False),
        (-20, 1, True),
        (119, None, True),
        (120, None, False),
        (120, 130, False),
        (10, 20, True),
    ],
)
def test_a_node_is_in_the_receipt_if_it_ran_meanwhile(started: int, ended: int | None, *, told: bool) -> None:
    life = NodeLife("i-1", OPENS + started * MINUTE, None if ended is None else OPENS + ended * MINUTE)
    assert len(node_lives(LEASE, [life])) == int(told)


def test_the_lives_of_nodes_are_told_by_their_start_until_the_lease_was_really_closed() -> None:
    late, early = NodeLife("i-1", OPENS + 121 * MINUTE, OPENS + 122 * MINUTE), NodeLife("i-2", OPENS, None)
    closed = replace(LEASE, closed=OPENS + 123 * MINUTE)

    assert node_lives(closed, [late, early]) == [
        {"instance": "i-2", "from": "2026-11-20T20:00:00Z", "to": None},
        {"instance": "i-1", "from": "2026-11-20T22:01:00Z", "to": "2026-11-20T22:02:00Z"},
    ]
