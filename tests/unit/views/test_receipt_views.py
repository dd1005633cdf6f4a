"""A receipt as it is shown, whole, and what an old or odd one leaves out."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from lamplighter.domain.audit.entry import Entry
from lamplighter.domain.capacity.zero import ZeroProof
from lamplighter.domain.checks.gpu_proof import Bandwidth
from lamplighter.domain.checks.verdicts.verdict import Outcome
from lamplighter.domain.gpu.instance_types import gpu_type
from lamplighter.domain.leases.progress import BootStage, Noted, Progress, Stage
from lamplighter.domain.leases.usual_times import Usual, UsualTimes
from lamplighter.domain.money.money import Money
from lamplighter.domain.views import receipt_view
from lamplighter.domain.views.lab_view import PastLease
from lamplighter.domain.views.receipt_view import Bar, ReceiptExtras, ReceiptView
from lamplighter.domain.views.told import FindingView, VerdictRow
from lamplighter.domain.views.windows_view import past

EIGHT = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)
TEN = EIGHT + timedelta(hours=2)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
RECEIPT: dict[str, Any] = {
    "lease": "evening-1",
    "pool": "gpu",
    "owner": "alice",
    "by": "tom",
    "because": "the exam",
    "source": "cli",
    "window": "evening",
    "opened": "2026-11-20T20:00:00Z",
    "closed": "2026-11-20T22:00:00Z",
    "nodes": 2,
    "node_seconds": 14000,
    "minutes_to_ready": 8,
    "cost": {"amount": "4", "currency": "USD"},
    "overrun": {"cost": {"amount": "1", "currency": "USD"}, "node_seconds": 60},
    "verdicts": [
        {"check": "all_reduce", "node": "a", "verdict": "passed", "reason": "fast",
         "measurements": {"busbw_gb_per_second": 5.5, "floor_gb_per_second": 4}},
        {"check": "smi", "node": "b", "verdict": "failed", "reason": "no GPU", "measurements": None},
    ],
    "findings": [
        {"at": "2026-11-20T20:30:00Z", "cause": "xid", "summary": "a GPU fell off"},
        {"cause": "taint", "summary": "no toleration"},
        {"cause": "nobody knows when", "summary": "?"},
    ],
    "replaced": ["i-1"],
    "node_lives": [
        {"instance": "i-1", "from": "2026-11-20T20:02:00Z", "to": "2026-11-20T21:00:00Z"},
        {"instance": "i-2", "from": "2026-11-20T20:03:00Z", "to": None},
        {"instance": "i-3"},
    ],
    "proof_of_zero": {"at": "2026-11-20T22:05:00Z", "desired": 1, "instances": ["i-2"], "kubernetes_nodes": ["n"]},
}  # fmt: skip
BARE: dict[str, Any] = {"pool": "gpu", "closed": "2026-11-20T22:00:00Z"}


def entry(minutes: int, lease: str | None, kind: str = "scaled", **details: str) -> Entry:
    return Entry(EIGHT + minutes * MINUTE, "gpu", kind, "leases", "what", "why", lease=lease, details=details)


TAINT = entry(
    40, "evening-1", "finding", cause="taint", summary="no toleration", advice="add one", layer="k8s"
)


def test_all_that_a_receipt_has_is_shown() -> None:
    trail = (TAINT, entry(10, "other"), entry(120, None), entry(121, None), entry(130, "evening-1"))
    progress: Progress = {
        Stage.ARMED: Noted(1, 1, EIGHT, EIGHT + MINUTE),
        BootStage.JOINED: Noted(2, 2, EIGHT, EIGHT + MINUTE),
        Stage.GPUS: Noted(1, 2, EIGHT + MINUTE, EIGHT + 5 * MINUTE),
    }
    known: UsualTimes = {BootStage.JOINED: Usual(40 * SECOND, measured=True)}

    assert receipt_view.of(
        RECEIPT, ReceiptExtras("g4dn.12xlarge", None, progress, trail, usual_times=known)
    ) == ReceiptView(
        lease="evening-1",
        pool="gpu",
        owner="alice",
        by="tom",
        because="the exam",
        source="cli",
        window="evening",
        opened=EIGHT,
        closed=TEN,
        nodes=2,
        node_seconds=14000,
        gpu_minutes=933,
        minutes_to_ready=8.0,
        cost=Money.of(4, "USD"),
        overrun=Money.of(1, "USD"),
        verdict=Outcome.FAILED,
        verdict_rows=(
            VerdictRow(
                "all_reduce", "a", "passed", "fast", {"busbw_gb_per_second": 5.5, "floor_gb_per_second": 4}
            ),
            VerdictRow("smi", "b", "failed", "no GPU", {}),
        ),
        bandwidth=(Bandwidth("all_reduce", "a", Decimal("5.5"), Decimal(4)),),
        findings=(
            FindingView(EIGHT + 30 * MINUTE, "gpu", "evening-1", "xid", "a GPU fell off", ""),
            FindingView(EIGHT + 40 * MINUTE, "gpu", "evening-1", "taint", "no toleration", "add one", "k8s"),
        ),
        replaced=("i-1",),
        proof_of_zero=ZeroProof(TEN + 5 * MINUTE, 1, ("i-2",), kubernetes_nodes=("n",)),
        bars=(
            Bar("lease", "evening-1", EIGHT, TEN),
            Bar("node", "i-1", EIGHT + 2 * MINUTE, EIGHT + 60 * MINUTE),
            Bar("node", "i-2", EIGHT + 3 * MINUTE, TEN, "running"),
            Bar("stage", "armed", EIGHT, EIGHT + MINUTE, "done", Usual(MINUTE, measured=False)),
            Bar("stage", "joined", EIGHT, EIGHT + MINUTE, "done", Usual(40 * SECOND, measured=True)),
            Bar("stage", "gpus", EIGHT + MINUTE, TEN, "short", Usual(8 * MINUTE, measured=False)),
        ),
        audit=(trail[0], trail[2], trail[4]),
    )


def test_a_receipt_of_an_early_release_leaves_out_what_it_does_not_know() -> None:
    # Of what ran without a lease everything is told.
    audit = (entry(500, "other"),)
    view = receipt_view.of(BARE, ReceiptExtras(audit=audit))

    assert view == ReceiptView(
        lease=None, pool="gpu", owner=None, by=None, because=None, source="", window=None, opened=None, closed=TEN,
        nodes=0, node_seconds=0, gpu_minutes=None, minutes_to_ready=None, cost=Money.zero("USD"), overrun=None,
        verdict=None, verdict_rows=(), bandwidth=(), findings=(), replaced=(), proof_of_zero=ZeroProof(), bars=(),
        audit=audit,
    )  # fmt: skip
    assert (view.begins, view.ends) == (TEN, TEN)


def test_a_drawing_begins_with_its_first_bar_and_ends_with_the_last_or_the_close() -> None:
    def drawn(**more: Any) -> tuple[datetime, datetime]:
        view = receipt_view.of({**RECEIPT, **more}, ReceiptExtras())
        return view.begins, view.ends

    assert drawn() == (EIGHT, TEN)
    early = {"instance": "i-1", "from": "2026-11-20T19:00:00Z", "to": "2026-11-20T23:00:00Z"}
    assert drawn(node_lives=[early]) == (EIGHT - 60 * MINUTE, TEN + 60 * MINUTE)
    assert drawn(opened=None, node_lives=[]) == (TEN, TEN)
    assert receipt_view.of({**RECEIPT, "node_lives": [early]}, ReceiptExtras()).bars[1].length == timedelta(
        hours=4
    )


KIND = gpu_type("p4d.24xlarge")


@pytest.mark.parametrize(
    ("measured", "beside", "floor"),
    [
        ({"floor_gb_per_second": "4"}, ReceiptExtras("p4d.24xlarge", Decimal(3)), Decimal(4)),
        ({}, ReceiptExtras("p4d.24xlarge", Decimal(3)), Decimal(3)),
        ({}, ReceiptExtras("p4d.24xlarge"), KIND.busbw_floor if KIND else None),
        ({"floor_gb_per_second": "unknown"}, ReceiptExtras(), None),
    ],
)
def test_a_bandwidth_is_held_against_the_floor_it_was_judged_by_the_labs_or_the_instance_s(
    measured: dict[str, object], beside: ReceiptExtras, floor: Decimal | None
) -> None:
    row = {"check": "c", "node": "n", "measurements": {"busbw_gb_per_second": "7.25", **measured}}
    found = receipt_view.of({**RECEIPT, "verdicts": [row]}, beside).bandwidth
    assert found == (Bandwidth("c", "n", Decimal("7.25"), floor),)


@pytest.mark.parametrize(
    "said", [None, {}, {"busbw_gb_per_second": None}, {"busbw_gb_per_second": "fast"}, "7"]
)
def test_what_is_no_bandwidth_is_left_out(said: object) -> None:
    row = {"check": "c", "node": "n", "measurements": said}
    assert receipt_view.of({**RECEIPT, "verdicts": [row, 7]}, ReceiptExtras()).bandwidth == ()


def test_past_leases_are_rows_the_newest_first() -> None:
    odd = {**BARE, "verdicts": "none", "minutes_to_ready": "soon"}
    new, old = past([odd, {**RECEIPT, "closed": "2026-11-21T00:00:00Z"}])

    assert old == PastLease(
        lease=None, pool="gpu", owner=None, window=None, opened=None, closed=TEN, nodes=0, node_seconds=0,
        minutes_to_ready=None, verdict=None, cost=Money.zero("USD"),
    )  # fmt: skip
    assert new == PastLease(
        lease="evening-1", pool="gpu", owner="alice", window="evening", opened=EIGHT, closed=TEN + 120 * MINUTE,
        nodes=2, node_seconds=14000, minutes_to_ready=8.0, verdict=Outcome.FAILED, cost=Money.of(4, "USD"),
    )  # fmt: skip
